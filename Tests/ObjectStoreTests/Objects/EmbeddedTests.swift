import ObjectStore
import Testing

/// Objects that belong to one parent.
@Suite struct EmbeddedTests {
    static let classes = [
        ClassSchema(
            "Person",
            [
                Property("name", .string, isPrimary: true),
                Property("home", .object, target: "Address"),
                Property("places", .object, collection: .list, target: "Address"),
                Property("friend", .object, target: "Person"),
            ]),
        ClassSchema(
            "Address",
            [
                Property("street", .string),
                Property("number", .int, isOptional: true),
                Property("inner", .object, target: "Address"),
                Property("owner", .object, target: "Person"),
                Property(
                    "resident", .backlinks, origin: .init(className: "Person", property: "home")),
            ], isEmbedded: true),
    ]

    let store = try! Store.temporary(classes)

    func street(_ name: String, inner: Value = .null) -> Value {
        .dictionary(["street": .string(name), "inner": inner])
    }

    func makeAnn(home: Value = .null, places: [Value] = []) throws -> LiveObject {
        try store.create(
            "Person", .dictionary(["name": .string("Ann"), "home": home, "places": .list(places)]))
    }

    func home(of person: LiveObject) throws -> LiveObject {
        guard case .object(let reference) = try person.value("home") else {
            throw StoreError(.invalidObject, "no home")
        }
        return try #require(store.object(reference))
    }

    func streets(_ person: LiveObject) throws -> [Value] {
        try person.list("places").values().map { value in
            guard case .object(let reference) = value else { return .null }
            return try #require(store.object(reference)).value("street")
        }
    }

    var addresses: Int { (try? store.objects("Address").count()) ?? -1 }

    // MARK: Errors

    @Test func `an embedded object cannot be created alone`() throws {
        try store.write {
            let error = storeError(.invalidArgument) {
                try store.create("Address", street("Main"))
            }
            #expect(error?.message.contains("embedded") == true)
            let address = try #require(store.schema.find("Address"))
            _ = storeError(.invalidArgument) {
                _ = try store.create(address, positional: [.string("Main"), nil, nil, nil, nil])
            }
        }
        #expect(addresses == 0)
    }

    @Test func `an embedded class has no primary key`() throws {
        let key = ClassSchema("Part", [Property("id", .int, isPrimary: true)], isEmbedded: true)
        let error = storeError(.invalidSchema) { _ = try Store.temporary([key]) }
        #expect(error?.message.contains("'Part' is embedded") == true)
    }

    @Test func `an embedded object with a parent cannot get another parent`() throws {
        try store.write {
            let ann = try makeAnn(home: street("Main"), places: [street("Side")])
            let bob = try store.create("Person", .dictionary(["name": .string("Bob")]))
            let home = try ann.value("home")
            _ = storeError(.invalidArgument) { try bob.set("home", home) }
            _ = storeError(.invalidArgument) { try bob.list("places").append([home]) }
            _ = storeError(.invalidArgument) { try ann.list("places").append([home]) }
            _ = storeError(.invalidArgument) { try ann.list("places").set(home, at: 0) }
            _ = storeError(.invalidArgument) { try bob.set("places", .list([home])) }
            _ = storeError(.invalidArgument) {
                try store.create("Person", .dictionary(["name": .string("Cy"), "home": home]))
            }
            #expect(addresses == 2)
            #expect(try bob.value("home") == .null)
        }
    }

    @Test func `a failed creation leaves no embedded object without a parent`() throws {
        try store.write {
            _ = storeError(.typeMismatch) {
                _ = try makeAnn(
                    home: street("Main"), places: [street("A"), .dictionary(["street": .int(1)])])
            }
            #expect(addresses == 0)
            let ann = try makeAnn()
            _ = storeError(.missingValue) {
                try ann.set("home", street("Main", inner: .dictionary([:])))
            }
            _ = storeError(.missingValue) {
                try ann.list("places").append([street("A"), .dictionary([:])])
            }
            #expect(addresses == 0)
        }
    }

    // MARK: Life

    @Test func `assigning values creates a new object and deletes the old one`() throws {
        let ann = try store.write { try makeAnn(home: street("Main", inner: street("Back"))) }
        let first = try home(of: ann)
        #expect(addresses == 2)
        try store.write { try ann.set("home", street("Side")) }
        #expect(!first.isValid)
        #expect(addresses == 1)
        #expect(try home(of: ann).value("street") == .string("Side"))
        try store.write { try ann.set("home", .null) }
        #expect(addresses == 0)
    }

    @Test func `assigning the current object keeps it`() throws {
        try store.write {
            let ann = try makeAnn(
                home: street("Main"), places: [street("A"), street("B"), street("C")])
            let home = try home(of: ann)
            try ann.set("home", .object(home.reference))
            #expect(home.isValid)
            #expect(try ann.value("home") == .object(home.reference))
            // A list assigned to itself keeps its contents.
            try ann.set("places", try ann.value("places"))
            #expect(try streets(ann) == [.string("A"), .string("B"), .string("C")])
            // Some of the elements in another order, and a new one.
            let places = try ann.list("places").values()
            try ann.set("places", .list([places[2], street("D"), places[0]]))
            #expect(try streets(ann) == [.string("C"), .string("D"), .string("A")])
            #expect(addresses == 4)
            _ = storeError(.invalidArgument) {
                try ann.set("places", .list([places[0], places[0]]))
            }
        }
    }

    @Test func `deleting an owner deletes embedded objects at any depth`() throws {
        let ann = try store.write {
            let ann = try makeAnn(
                home: street("Main", inner: street("Back", inner: street("Cellar"))),
                places: [street("A", inner: street("A1")), street("B")])
            try home(of: ann).set("owner", .object(ann.reference))
            return ann
        }
        #expect(addresses == 6)
        try store.write { try store.delete(ann) }
        #expect(addresses == 0)
    }

    @Test func `the longest chain of embedded objects is deleted completely`() throws {
        try store.write {
            let ann = try makeAnn(home: street("0"))
            var last = try home(of: ann)
            for number in 1..<100 {
                try last.set("inner", street("\(number)"))
                guard case .object(let next) = try last.value("inner") else { return }
                last = try #require(store.object(next))
            }
            #expect(addresses == 100)
            #expect(throws: StoreError.self) { try last.set("inner", street("100")) }
            #expect(addresses == 100)
            try ann.set("home", .null)
            #expect(addresses == 0)
        }
    }

    @Test func `deleting by query, by class and all objects deletes embedded objects too`() throws {
        try store.write {
            _ = try makeAnn(home: street("Main"))
            let all = try store.objects("Person")
            try store.delete(all.keys().array, of: all.classSchema())
            #expect(addresses == 0)
            _ = try makeAnn(home: street("Main"), places: [street("A")])
            try store.deleteAll("Person")
            #expect(addresses == 0)
            _ = try makeAnn(home: street("Main"), places: [street("A")])
            try store.deleteAll()
            #expect(addresses == 0)
        }
    }

    @Test func `deleting an embedded object clears its parent's property`() throws {
        try store.write {
            let ann = try makeAnn(
                home: street("Main", inner: street("Back")), places: [street("A")])
            try store.delete(home(of: ann))
            #expect(try ann.value("home") == .null)
            try store.deleteAll("Address")
            #expect(try ann.list("places").count() == 0)
            #expect(addresses == 0)
        }
    }

    @Test func `deleting an owner does not delete linked top-level objects`() throws {
        try store.write {
            let bob = try store.create("Person", .dictionary(["name": .string("Bob")]))
            let ann = try makeAnn(
                home: .dictionary(["street": .string("Main"), "owner": .object(bob.reference)]))
            try ann.set("friend", .object(bob.reference))
            try store.delete(ann)
            #expect(bob.isValid)
        }
    }

    @Test func `lists of embedded objects delete removed objects`() throws {
        try store.write {
            let ann = try makeAnn(places: [
                street("A"), street("B", inner: street("B1")), street("C"),
            ])
            let list = try ann.list("places")
            try list.remove(at: 1)
            #expect(addresses == 2)
            try list.set(street("D"), at: 0)
            try list.insert(street("E"), at: 1)
            try list.move(from: 0, to: 2)
            try list.swap(0, 1)
            #expect(try streets(ann) == [.string("C"), .string("E"), .string("D")])
            #expect(addresses == 3)
            try list.removeAll()
            #expect(addresses == 0)
            try list.append([street("F"), street("G")])
            try ann.set("places", .list([]))
            #expect(addresses == 0)
        }
    }

    @Test func `rolling back a write restores replaced objects`() throws {
        let ann = try store.write { try makeAnn(home: street("Main"), places: [street("A")]) }
        let first = try home(of: ann)
        try store.beginWrite()
        try ann.set("home", street("Side"))
        try ann.list("places").removeAll()
        #expect(!first.isValid)
        try store.cancelWrite()
        #expect(first.isValid)
        #expect(try streets(ann) == [.string("A")])
        #expect(addresses == 2)
    }

    // MARK: Upserts

    @Test
    func `update modified changes an embedded object in place, update all replaces it`()
        throws
    {
        try store.write {
            let ann = try makeAnn(home: street("Main"), places: [street("A"), street("B")])
            let first = try home(of: ann)
            let values: Value = .dictionary([
                "name": .string("Ann"), "home": .dictionary(["number": .int(5)]),
                "places": .list([.dictionary(["number": .int(6)])]),
            ])
            try store.create("Person", values, mode: .modified)
            #expect(first.isValid)
            #expect(try first.value("street") == .string("Main"))
            #expect(try first.value("number") == .int(5))
            #expect(try streets(ann) == [.string("A")])
            try store.create(
                "Person", .dictionary(["name": .string("Ann"), "home": street("Side")]), mode: .all)
            #expect(!first.isValid)
            #expect(addresses == 2)
        }
    }

    @Test func `equal values change nothing; others change the child, not the parent`()
        throws
    {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(Self.classes, scheduler: scheduler)
        let values: Value = .dictionary(["name": .string("Ann"), "home": street("Main")])
        let ann = try store.write { try store.create("Person", values) }
        guard case .object(let reference) = try ann.value("home") else { return }
        var calls: [String] = []
        let parent = try store.observe(ann.reference) { _ in calls.append("parent") }
        let child = try store.observe(reference) { change in
            calls += change.properties.map(\.name)
        }
        let path = try store.observe(ann.reference, keyPaths: ["home.street"]) { _ in
            calls.append("path")
        }
        scheduler.settle()
        try store.write { try store.create("Person", values, mode: .modified) }
        scheduler.settle()
        #expect(calls == [])
        try store.write {
            try store.create(
                "Person", .dictionary(["name": .string("Ann"), "home": street("Side")]),
                mode: .modified)
        }
        scheduler.settle()
        #expect(calls.sorted() == ["path", "street"])
        for token in [parent, child, path] { token.invalidate() }
    }

    // MARK: Finding

    @Test func `embedded objects are found by queries, through paths and backlinks`()
        throws
    {
        let ann = try store.write {
            try makeAnn(home: street("Main"), places: [street("Side"), street("Main")])
        }
        let main = try store.objects("Address").filtered("street == 'Main'")
        #expect(try main.count() == 2)
        #expect(try store.objects("Person").filtered("home.street == 'Main'").count() == 1)
        #expect(try store.objects("Person").filtered("any places.street == 'Side'").count() == 1)
        let living = try main.filtered("resident.@count == 1")
        #expect(try living.count() == 1)
        #expect(try living.first()?.value("resident") == .list([.object(ann.reference)]))
    }

    @Test func `the observer of an embedded object receives the deletion of its parent`() throws {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(Self.classes, scheduler: scheduler)
        let ann = try store.write {
            try store.create(
                "Person", .dictionary(["name": .string("Ann"), "home": street("Main")]))
        }
        guard case .object(let reference) = try ann.value("home") else { return }
        var deleted = 0
        let token = try store.observe(reference) { change in
            if case .deleted = change.kind { deleted += 1 }
        }
        scheduler.settle()
        try store.write { try store.delete(ann) }
        scheduler.settle()
        #expect(deleted == 1)
        token.invalidate()
    }

    // MARK: Schema

    @Test func `a class becomes embedded only with a new schema version`() throws {
        let folder = TemporaryFolder()
        func open(_ isEmbedded: Bool, version: UInt64) throws -> Store {
            let part = ClassSchema("Part", [Property("name", .string)], isEmbedded: isEmbedded)
            let whole = ClassSchema("Whole", [Property("part", .object, target: "Part")])
            var configuration = StoreConfiguration(
                .file(folder.file("a.moonpool")), schema: [part, whole], schemaVersion: version)
            configuration.durability = .memory
            return try Store(configuration, scheduler: ManualScheduler())
        }
        try open(false, version: 0).close()
        let error = storeError(.migrationNeeded) { _ = try open(true, version: 0) }
        #expect(error?.message.contains("'Part' would become embedded") == true)
        let changed = try open(true, version: 1)
        #expect(changed.schema.find("Part")?.isEmbedded == true)
        changed.close()
        let back = try open(false, version: 2)
        #expect(back.schema.find("Part")?.isEmbedded == false)
        back.close()
    }
}
