import ColumnStorage
import ObjectStore
import Testing

/// The moments of a started migration at which the two schemas of a file meet other features.
@Suite struct StartedMigrationTests {
    private let folder = TemporaryFolder()

    private func open(
        _ version: UInt64 = 0, _ classes: [ClassSchema]? = nil, deletes: Bool = false
    ) throws -> Store {
        let configuration = StoreConfiguration(
            .file(folder.file("dogs.moonpool")), schema: classes, schemaVersion: version,
            deletesIfMigrationNeeded: deletes, durability: .memory)
        return try Store(configuration, scheduler: ManualScheduler())
    }

    private func start(
        _ store: Store, to version: UInt64 = 2, _ classes: [ClassSchema],
        dropping: Set<String> = []
    ) throws {
        try store.startMigration(to: classes, version, dropping: dropping)
        while try !store.convertBatch() {}
    }

    private static let name = Property("name", .string, defaultValue: .string(""))
    private static func dog(_ properties: Property...) -> ClassSchema {
        ClassSchema("Dog", [name] + properties)
    }

    @Test func `a store of a completed version keeps it when the next migration starts`() throws {
        try open(1, [Self.dog()]).close()
        let migrating = try open()
        try start(migrating, [Self.dog(Property("age", .int))])
        let second = try open(2)
        try migrating.completeMigration(isForced: true)
        try second.refresh()
        try start(migrating, to: 3, [Self.dog(Property("age", .int), Property("size", .int))])
        try second.refresh()
        #expect(second.schema.version == 2)
        #expect(second.schema.find("Dog")?.property(named: "size") == nil)
        let third = try open(3)
        try third.write { try third.create("Dog", .dictionary(["age": .int(1), "size": .int(1)])) }
        // A new version that was aborted and started again is another one.
        _ = try migrating.abortMigration(isForced: true)
        try third.refresh()
        #expect(third.schema.version == 2)
        try start(migrating, to: 3, [Self.dog(Property("age", .int), Property("size", .int))])
        try third.refresh()
        #expect(third.schema.version == 2)
        for store in [migrating, second, third] { store.close() }
    }

    /// A class of one version, whose objects embed, own and are linked from objects of both.
    private static let visit = [
        ClassSchema("Note", [name], isEmbedded: true),
        ClassSchema("Toy", [name]),
        ClassSchema("Any", [Property("value", .mixed, isOptional: true)]),
    ]
    private static func walk() throws -> ClassSchema {
        var toy = Property("toy", .object, target: "Toy")
        try toy.rules.set("owns", to: .bool(true), of: "Walk.toy")
        return ClassSchema("Walk", [Property("note", .object, target: "Note"), toy])
    }

    private func fillWalks(_ store: Store) throws {
        try store.write {
            let walk = try store.create(
                "Walk",
                .dictionary([
                    "note": .dictionary(["name": .string("n")]),
                    "toy": .dictionary(["name": .string("t")]),
                ]))
            try store.create("Any", .list([.object(walk.reference)]))
        }
        #expect(try store.objects("Toy").count() == 1)
    }

    private func expectNoWalks(_ store: Store) throws {
        try store.refresh()
        #expect(try store.objects("Toy").count() == 0)
        #expect(try store.objects("Any").first()?.value("value") == .null)
        #expect(try store.verify() == [])
    }

    @Test func `complete removes what the objects of a removed class own and embed`() throws {
        let old = try open(1, Self.visit + [Self.walk()])
        try fillWalks(old)
        let migrating = try open()
        try start(migrating, Self.visit, dropping: ["Walk"])
        try migrating.completeMigration(isForced: true)
        try expectNoWalks(old)
        for store in [old, migrating] { store.close() }
    }

    @Test func `abort removes what the objects of a new class own and embed`() throws {
        let old = try open(1, Self.visit)
        try start(old, Self.visit + [Self.walk()])
        let new = try open(2)
        try fillWalks(new)
        new.close()
        _ = try old.abortMigration(isForced: true)
        try expectNoWalks(old)
        old.close()
    }

    @Test func `a deletion keeps an owned object that only the other version uses`() throws {
        var toy = Property("toy", .object, target: "Toy")
        try toy.rules.set("owns", to: .bool(true), of: "Dog.toy")
        let classes = [ClassSchema("Toy", [Self.name]), Self.dog(toy)]
        let old = try open(1, classes)
        let dog = try old.write {
            try old.create("Dog", .dictionary(["toy": .dictionary(["name": .string("t")])]))
        }
        try start(old, classes + [ClassSchema("Walk", "toy: Toy")])
        let new = try open(2)
        try new.write {
            let toy = try #require(try new.objects("Toy").first())
            try new.create("Walk", .list([.object(toy.reference)]))
        }
        try old.refresh()
        try old.write { try old.delete(dog) }
        #expect(try old.objects("Toy").count() == 1)
        try new.refresh()
        #expect(try new.objects("Walk").first()?.value("toy") != .null)
        for store in [old, new] { store.close() }
    }

    @Test func `a schema of a newer build is refused again until it can be read`() throws {
        let store = try open(1, [Self.dog()])
        let newer = try open()
        try newer.write {
            try newer.defineInWrite([ClassSchema("Toy", [Self.name])])
            try newer.requireWrite("").setMetadata("schema", [99])
        }
        for _ in 0..<2 {
            _ = storeError(.fileFormatTooNew) { try store.refresh() }
            _ = storeError(.fileFormatTooNew) { try store.write {} }
        }
        for store in [store, newer] { store.close() }
    }

    @Test func `a unique index over several properties needs the same columns`() throws {
        func classes(_ age: PropertyType, isUnique: Bool) -> [ClassSchema] {
            [
                ClassSchema(
                    "Dog", [Self.name, Property("age", age)],
                    indexes: [CompositeIndex(["name", "age"], isUnique: isUnique)])
            ]
        }
        let store = try open(1, classes(.int, isUnique: true))
        let refused = storeError(.invalidArgument) {
            try start(store, classes(.string, isUnique: true))
        }
        #expect(refused?.message.contains("a unique index of 'Dog' would change") == true)
        store.close()
    }

    @Test func `an index over several properties exists for the columns of each version`() throws {
        func classes(_ age: PropertyType) -> [ClassSchema] {
            [
                ClassSchema(
                    "Dog", [Self.name, Property("age", age)],
                    indexes: [CompositeIndex(["name", "age"])])
            ]
        }
        let old = try open(1, classes(.int))
        try old.write {
            for age in 1...20 {
                try old.create("Dog", .list([.string("d\(age % 2)"), .int(Int64(age))]))
            }
        }
        try start(old, classes(.string))
        let new = try open(2)
        try old.write { try old.create("Dog", .list([.string("d1"), .int(30)])) }
        try new.write { try new.create("Dog", .list([.string("d1"), .string("31")])) }
        try old.refresh()
        #expect(try old.objects("Dog").filtered("name = 'd1' and age > 10").count() == 7)
        #expect(try new.objects("Dog").filtered("name = 'd1' and age = '31'").count() == 1)
        #expect(try new.objects("Dog").filtered("name = 'd1' and age = '30'").count() == 1)
        #expect(try old.verify() == [])
        try old.completeMigration(isForced: true)
        #expect(try old.objects("Dog").filtered("name = 'd1' and age = '30'").count() == 1)
        #expect(try old.verify() == [])
        for store in [old, new] { store.close() }
    }

    @Test func `what replaces the schema at once is refused while a migration is started`() throws {
        let old = try open(1, [Self.dog()])
        try old.write { try old.create("Dog", .list([.string("Rex")])) }
        let same = storeError(.versionTooLow) {
            try start(old, to: 1, [Self.dog(Property("age", .int))])
        }
        #expect(same?.message.contains("a migration to version 1 cannot start") == true)
        try start(old, [Self.dog(Property("age", .int))])
        old.close()
        _ = storeError(.schemaInTransition) { _ = try open(7, [Self.dog()], deletes: true) }
        let kept = try open()
        #expect(try kept.objects("Dog").count() == 1)
        kept.close()
    }

    @Test func `an observer of complete can open the file`() throws {
        try open(1, [Self.dog()]).close()
        let store = try open()
        try start(store, [Self.dog(Property("age", .int))])
        var code: StoreError.Code?
        let token = try store.observe { kind, _ in
            guard kind == .didChange else { return }
            do { try open(1, [Self.dog()]).close() } catch { code = (error as? StoreError)?.code }
        }
        try store.completeMigration()
        #expect(code == .versionTooLow)
        token.invalidate()
        store.close()
    }

    @Test func `the reservation of a conversion ends with the store, or before`() throws {
        let (first, second) = (try open(1, [Self.dog()]), try open())
        try first.beginConversion()
        _ = storeError(.invalidArgument) { try second.beginConversion() }
        first.endConversion()
        try second.beginConversion()
        second.close()
        try first.beginConversion()
        first.close()
    }
}
