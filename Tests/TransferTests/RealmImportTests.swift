import DataFormats
import ObjectStore
import RealmFiles
import RealmFixtures
import Testing
import Transfer

/// Realm files become classes and objects.
@Suite(.enabled(if: RealmSamples.areReadable, "built without the trait RealmFiles"))
struct RealmImportTests {
    /// Creates a world with a Realm file of these tables.
    private func world(
        format: Int = 24, _ tables: [RealmWriter.Table]
    ) throws -> (world: TransferWorld, path: String) {
        let world = try TransferWorld()
        let path = world.path("app.realm")
        try write(RealmWriter.file(format: format, tables), to: path)
        return (world, path)
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try FileWriter(path)
        try file.write(bytes)
        try file.finish()
    }

    private static func kennel() -> [RealmWriter.Table] {
        let link = { (target: Int, key: Int64) in
            RealmValue.link(RealmLink(target: target, key: key))
        }
        return [
            RealmWriter.Table(
                "class_Dog",
                [
                    .init("id", .int, isIndexed: true), .init("name", .string, isIndexed: true),
                    .init("weight", .double, isNullable: true),
                    .init("owner", .link, isNullable: true, target: 1),
                    .init("friends", .link, collection: .list, target: 0),
                    .init("tag", .link, isNullable: true, target: 2),
                    .init("any", .mixed, isNullable: true),
                    .init("scores", .int, isNullable: true, collection: .dictionary),
                ], primaryKey: 0,
                rows: [
                    (
                        key: 3,
                        values: [
                            .int(1), .string("Rex"), .double(31.5), link(1, 7),
                            .list([link(0, 9), link(0, 3)]), link(2, 0), link(0, 9),
                            .dictionary([RealmEntry(key: .string("a"), value: .int(1))]),
                        ]
                    ),
                    (
                        key: 9,
                        values: [
                            .int(2), .string("Max"), .null, .null, .list([]), .null,
                            .list([.int(1)]),
                            .dictionary([RealmEntry(key: .string("b"), value: .null)]),
                        ]
                    ),
                ]),
            RealmWriter.Table(
                "class_Person",
                [.init("name", .string), .init("dogs", .link, collection: .list, target: 0)],
                rows: [(key: 7, values: [.string("Ann"), .list([link(0, 3)])])]),
            RealmWriter.Table(
                "class_Tag", [.init("note", .string, isNullable: true), .init("text", .string)],
                kind: .embedded,
                rows: [
                    (key: 0, values: [.null, .string("blue")]),
                    (key: 1, values: [.null, .string("lost")]),
                ]),
            RealmWriter.Table(
                "metadata", [.init("version", .int)], rows: [(key: 0, values: [.int(5)])]),
        ]
    }

    private func read(
        _ world: TransferWorld, _ path: String, _ options: ImportOptions = ImportOptions()
    ) throws -> ImportReport {
        try Importer(into: world.store, options).read(path, as: .realm)
    }

    @Test(
        "Classes, keys, links, embedded objects and collections are imported",
        arguments: [22, 23, 24])
    func kennel(_ format: Int) throws {
        let (world, path) = try world(format: format, Self.kennel())
        let report = try read(world, path)
        #expect(report.created == 3)
        #expect(report.newClasses == ["Dog", "Person", "Tag"])
        let store = world.store
        #expect(store.schema.version == 5)
        let dog = try store.schema.require("Dog")
        #expect(dog.primaryKey?.name == "id")
        #expect(dog.property(named: "name")?.isIndexed == true)
        #expect(dog.property(named: "weight")?.isOptional == true)
        #expect(try store.schema.require("Tag").isEmbedded)
        let rex = try #require(try store.object("Dog", primaryKey: .int(1)))
        let max = try #require(try store.object("Dog", primaryKey: .int(2)))
        let ann = try #require(try store.objects("Person").first())
        #expect(try rex.value("owner") == .object(ann.reference))
        #expect(
            try rex.value("friends") == .list([.object(max.reference), .object(rex.reference)]))
        guard case .object(let tag) = try rex.value("tag") else {
            Issue.record("no tag")
            return
        }
        #expect(try store.object(tag)?.value("text") == .string("blue"))
        #expect(try store.object(tag)?.value("note") == .null)
        #expect(try rex.value("any") == .object(max.reference))
        #expect(try rex.value("scores") == .dictionary(["a": .int(1)]))
        #expect(try max.value("scores") == .dictionary(["b": .null]))
        #expect(try max.value("weight") == .null)
        #expect(try ann.value("dogs") == .list([.object(rex.reference)]))
        #expect(report.notes.contains { $0.contains("metadata (1)") })
        #expect(report.notes.contains { $0.contains("1 embedded object has no parent") })
        #expect(try store.verify().isEmpty)
    }

    @Test("Rejected objects are rows of JSON Lines that can be corrected and imported")
    func rejected() throws {
        let (world, path) = try world(Self.kennel())
        _ = try read(world, path)
        var options = ImportOptions()
        options.rejects = world.path("bad.jsonl")
        #expect(try read(world, path, options).rejected == 2)
        let rows = try world.text(of: "bad.jsonl")
        #expect(
            rows
                == #"{"$class":"Dog","id":1,"name":"Rex","weight":31.5,"owner":{"$key":7},"friends":[2,1],"#
                + #""tag":{"note":null,"text":"blue"},"any":{"$link":["Dog",2]},"scores":{"a":1}}"#
                + "\n"
                + #"{"$class":"Dog","id":2,"name":"Max","weight":null,"owner":null,"friends":[],"tag":null,"#
                + #""any":[1],"scores":{"b":null}}"# + "\n")
        let store = world.store
        try store.write { try store.deleteAll("Dog") }
        let corrected = rows.replacing(#"{"$key":7}"#, with: "null").replacing("Rex", with: "Rax")
        #expect(try world.take(corrected, as: "good.jsonl").created == 2)
        let rex = try #require(try store.object("Dog", primaryKey: .int(1)))
        let max = try #require(try store.object("Dog", primaryKey: .int(2)))
        #expect(try rex.value("name") == .string("Rax"))
        #expect(
            try rex.value("friends") == .list([.object(max.reference), .object(rex.reference)]))
        #expect(try rex.value("any") == .object(max.reference))
        #expect(try rex.value("scores") == .dictionary(["a": .int(1)]))
        #expect(try max.value("scores") == .dictionary(["b": .null]))
        guard case .object(let tag) = try rex.value("tag") else {
            Issue.record("no tag")
            return
        }
        #expect(try store.object(tag)?.value("text") == .string("blue"))
    }

    @Test("Names that a schema does not allow are replaced and reported")
    func names() throws {
        let (world, path) = try world([
            RealmWriter.Table(
                "class_string",
                [
                    .init("!OID", .int), .init("first name", .string), .init("", .int),
                    .init("same", .int), .init("same", .int), .init("🐶", .int), .init("2nd", .int),
                ],
                rows: [
                    (
                        key: 0,
                        values: [
                            .int(1), .string("x"), .int(3), .int(4), .int(5), .int(6), .int(7),
                        ]
                    )
                ]),
            RealmWriter.Table("class_Weiße Mäuse", [.init("größe", .int)]),
        ])
        let report = try read(world, path)
        #expect(report.newClasses == ["string_", "Weiße_Mäuse"])
        let found = try world.store.schema.require("string_")
        #expect(
            found.properties.map(\.name) == [
                "OID", "first_name", "property_3", "same", "same_2", "property_6", "_2nd",
            ])
        #expect(found.property(named: "first_name")?.storedName == "first name")
        #expect(found.property(named: "OID")?.storedName == "!OID")
        let object = try #require(try world.store.objects("string_").first())
        #expect(try object.value("_2nd") == .int(7))
        #expect(report.notes.contains { $0.contains("'!OID' is 'OID'") })
        #expect(report.notes.contains { $0.contains("class 'string' is named 'string_'") })
    }

    @Test("Values that a store cannot represent are reported with counts")
    func losses() throws {
        let moment = { (seconds: Int64, nanoseconds: Int64) in
            RealmValue.timestamp(RealmTimestamp(seconds: seconds, nanoseconds: nanoseconds))
        }
        let (world, path) = try world([
            RealmWriter.Table(
                "class_A", [.init("at", .timestamp), .init("text", .string)],
                rows: [
                    (key: 0, values: [moment(1, 500), .string("ok")]),
                    (key: 1, values: [moment(-1, -1500), .malformedString([0x61, 0xFF])]),
                    (key: 2, values: [moment(.max, 0), .string("")]),
                    (key: 3, values: [moment(.min, 0), .string("")]),
                ])
        ])
        let report = try read(world, path)
        let objects = try world.store.objects("A")
        let dates = try (0..<4).map { try objects.object(at: $0).value("at") }
        #expect(dates[0] == .date(Timestamp(microseconds: 1_000_000)))
        #expect(dates[1] == .date(Timestamp(microseconds: -1_000_002)))
        #expect(report.notes.contains { $0.hasPrefix("2 dates have fractions of a microsecond") })
        #expect(report.notes.contains { $0.hasPrefix("2 dates are beyond the range") })
        #expect(
            report.notes.contains {
                $0.hasPrefix("1 text is not UTF-8") && $0.contains("A.text, object 1")
            })
    }

    @Test("Options select classes, rename, update and do a dry run")
    func options() throws {
        let (world, path) = try world(Self.kennel())
        var options = ImportOptions()
        options.isDryRun = true
        #expect(try read(world, path, options).created == 3)
        #expect(world.store.schema.classes.isEmpty)

        options = ImportOptions()
        try options.setClasses(["Dog"], of: .realm)
        options.names = ["Dog.weight": "mass", "friends": ""]
        let report = try read(world, path, options)
        #expect(report.newClasses == ["Dog", "Tag"])
        let dog = try world.store.schema.require("Dog")
        #expect(dog.property(named: "mass") != nil)
        #expect(dog.property(named: "friends") == nil)
        #expect(dog.property(named: "owner") == nil)
        #expect(report.notes.contains { $0.contains("'Dog.owner' is omitted") })

        #expect(throws: FormatError.self) { _ = try read(world, path, options) }
        options.isUpsert = true
        let second = try read(world, path, options)
        #expect(second.created == 0)
        #expect(second.updated == 2)

        try options.setClasses(["Cat"], of: .realm)
        #expect(throws: StoreError.self) { _ = try read(world, path, options) }
    }

    @Test("Links across committed batches refer to the correct objects")
    func batches() throws {
        var samples = RealmSamples(seed: 9)
        let tables = samples.tables(format: 24, rows: 60)
        let (world, path) = try world(tables)
        var options = ImportOptions()
        options.batch = 7
        let report = try read(world, path, options)
        #expect(report.created == 90)
        let all = try world.store.objects("All")
        for (index, row) in tables[0].rows.enumerated() {
            let object = try all.object(at: index)
            for (property, value) in zip(tables[0].properties, row.values)
            where property.target == 1 && property.collection == nil {
                guard case .link(let link) = value else { continue }
                let index = try #require(tables[1].rows.firstIndex { $0.key == link.key })
                guard case .object(let reference) = try object.value(property.name) else {
                    Issue.record("not a link")
                    continue
                }
                #expect(
                    try world.store.object(reference)?.value("name") == .string("target \(index)"))
            }
        }
    }

    @Test("The option for GUIDs of .NET swaps their bytes")
    func guids() throws {
        let (world, path) = try world([
            RealmWriter.Table(
                "class_A", [.init("id", .uuid)],
                rows: [(key: 0, values: [.uuid(RealmUUID(high: 0x0011_2233_4455_6677, low: 1))])])
        ])
        var options = ImportOptions()
        options.realm.hasDotNetGUIDs = true
        _ = try read(world, path, options)
        let object = try #require(try world.store.objects("A").first())
        #expect(try object.value("id") == .uuid(UUIDValue(high: 0x3322_1100_5544_7766, low: 1)))
    }

    @Test("Many columns and many classes are imported")
    func sizes() throws {
        let columns = (0..<5000).map { RealmWriter.Property("p\($0)", .int) }
        var tables = [
            RealmWriter.Table(
                "class_Wide", columns, rows: [(key: 0, values: (0..<5000).map { .int($0) })])
        ]
        tables += (0..<1200).map { RealmWriter.Table("class_C\($0)", [.init("n", .int)]) }
        let (world, path) = try world(tables)
        let report = try read(world, path)
        #expect(report.newClasses.count == 1201)
        let object = try #require(try world.store.objects("Wide").first())
        #expect(try object.value("p4999") == .int(4999))
    }

    @Test("A damaged file changes nothing; a rescue reports the lost objects")
    func damage() throws {
        let whole = RealmWriter.file(format: 24, Self.kennel())
        let world = try TransferWorld()
        let path = world.path("cut.realm")
        try write(Array(whole.dropLast(16)), to: path)
        let error = #expect(throws: StoreError.self) { _ = try read(world, path) }
        #expect(error?.code == .fileCorrupt)
        #expect(error?.message.contains("--rescue") == true)
        #expect(world.store.schema.classes.isEmpty)
        var options = ImportOptions()
        options.realm.isRescue = true
        let report = try read(world, path, options)
        #expect(report.created == 3)
        #expect(report.notes.contains { $0.hasPrefix("damaged: ") })
    }
}
