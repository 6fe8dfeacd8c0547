import DataFormats
import ObjectStore
import TestThreads
import Testing
import Transfer

/// Importing an export restores the same data.
@Suite struct RoundTripTests {
    private static let schema = [
        "Thing": [
            "id": "int primary", "flag": "bool", "count": "int?", "ratio": "float",
            "size": "double?",
            "name": "string", "bytes": "data?", "when": "date", "tag": "uuid?", "oid": "object_id",
            "price": "decimal", "numbers": "int[]", "words": "string?[]", "part": "Part",
            "parts": "Part[]", "any": "mixed", "set": "int<>", "map": "mixed{}",
        ],
        "Part": ["label": "string"],
    ]

    private func fill(_ store: Store, _ count: Int) throws {
        var random = SeededGenerator(seed: 1)
        func maybe(_ value: Value) -> Value { Bool.random(using: &random) ? value : .null }
        let texts = [
            "", "plain", "a,b", "\"quoted\"", "two\nlines", "tab\t\u{1}", "日本語", "null", "007",
        ]
        try store.write {
            let parts = try ["left", "right", ""].map {
                try store.create("Part", .dictionary(["label": .string($0)])).reference
            }
            let mixed: [Value] = [
                .null, .int(7), .double(7), .float(0.5), .string("x"), .data([1, 2]),
                .date(Timestamp(microseconds: 5_000_000)), .uuid(.random()),
                .decimal(DecimalValue(Int64(12))),
                .list([.int(1), .list([.bool(true)]), .dictionary(["$date": .string("no date")])]),
                .dictionary([
                    "a": .null, "b": .dictionary(["c": .objectID(ObjectIDValue(high: 1, low: 2))]),
                ]),
            ]
            for id in 0..<count {
                let text = texts[id % texts.count]
                let number = Int64.random(in: .min ... .max, using: &random)
                try store.create(
                    "Thing",
                    .dictionary([
                        "id": .int(Int64(id)), "flag": .bool(id % 2 == 0),
                        "count": maybe(.int(number)), "ratio": .float(Float(id) / 3),
                        // NaN is not equal to itself, so the comparison would not detect it.
                        "size": maybe(.double(Double(number) / 7)),
                        "name": .string(text), "bytes": maybe(.data(Array(text.utf8))),
                        "when": .date(Timestamp(microseconds: number % 1_000_000_000_000_000)),
                        "tag": maybe(.uuid(.random())),
                        "oid": .objectID(ObjectIDValue(high: UInt64(bitPattern: number), low: 7)),
                        "price": .decimal(DecimalValue(number)),
                        "numbers": .list((0..<id % 4).map { .int(Int64($0)) }),
                        "words": .list((0..<id % 3).map { maybe(.string(texts[$0])) }),
                        "part": maybe(.object(parts[id % 3])),
                        "any": mixed[id % mixed.count],
                        "set": .list((0..<id % 5).map { .int(Int64($0)) }),
                        "map": .dictionary(["$first": mixed[id % mixed.count], "second": .int(2)]),
                        "parts": .list(parts.prefix(id % 4).map(Value.object)),
                    ]))
            }
        }
    }

    @Test(arguments: ["a.jsonl", "a.json", "a.lua", "a.sqlite"])
    func `importing an export restores a whole store`(name: String) throws {
        let world = try TransferWorld(Self.schema)
        try fill(world.store, 60)
        let format = try TransferFormat(path: name)
        let count = try Exporter(.store(world.store), as: format).write(to: world.path(name))
        #expect(count == 63)

        let other = try TransferWorld(nil)
        let report = try Importer(into: other.store).read(world.path(name), as: format)
        #expect(report.created == 63)
        #expect(report.newClasses == ["Part", "Thing"])
        for property in Self.schema["Thing"]!.keys where !property.hasPrefix("part") {
            let expected = try world.values("Thing", property)
            #expect(try other.values("Thing", property) == expected, "\(property)")
        }
        for path in ["part.label", "parts.label"] {
            for label in ["left", "right", ""] {
                let ours = try world.store.objects("Thing").filtered(
                    "\(path) == $1", [.string(label)])
                let theirs = try other.store.objects("Thing").filtered(
                    "\(path) == $1", [.string(label)])
                #expect(try ours.count() == theirs.count())
            }
        }
    }

    /// A class with a default value of each type, stored names, and indexes over several properties.
    private static let declared: [ClassSchema] = {
        var years = Property("age", .int, defaultValue: .int(7))
        years.storedName = "years"
        var owner = Property("owner", .object, target: "Person")
        owner.storedName = "holder"
        let dog = ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true), years, owner,
                Property("name", .string, isIndexed: true, defaultValue: .string("a \"b\"\n")),
                Property("good", .bool, defaultValue: .bool(true)),
                Property("size", .double, defaultValue: .double(0.1)),
                Property("ratio", .float, defaultValue: .double(0.5)),
                Property("born", .date, defaultValue: .date(Timestamp(microseconds: 1_000_001))),
                Property("photo", .data, defaultValue: .data([0, 255])),
                Property("code", .uuid, defaultValue: .uuid(.random())),
                Property(
                    "mark", .objectID, defaultValue: .objectID(ObjectIDValue(high: 1, low: 2))),
                Property("price", .decimal, defaultValue: .decimal(DecimalValue(Int64(12)))),
                Property(
                    "any", .mixed,
                    defaultValue: .list([
                        .int(1), .date(Timestamp(microseconds: 5)), .dictionary(["$a": .null]),
                    ])),
                Property(
                    "numbers", .int, collection: .list, defaultValue: .list([.int(1), .int(2)])),
                Property("words", .string, collection: .set, defaultValue: .list([.string("x")])),
                Property(
                    "notes", .double, isOptional: true, collection: .map,
                    defaultValue: .dictionary(["a b": .double(1.5), "c": .null])),
                Property("none", .int, collection: .map, defaultValue: .dictionary([:])),
            ],
            indexes: [
                CompositeIndex(["owner", "age"]), CompositeIndex(["name", "born"], isUnique: true),
            ])
        return [dog, ClassSchema("Person", [Property("name", .string, isPrimary: true)])]
    }()

    private func described(_ store: Store) -> [String] {
        store.view.schema.classes.sorted { $0.name < $1.name }.flatMap { classSchema in
            classSchema.properties.map { property in
                "\(classSchema.name).\(property.name) = \(PropertySyntax.text(of: property)), "
                    + property.storedName
            } + classSchema.indexes.map { "\(classSchema.name) \($0.isUnique) \($0.properties)" }
        }
    }

    private func defaults(_ store: Store) throws -> [Value?] {
        try store.view.schema.require("Dog").properties.map(\.defaultValue)
    }

    @Test(arguments: ["a.jsonl", "a.json", "a.lua", "a.sqlite"])
    func `an import restores default values, stored names and indexes`(name: String) throws {
        let world = try TransferWorld(nil)
        try world.store.define(Self.declared)
        try world.store.write { try world.store.create("Dog", .dictionary(["id": .int(1)])) }
        let format = try TransferFormat(path: name)
        _ = try Exporter(.store(world.store), as: format).write(to: world.path(name))

        let other = try TransferWorld(nil)
        _ = try Importer(into: other.store).read(world.path(name), as: format)
        #expect(described(other.store) == described(world.store))
        #expect(try defaults(other.store) == defaults(world.store))
        #expect(try other.values("Dog", "age") == [.int(7)])
        let version = other.store.version
        try other.store.define(Self.declared)
        #expect(other.store.version == version)
    }

    @Test(arguments: ["a.jsonl", "a.json", "a.lua"])
    func `an export of a store without classes can be imported`(name: String) throws {
        let world = try TransferWorld(nil)
        let format = try TransferFormat(path: name)
        #expect(try Exporter(.store(world.store), as: format).write(to: world.path(name)) == 0)
        #expect(try Importer(into: world.store).read(world.path(name), as: format).created == 0)
    }

    @Test(arguments: ["a.jsonl", "a.json", "a.lua", "a.sqlite"])
    func `links to the object whose primary key is nil are restored, or an error`(name: String)
        throws
    {
        let world = try TransferWorld([
            "Dog": ["id": "int? primary", "next": "Dog", "all": "Dog[]", "any": "mixed"]
        ])
        try world.store.write {
            let dog = try world.store.create("Dog", .dictionary(["id": .null]))
            let link = Value.object(dog.reference)
            try world.store.create(
                "Dog",
                .dictionary(["id": .int(1), "next": link, "all": .list([link]), "any": link]))
        }
        let format = try TransferFormat(path: name)
        let exporter = Exporter(.store(world.store), as: format)
        guard format != .sqlite else {
            let error = #expect(throws: FormatError.self) {
                try exporter.write(to: world.path(name))
            }
            let text = error?.description ?? ""
            #expect(text.contains("'next' links to the Dog whose primary key is nil"), "\(text)")
            return
        }
        _ = try exporter.write(to: world.path(name))
        let other = try TransferWorld(nil)
        _ = try Importer(into: other.store).read(world.path(name), as: format)
        let linked = try other.store.objects("Dog")
            .filtered("next != nil and any != nil and all.@count == 1 and next.id == nil")
        #expect(try linked.count() == 1)
    }

    @Test(arguments: [
        #"{"$schema":{"Dog":{"id":{"type":"int","other":1}}}}"#,
        #"{"$schema":{"Dog":{"id":["a","b"]}}}"#, #"{"$schema":{"Dog":{"$indexes":[1]}}}"#,
        #"{"$schema":{"Dog":{"id":{"default":1}}}}"#,
    ])
    func `an object that only resembles a schema is a row`(line: String) throws {
        let world = try TransferWorld(nil)
        let options = ImportOptions(class: "Row")
        let path = try world.write(line + "\n", to: "rows.jsonl")
        #expect(try Importer(into: world.store, options).read(path, as: .jsonLines).created == 1)
        #expect(world.store.view.schema.classes.map(\.name) == ["Row"])
    }

    @Test func `importing CSV restores a class`() throws {
        var schema = Self.schema
        schema["Thing"]?["part"] = nil
        schema["Thing"]?["parts"] = nil
        let world = try TransferWorld(schema)
        let source = try TransferWorld(Self.schema)
        try fill(source.store, 40)
        try source.store.write {
            for object in try (0..<40).map({ try source.store.objects("Thing").object(at: $0) }) {
                try object.set("part", .null)
                try object.set("parts", .list([]))
            }
        }
        let things = try source.store.objects("Thing")
        _ = try Exporter(.results(things), as: .csv).write(to: source.path("a.csv"))
        var options = ImportOptions(class: "Thing")
        options.names = ["part": "", "parts": ""]
        let report = try Importer(into: world.store, options).read(source.path("a.csv"), as: .csv)
        #expect(report.created == 40)
        for property in schema["Thing"]!.keys {
            let expected = try source.values("Thing", property)
            #expect(try world.values("Thing", property) == expected, "\(property)")
        }
    }

    @Test func `a failed export keeps the existing file`() throws {
        let world = try TransferWorld(Self.schema)
        _ = try world.write("before", to: "a.csv")
        #expect(
            message {
                _ = try Exporter(.store(world.store), as: .csv).write(to: world.path("a.csv"))
            }.contains("one class"))
        #expect(try world.text(of: "a.csv") == "before")
        #expect(
            message {
                _ = try Exporter(.store(world.store), as: .json).write(to: "/no-such-folder/x.json")
            }.contains("cannot write /no-such-folder/x.json"))
    }

    @Test func `two exports to one file at the same time do not mix`() throws {
        let world = try TransferWorld(nil)
        let path = world.path("a.txt")
        let first = try FileWriter(path)
        let second = try FileWriter(path)
        try first.write("first\n")
        try second.write("second\n")
        try first.write("first\n")
        try first.finish()
        #expect(try world.text(of: "a.txt") == "first\nfirst\n")
        try second.finish()
        #expect(try world.text(of: "a.txt") == "second\n")
    }

    @Test(arguments: ["-", ":", ".", "T", "1", ";"] as [Character])
    func `Importing CSV with any separator restores numbers and dates`(separator: Character) throws
    {
        let types = [
            "a": "date", "b": "int", "c": "double", "d": "decimal", "e": "bool", "f": "string",
            "g": "date?",
        ]
        let world = try TransferWorld(["A": types])
        try world.store.write {
            for number in -2...2 {
                try world.store.create(
                    "A",
                    .dictionary([
                        "a": .date(Timestamp(microseconds: Int64(number) * 1_234_567_891_234)),
                        "b": .int(Int64(number) * 11), "c": .double(Double(number) * 1.5),
                        "d": .decimal(try #require(DecimalValue("\(number).10"))),
                        "e": .bool(number == 0), "f": .string("\(separator)\(number)"),
                    ]))
            }
        }
        let path = world.path("a.csv")
        var exporting = ExportOptions()
        exporting.separator = separator
        _ = try Exporter(.results(world.store.objects("A")), as: .csv, exporting)
            .write(to: path)
        let other = try TransferWorld(["A": types])
        var options = ImportOptions(class: "A")
        options.csv.separator = separator
        #expect(try Importer(into: other.store, options).read(path, as: .csv).created == 5)
        for name in types.keys {
            #expect(try other.values("A", name) == world.values("A", name), "\(name)")
        }
    }
}
