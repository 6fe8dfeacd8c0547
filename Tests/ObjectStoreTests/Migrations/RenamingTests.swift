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

    @Test func `a new class cannot get the name of a renamed one`() throws {
        try fillDogs()
        let newDog = ClassSchema("Dog", [Property("breed", .string)])
        // The new schema declares a class with the old name, so that the classes cannot be matched.
        let error = storeError(.invalidSchema) {
            _ = try world.open([animal, animalOwner, newDog], version: 1) { migration in
                try migration.renameClass("Dog", to: "Animal")
            }
        }
        #expect(error?.message.contains("still declares 'Dog'") == true)
        #expect(try Store.schemaVersion(atPath: world.path) == 0)
    }

    /// Names of properties or classes are exchanged at random, by renames in a random order.
    @Test(arguments: 1...30) func `renames are one permutation of names`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let names = ["a", "b", "c", "d", "e"]
        let classNames = ["A", "B", "C"]
        let classes = classNames.map { name in
            ClassSchema(
                name,
                names.map { Property($0, .string, defaultValue: .string("new")) }
                    + [Property("next", .object, target: name)])
        }
        let store = try Store.temporary(classes)
        try store.write {
            for name in classNames {
                let object = try store.create(
                    name,
                    .dictionary(
                        ValueMap(
                            uniqueKeysWithValues: names.map { ($0, .string("\(name).\($0)")) })))
                try object.set("next", .object(object.reference))
            }
        }
        // Each old name leads to a new one, which is another old name or a name outside of the file.
        let targets = Array((names + ["x", "y"]).shuffled(using: &random).prefix(names.count))
        let classTargets = Array((classNames + ["X"]).shuffled(using: &random).prefix(3))
        let after = zip(classNames, classTargets).map { _, name in
            ClassSchema(
                name,
                targets.map { Property($0, .string) } + [Property("next", .object, target: name)])
        }
        let classesFirst = Bool.random(using: &random)
        try store.redefine(after) { migration in
            func renameClasses() throws {
                for kind in (0..<3).shuffled(using: &random)
                where classNames[kind] != classTargets[kind] {
                    try migration.renameClass(classNames[kind], to: classTargets[kind])
                }
            }
            if classesFirst { try renameClasses() }
            for kind in (0..<3).shuffled(using: &random) {
                for index in names.indices.shuffled(using: &random)
                where names[index] != targets[index] {
                    try migration.renameProperty(
                        classesFirst ? classTargets[kind] : classNames[kind], from: names[index],
                        to: targets[index])
                }
            }
            if !classesFirst { try renameClasses() }
        }
        for (old, name) in zip(classNames, classTargets) {
            let object = try #require(try store.objects(name).first())
            #expect(try store.objects(name).count() == 1)
            for (property, target) in zip(names, targets) {
                #expect(try object.value(target) == .string("\(old).\(property)"))
            }
            #expect(try object.value("next") == .object(object.reference))
        }
        #expect(try store.verify().isEmpty)
    }

    @Test func `a name that stays in use is refused at the end`() throws {
        let store = try Store.temporary([
            ClassSchema("A", [Property("a", .int), Property("b", .int)]),
            ClassSchema("B", [Property("a", .int)]),
        ])
        func refused(_ classes: [ClassSchema], _ body: @escaping (Migration) throws -> Void)
            -> String
        {
            storeError(.invalidSchema) { try store.redefine(classes, migration: body) }?.message
                ?? ""
        }
        let only = ClassSchema("A", [Property("b", .int)])
        #expect(
            refused([only]) { try $0.renameProperty("A", from: "a", to: "b") }
                .contains(
                    "'A.a' cannot be renamed to 'b': the file has a property 'b' whose values"))
        let both = ClassSchema("A", [Property("x", .int)])
        #expect(
            refused([both]) {
                try $0.renameProperty("A", from: "a", to: "x")
                try $0.renameProperty("A", from: "b", to: "x")
            }.contains("'A.b' cannot be renamed to 'x': 'a' was renamed to it"))
        #expect(
            refused([ClassSchema("B", [Property("a", .int), Property("b", .int)])]) {
                try $0.renameClass("A", to: "B")
            }.contains("the file already has a class 'B'; rename that one too"))
        #expect(Set(store.schema.classes.map(\.name)) == ["A", "B"])
    }

    /// The rules for properties are the same whether or not their class is renamed, before or after.
    @Test(arguments: [nil, true, false] as [Bool?])
    func `conversions and defaults apply to renamed classes`(renamesFirst: Bool?) throws {
        let store = try Store.temporary([
            ClassSchema(
                "A",
                [
                    Property("id", .int, isPrimary: true), Property("text", .int),
                    Property("number", .string), Property("maybe", .int, isOptional: true),
                    Property("list", .int, collection: .list), Property("old", .int),
                ])
        ])
        try store.write {
            for id in Int64(1)...3 {
                try store.create(
                    "A",
                    .dictionary([
                        "id": .int(id), "text": .int(id), "number": .string("\(id)"),
                        "maybe": id == 2 ? .null : .int(id), "list": .list([.int(id)]),
                        "old": .int(-id),
                    ]))
            }
        }
        let name = renamesFirst == nil ? "A" : "B"
        let after = ClassSchema(
            name,
            [
                Property("id", .int, isPrimary: true), Property("text", .string),
                Property("number", .int), Property("maybe", .int, defaultValue: .int(7)),
                Property("list", .string, collection: .list), Property("new", .int),
                Property("added", .string, defaultValue: .string("x")),
            ])
        try store.redefine([after]) { migration in
            if renamesFirst == true { try migration.renameClass("A", to: "B") }
            try migration.renameProperty("A", from: "old", to: "new")
            if renamesFirst == false { try migration.renameClass("A", to: "B") }
        }
        for id in Int64(1)...3 {
            let object = try #require(try store.object(name, primaryKey: .int(id)))
            #expect(try object.value("text") == .string("\(id)"))
            #expect(try object.value("number") == .int(id))
            #expect(try object.value("maybe") == .int(id == 2 ? 7 : id))
            #expect(try object.value("list") == .list([.string("\(id)")]))
            #expect(try object.value("new") == .int(-id))
            #expect(try object.value("added") == .string("x"))
        }
        #expect(try store.verify().isEmpty)
    }
}
