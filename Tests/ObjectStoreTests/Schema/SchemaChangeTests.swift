import ObjectStore
import Testing

@Suite struct SchemaChangeTests {
    private let folder = TemporaryFolder()

    private func open(_ classes: [ClassSchema]?, version: UInt64 = 0) throws -> Store {
        var configuration = StoreConfiguration(
            .file(folder.file("zoo.moonpool")), schema: classes, schemaVersion: version)
        configuration.drops = ["Dog.old"]
        return try Store(configuration, scheduler: ManualScheduler())
    }

    private let dog = ClassSchema(
        "Dog", [Property("id", .int, isPrimary: true), Property("name", .string)])

    @Test func `the first opening creates the schema and its version`() throws {
        let store = try open([dog], version: 5)
        #expect(store.schema.version == 5)
        #expect(try store.schema.require("Dog").primaryKey?.name == "id")
        store.close()
        let again = try open(nil)
        #expect(again.schema.version == 5)
        #expect(again.schema.classes.map(\.name) == ["Dog"])
        #expect(try again.schema.require("Dog").properties.map(\.name) == ["id", "name"])
    }

    @Test
    func `a class without an order keeps the order of the file, a class with an order does not`()
        throws
    {
        func names(_ classSchema: ClassSchema, version: UInt64 = 0) throws -> [String] {
            let store = try open([classSchema], version: version)
            defer { store.close() }
            return try store.schema.require("Dog").properties.map(\.name)
        }
        let (id, name) = (Property("id", .int, isPrimary: true), Property("name", .string))
        let (age, old) = (Property("age", .int), Property("old", .int))
        #expect(try names(ClassSchema("Dog", [id, old, name])) == ["id", "old", "name"])
        let sorted = ClassSchema("Dog", [id, name, old])
        #expect(try names(sorted.unordered) == ["id", "old", "name"])
        // A new version has its new properties at the end.
        let aged = ClassSchema("Dog", [age, id, name])
        #expect(try names(aged.unordered, version: 1) == ["id", "name", "age"])
        #expect(try names(aged, version: 1) == ["age", "id", "name"])
    }

    @Test func `a version lower than the stored one is refused with both numbers`() throws {
        try open([dog], version: 5).close()
        let error = storeError(.versionTooLow) { _ = try open([dog], version: 3) }
        #expect(error?.message.contains("5") == true && error?.message.contains("3") == true)
    }

    @Test func `all differences that need a new version are reported together`() throws {
        try open([dog]).close()
        let changed = ClassSchema(
            "Dog",
            [
                Property("id", .string, isPrimary: true),
                Property("name", .string, isOptional: true),
                Property("legs", .int),
            ])
        let error = storeError(.migrationNeeded) { _ = try open([changed]) }
        let message = error?.message ?? ""
        #expect(message.contains("'Dog.id' would change from int to string"))
        #expect(message.contains("'Dog.name' would become optional"))
        #expect(message.contains("'Dog.legs' would be added"))
        #expect(error?.message(for: .script).contains("schema_version") == true)
        #expect(try open([dog]).schema.find("Dog") != nil)
    }

    @Test func `new classes and indexes need no new version`() throws {
        try open([dog]).close()
        let indexed = ClassSchema(
            "Dog",
            [Property("id", .int, isPrimary: true), Property("name", .string, isIndexed: true)])
        let store = try open([indexed, ClassSchema("Toy", [Property("name", .string)])])
        #expect(store.schema.classes.map(\.name) == ["Dog", "Toy"])
        #expect(try store.schema.require("Dog").property(named: "name")?.isIndexed == true)
    }

    @Test func `a new version changes the columns and keeps the objects`() throws {
        let before = ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true), Property("name", .string),
                Property("age", .int, isOptional: true), Property("old", .string),
            ])
        var store = try open([before])
        try store.write {
            for id in 0..<3 {
                try store.create(
                    "Dog", .list([.int(Int64(id)), .string("n"), .int(7), .string("x")]))
            }
        }
        store.close()
        let after = ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true), Property("name", .string, isOptional: true),
                Property("age", .int), Property("tail", .double),
                Property("tag", .string, isOptional: true),
                Property("state", .string, defaultValue: .string("new")),
            ])
        store = try open([after], version: 1)
        let rex = try #require(try store.object("Dog", primaryKey: .int(1)))
        #expect(try store.view.table(rex.classSchema).count == 3)
        #expect(try rex.value("name") == .string("n"))
        #expect(try rex.value("age") == .int(7))
        #expect(try rex.value("state") == .string("new"))
        #expect(try rex.value("tail") == .double(0))
        #expect(try rex.value("tag") == .null)
        _ = storeError(.unknownProperty) { _ = try rex.value("old") }
        try store.write { try rex.set("name", .null) }
        #expect(try rex.value("name") == .null)
    }

    @Test func `a property becomes the key if its values are different`() throws {
        let before = ClassSchema("Dog", [Property("tag", .string)])
        let after = ClassSchema("Dog", [Property("tag", .string, isPrimary: true)])
        var store = try open([before])
        try store.write {
            for tag in ["a", "b", "b"] { try store.create("Dog", .list([.string(tag)])) }
        }
        store.close()
        let error = storeError(.duplicateKey) { _ = try open([after], version: 1) }
        #expect(error?.message.contains("\"b\"") == true)
        store = try open([before])
        #expect(store.schema.version == 0)
        try store.write {
            let rows = try store.view.table(store.schema.require("Dog"))
            #expect(rows.count == 3)
            try store.deleteAll()
            for tag in ["a", "b"] { try store.create("Dog", .list([.string(tag)])) }
        }
        store.close()
        store = try open([after], version: 1)
        #expect(try store.object("Dog", primaryKey: .string("b")) != nil)
        try store.write {
            _ = storeError(.duplicateKey) { try store.create("Dog", .list([.string("a")])) }
        }
    }

    @Test func `define adds to a live store and refuses data loss`() throws {
        let store = try open(nil)
        try store.define([dog])
        let rex = try store.write { try store.create("Dog", .list([.int(1), .string("Rex")])) }
        let owner = ClassSchema(
            "Person",
            [
                Property("name", .string),
                Property("dogs", .object, collection: .list, target: "Dog"),
            ])
        let grown = ClassSchema(
            "Dog",
            dog.properties + [
                Property("age", .int), Property("owner", .object, target: "Person"),
                Property(
                    "owners", .backlinks,
                    origin: Property.Origin(className: "Person", property: "dogs")),
            ])
        try store.define([grown, owner])
        #expect(try rex.value("age") == .int(0))
        #expect(try rex.value("owner") == .null)
        let ann = try store.write {
            try rex.set("age", .int(3))
            return try store.create(
                "Person", .list([.string("Ann"), .list([.object(rex.reference)])]))
        }
        #expect(try rex.value("owners") == .list([.object(ann.reference)]))
        #expect(try rex.value("age") == .int(3))
        let error = storeError(.migrationNeeded) { try store.define([dog]) }
        #expect(error?.message.contains("'Dog.age' would be removed") == true)
        _ = storeError(.invalidSchema) {
            try store.define([ClassSchema("Cat", [Property("owner", .object, target: "Missing")])])
        }
        #expect(store.schema.find("Cat") == nil)
        try store.write {
            _ = storeError(.alreadyInWrite) { try store.define([dog]) }
        }
    }

    @Test func `another store of the file gets defined classes`() throws {
        let pair = try StorePair([dog])
        try pair.store.define([
            ClassSchema("Dog", dog.properties + [Property("age", .int)]),
            ClassSchema("Toy", [Property("name", .string)]),
        ])
        try pair.store.write { try pair.store.create("Toy", .list([.string("ball")])) }
        #expect(pair.other.schema.find("Toy") == nil)
        try pair.other.refresh()
        let toy = try pair.other.schema.require("Toy")
        #expect(try pair.other.view.table(toy).count == 1)
        try pair.other.write {
            let rex = try pair.other.create("Dog", .list([.int(1), .string("Rex"), .int(4)]))
            #expect(try rex.value("age") == .int(4))
        }
    }

    @Test func `one error reports all errors of a schema`() throws {
        let error = storeError(.invalidSchema) {
            _ = try open([
                ClassSchema(
                    "Dog",
                    [
                        Property("a", .double, isPrimary: true),
                        Property("b", .int, isPrimary: true),
                        Property("c", .data, isIndexed: true), Property("c", .int),
                        Property("d", .object, target: "Dgo"),
                        Property("e", .int, defaultValue: .string("x")),
                        Property(
                            "f", .backlinks,
                            origin: Property.Origin(className: "Dog", property: "g")),
                        Property("9x", .int),
                    ])
            ])
        }
        let message = error?.message ?? ""
        for part in [
            "2 primary keys", "'Dog.a' is a primary key of type double", "'Dog.c' is declared 2",
            "'Dog.c' of type data cannot be indexed", "class 'Dgo'", "did you mean 'Dog'",
            "the default \"x\" is not a valid int", "'Dog.g', which does not exist",
            "'9x' cannot be used",
        ] {
            #expect(message.contains(part), "\(part) in:\n\(message)")
        }
    }
}
