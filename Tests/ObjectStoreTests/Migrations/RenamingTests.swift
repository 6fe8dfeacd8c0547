import ObjectStore
import Testing

@Suite struct RenamingTests {
    private let world = MigrationWorld()

    private func person(_ properties: [Property]) -> ClassSchema {
        ClassSchema("Person", properties)
    }

    @Test func `a renamed property keeps its values, also after several renames`() throws {
        try world.fill([personBefore], people)
        let after = person([
            Property("id", .int, isPrimary: true), Property("name", .string, isIndexed: true),
        ])
        let store = try world.open([after], version: 1) { migration in
            try migration.renameProperty("Person", from: "first", to: "given")
            try migration.renameProperty("Person", from: "given", to: "name")
            #expect(
                try migration.objects("Person").first()?.value("name") == .string("Ann"))
        }
        #expect(
            try MigrationWorld.values(store, "Person", "name") == [
                .string("Ann"), .string("Bob"), .string("Cid"),
            ])
        #expect(try store.objects("Person").filtered("name == 'Bob'").count() == 1)
    }

    @Test func `a renamed property can become a key or an optional property, and the reverse`()
        throws
    {
        let before = person([
            Property("id", .int, isPrimary: true), Property("tag", .string),
            Property("age", .int),
        ])
        try world.fill(
            [before],
            [
                ("Person", [.int(1), .string("a"), .int(30)]),
                ("Person", [.int(2), .string("b"), .int(40)]),
            ])
        let after = person([
            Property("code", .string, isPrimary: true), Property("number", .int),
            Property("years", .int, isOptional: true),
        ])
        let store = try world.open([after], version: 1) { migration in
            try migration.renameProperty("Person", from: "tag", to: "code")
            try migration.renameProperty("Person", from: "id", to: "number")
            try migration.renameProperty("Person", from: "age", to: "years")
        }
        let b = try #require(try store.object("Person", primaryKey: .string("b")))
        #expect(try b.value("number") == .int(2))
        #expect(try b.value("years") == .int(40))
        try store.write { try b.set("years", .null) }
        #expect(try b.value("years") == .null)
    }

    @Test func `an optional property becomes required if no value is nil at the end`()
        throws
    {
        let before = person([
            Property("id", .int, isPrimary: true), Property("age", .int, isOptional: true),
        ])
        let after = person([Property("id", .int, isPrimary: true), Property("years", .int)])
        try world.fill(
            [before], [("Person", [.int(1), .int(30)]), ("Person", [.int(2), .null])])
        let error = storeError(.missingValue) {
            _ = try world.open([after], version: 1) {
                try $0.renameProperty("Person", from: "age", to: "years")
            }
        }
        #expect(error?.message.contains("'Person.years' is required now, and 1 object") == true)
        #expect(error?.message.contains("id = 2") == true)
        let store = try world.open([after], version: 1) { migration in
            try migration.renameProperty("Person", from: "age", to: "years")
            try migration.each("Person") { old, new in
                if try old.value("age") == .null { try new.set("years", .int(-1)) }
            }
        }
        #expect(try MigrationWorld.values(store, "Person", "years") == [.int(30), .int(-1)])
    }

    /// A collection of optional ints, the same collection without nil, and one with a nil.
    static let collections: [(CollectionKind, Value, Value)] = [
        (.list, .list([.int(3), .int(1), .int(3)]), .list([.int(1), .null])),
        (.set, .list([.int(1), .int(3)]), .list([.null, .int(1)])),
        (.map, .dictionary(["a": .int(1)]), .dictionary(["a": .int(1), "b": .null])),
    ]

    @Test(arguments: collections)
    func `a renamed collection of optional elements becomes one of required elements`(
        kind: CollectionKind, whole: Value, holed: Value
    ) throws {
        let id = Property("id", .int, isPrimary: true)
        let before = person([
            id, Property("marks", .int, isOptional: true, collection: kind),
        ])
        let after = person([id, Property("grades", .int, collection: kind)])
        func rename(_ migration: Migration) throws {
            try migration.renameProperty("Person", from: "marks", to: "grades")
        }
        try world.fill(
            [before],
            [
                ("Person", [.int(1), whole]),
                ("Person", [.int(2), kind == .map ? .dictionary([:]) : .list([])]),
            ])
        var store = try world.open([after], version: 1, migration: rename)
        #expect(try MigrationWorld.values(store, "Person", "grades").first == whole)
        let live = try #require(try store.object("Person", primaryKey: .int(1)))
        #expect(
            storeError(.missingValue) {
                try store.write { try live.set("grades", holed) }
            } != nil)
        store.close()

        let other = MigrationWorld()
        try other.fill(
            [before], [("Person", [.int(1), whole]), ("Person", [.int(2), holed])])
        let error = storeError(.typeMismatch) {
            _ = try other.open([after], version: 1, migration: rename)
        }
        let message = error?.message ?? ""
        #expect(message.contains("'Person.grades' would change from int?"), "\(message)")
        #expect(message.contains("1 value does not convert exactly, such as \(holed.summary)"))
        #expect(message.contains("id = 2"), "\(message)")
        #expect(try Store.schemaVersion(atPath: other.path) == 0)
        store = try other.open([after], version: 1) { migration in
            try rename(migration)
            try migration.each("Person") { old, new in
                guard try old.value("id") == .int(2) else { return }
                try new.set("grades", whole)
            }
        }
        #expect(try MigrationWorld.values(store, "Person", "grades") == [whole, whole])
    }

    @Test func `an impossible rename is refused with the reason`() throws {
        try world.fill([personBefore], people)
        let after = person([
            Property("id", .int, isPrimary: true), Property("last", .string),
            Property("age", .int),
        ])
        func refusal(_ from: String, _ to: String) -> String {
            storeError(.invalidSchema) {
                _ = try world.open([after], version: 1) {
                    try $0.renameProperty("Person", from: from, to: to)
                }
            }?.message ?? ""
        }
        #expect(refusal("frist", "age").contains("did you mean 'first'?"))
        #expect(refusal("first", "age").contains("from string to int"))
        #expect(refusal("first", "last").contains("has a property 'last'"))
        #expect(refusal("last", "surname").contains("still declares 'last'"))
        #expect(refusal("first", "lats").contains("which the schema does not declare"))
        #expect(try Store.schemaVersion(atPath: world.path) == 0)
        _ = storeError(.invalidSchema) {
            _ = try world.open([after], version: 1) {
                try $0.renameProperty("Missing", from: "first", to: "x")
            }
        }
    }

    @Test func `values that a migration has set survive a later rename`() throws {
        try world.fill([personBefore], people)
        let after = person([
            Property("id", .int, isPrimary: true), Property("given", .string),
            Property("initial", .string),
        ])
        let store = try world.open([after], version: 1) { migration in
            try migration.each("Person") { old, new in
                guard case .string(let first) = try old.value("first") else { return }
                try new.set("initial", .string(String(first.prefix(1))))
                try new.set("given", .string("is overwritten"))
            }
            try migration.renameProperty("Person", from: "first", to: "given")
        }
        #expect(
            try MigrationWorld.values(store, "Person", "initial") == [
                .string("A"), .string("B"), .string("C"),
            ])
        #expect(try MigrationWorld.values(store, "Person", "given").last == .string("Cid"))
    }

    private let dog = ClassSchema(
        "Dog", [Property("id", .int, isPrimary: true), Property("name", .string)])
    private let owner = ClassSchema(
        "Owner",
        [
            Property("name", .string), Property("dogs", .object, collection: .list, target: "Dog"),
            Property("best", .object, target: "Dog"),
        ])
    private let animal = ClassSchema(
        "Animal",
        [
            Property("id", .int, isPrimary: true), Property("title", .string),
            Property(
                "owners", .backlinks,
                origin: Property.Origin(className: "Owner", property: "animals")),
        ])
    private let animalOwner = ClassSchema(
        "Owner",
        [
            Property("name", .string),
            Property("animals", .object, collection: .list, target: "Animal"),
            Property("best", .object, target: "Animal"),
        ])

    private func fillDogs() throws {
        let store = try world.open([dog, owner])
        try store.write {
            let rex = try store.create("Dog", .list([.int(1), .string("Rex")]))
            let max = try store.create("Dog", .list([.int(2), .string("Max")]))
            try store.create(
                "Owner",
                .list([
                    .string("Ann"), .list([.object(rex.reference), .object(max.reference)]),
                    .object(max.reference),
                ]))
        }
        store.close()
    }

    @Test func `a renamed class keeps its objects, and links follow it`() throws {
        try fillDogs()
        let store = try world.open([animal, animalOwner], version: 1) { migration in
            try migration.renameClass("Dog", to: "Pet")
            try migration.renameClass("Pet", to: "Animal")
            try migration.renameProperty("Animal", from: "name", to: "title")
            try migration.renameProperty("Owner", from: "dogs", to: "animals")
            var names: [Value] = []
            try migration.each("Animal") { old, new in
                names.append(try old.value("name"))
                #expect(try new.value("title") == old.value("name"))
            }
            #expect(names == [.string("Rex"), .string("Max")])
        }
        #expect(store.schema.classes.map(\.name) == ["Animal", "Owner"])
        let max = try #require(try store.object("Animal", primaryKey: .int(2)))
        #expect(try max.value("title") == .string("Max"))
        let ann = try #require(try store.objects("Owner").first())
        #expect(try ann.value("best") == .object(max.reference))
        #expect(try ann.list("animals").count() == 2)
        #expect(try max.value("owners") == .list([.object(ann.reference)]))
        try store.write { try store.delete(max) }
        #expect(try ann.value("best") == .null)
        #expect(try ann.list("animals").count() == 1)
    }

    @Test func `classes outside of the schema follow a renamed class too`() throws {
        try fillDogs()
        let only = ClassSchema("Animal", dog.properties)
        let store = try world.open([only], version: 1) { migration in
            try migration.renameClass("Dog", to: "Animal")
        }
        #expect(try store.schema.require("Owner").property(named: "best")?.target == "Animal")
        let ann = try #require(try store.objects("Owner").first())
        #expect(try ann.list("dogs").count() == 2)
    }

    @Test func `deleting a class requires deleting the links to it`() throws {
        try fillDogs()
        let lonely = ClassSchema("Owner", [Property("name", .string)])
        let error = storeError(.invalidSchema) {
            _ = try world.open([animal, animalOwner], version: 1) { migration in
                try migration.renameClass("Owner", to: "Missing")
            }
        }
        #expect(error?.message.contains("still declares 'Owner'") == true)
        let other = ClassSchema("Box", [Property("n", .int)])
        let dangling = storeError(.invalidSchema) {
            _ = try world.open([other], version: 1) { try $0.deleteClass("Dog") }
        }
        #expect(dangling?.message.contains("links to class 'Dog'") == true)
        let store = try world.open([lonely], version: 1) { migration in
            try migration.deleteClass("Dog")
        }
        #expect(store.schema.classes.map(\.name) == ["Owner"])
        #expect(try MigrationWorld.values(store, "Owner", "name") == [.string("Ann")])
    }

    @Test func `another class can get the name of a class`() throws {
        try fillDogs()
        let newDog = ClassSchema("Dog", [Property("breed", .string)])
        let store = try world.open([animal, animalOwner, newDog], version: 1) { migration in
            // The new schema declares a class with the old name, so that the classes cannot be matched.
            let error = storeError(.invalidSchema) {
                try migration.renameClass("Dog", to: "Animal")
            }
            #expect(error?.message.contains("still declares 'Dog'") == true)
        }
        #expect(try store.objects("Animal").count() == 0)
    }
}
