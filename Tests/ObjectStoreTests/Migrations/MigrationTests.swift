import ObjectStore
import Testing

@Suite struct MigrationTests {
    private let world = MigrationWorld()

    @Test func `the function is not called for a new file or the same version`()
        throws
    {
        var calls = 0
        try world.open([personBefore], version: 5) { _ in calls += 1 }.close()
        try world.open([personBefore], version: 5) { _ in calls += 1 }.close()
        #expect(calls == 0)
    }

    @Test func `a higher version calls the function even if the schema is the same`() throws {
        try world.fill([personBefore], people, version: 2)
        var versions: [UInt64] = []
        let store = try world.open([personBefore], version: 4) { migration in
            versions += [migration.oldVersion, migration.newVersion]
        }
        #expect(versions == [2, 4])
        #expect(store.schema.version == 4)
        #expect(try store.objects("Person").count() == 3)
    }

    @Test func `each gives the old object for reading and the new one for writing`() throws {
        try world.fill([personBefore], people)
        let store = try world.open([personAfter], version: 1) { migration in
            try migration.each("Person") { old, new in
                guard case .string(let first) = try old.value("first"),
                    case .string(let last) = try old.value("last")
                else { return }
                try new.set("name", .string("\(first) \(last)"))
            }
        }
        #expect(
            try MigrationWorld.values(store, "Person", "name") == [
                .string("Ann Lee"), .string("Bob Ray"), .string("Cid Poe"),
            ])
        #expect(try MigrationWorld.values(store, "Person", "id") == [.int(1), .int(2), .int(3)])
    }

    @Test func `the old store cannot be changed, and the new one is in a write already`()
        throws
    {
        try world.fill([personBefore], people)
        var kept: Migration?
        let store = try world.open([personAfter], version: 1) { migration in
            kept = migration
            #expect(migration.store.isInWrite)
            #expect(migration.old.isFrozen)
            _ = storeError(.alreadyInWrite) { try migration.store.beginWrite() }
            _ = storeError(.alreadyInWrite) { try migration.store.commitWrite() }
            _ = storeError(.alreadyInWrite) { try migration.store.cancelWrite() }
            _ = storeError(.alreadyInWrite) { try migration.store.define([personBefore]) }
            try migration.each("Person") { old, new in
                _ = storeError(.frozen) { try old.set("first", .string("x")) }
                _ = storeError(.unknownProperty) { _ = try new.value("first") }
                _ = storeError(.unknownProperty) { _ = try old.value("name") }
                _ = storeError(.unknownProperty) { try new.set("frist", .string("x")) }
                _ = storeError(.frozen) { try migration.delete(old) }
            }
            _ = storeError(.unknownClass) { try migration.each("Persn") { _, _ in } }
        }
        #expect(try store.objects("Person").count() == 3)
        // A migration cannot be used outside of its function.
        _ = storeError(.invalidArgument) {
            try kept?.renameProperty("Person", from: "first", to: "name")
        }
        _ = storeError(.invalidArgument) { try kept?.each("Person") { _, _ in } }
    }

    @Test func `each skips deleted and created objects`() throws {
        try world.fill([personBefore], people)
        let store = try world.open([personAfter], version: 1) { migration in
            let second = try #require(
                try migration.store.object("Person", primaryKey: .int(2)))
            try migration.delete(second)
            try migration.create("Person", .list([.int(9), .string("new")]))
            var seen: [Value] = []
            try migration.each("Person") { old, _ in seen.append(try old.value("id")) }
            #expect(seen == [.int(1), .int(3)])
            #expect(try migration.deleteClass("Person"))
            try migration.each("Person") { _, _ in Issue.record("all objects are gone") }
        }
        #expect(try store.objects("Person").count() == 0)
    }

    @Test func `objects can be created and deleted in the loop`() throws {
        try world.fill([personBefore], people)
        let store = try world.open([personAfter], version: 1) { migration in
            try migration.each("Person") { old, new in
                if try old.value("id") == .int(2) { return try migration.delete(new) }
                guard case .int(let id) = try old.value("id") else { return }
                try migration.create("Person", .list([.int(id + 10), .string("twin")]))
            }
        }
        #expect(
            try MigrationWorld.values(store, "Person", "id") == [
                .int(1), .int(3), .int(11), .int(13),
            ])
    }

    @Test func `deleting a class empties it, or removes it if the schema does not contain it`()
        throws
    {
        let toy = ClassSchema("Toy", [Property("label", .string, isIndexed: true)])
        let box = ClassSchema("Box", [Property("n", .int)])
        try world.fill(
            [toy, box],
            [("Toy", [.string("ball")]), ("Toy", [.string("cat")]), ("Box", [.int(1)])])
        let store = try world.open([box], version: 1) { migration in
            #expect(try migration.deleteClass("Toy"))
            #expect(try migration.deleteClass("Toy") == false)
            #expect(try migration.deleteClass("Unknown") == false)
            #expect(try migration.old.isPresent(reference(migration.old, "Toy", 0)))
            _ = storeError(.unknownClass) { try migration.create("Toy", .list([.string("x")])) }
            #expect(try migration.deleteClass("Box"))
            try migration.create("Box", .list([.int(7)]))
        }
        #expect(store.schema.classes.map(\.name) == ["Box"])
        #expect(try MigrationWorld.values(store, "Box", "n") == [.int(7)])
        store.close()
        // The name is free again, and no data of the old class remains.
        let again = try world.open([box, toy], version: 1)
        #expect(try again.objects("Toy").count() == 0)
        #expect(try again.objects("Toy").filtered("label == 'ball'").count() == 0)
    }

    private func reference(_ view: StoreView, _ name: String, _ key: Int64) throws
        -> ObjectReference
    {
        ObjectReference(table: try view.schema.require(name).table, key: .init(rawValue: key))
    }

    @Test func `a class outside the schema keeps its objects until a schema contains it`() throws {
        let toy = ClassSchema("Toy", [Property("label", .string)])
        try world.fill([toy, personBefore], people + [("Toy", [.string("ball")])])
        try world.open([personBefore], version: 1).close()
        let store = try world.open([toy], version: 2)
        #expect(try MigrationWorld.values(store, "Toy", "label") == [.string("ball")])
    }

    @Test(arguments: [StoreConfiguration.Durability.full, .memory])
    func `an error rolls everything back, and the migration can be tried again`(
        durability: StoreConfiguration.Durability
    ) throws {
        var world = world
        world.durability = durability
        try world.fill([personBefore], people, version: 1)
        let before = try bytes(world.path)
        #expect(throws: TestFailure()) {
            _ = try world.open([personAfter], version: 2) { migration in
                try migration.each("Person") { _, new in try new.set("name", .string("x")) }
                try migration.create("Person", .list([.int(7), .string("y")]))
                throw TestFailure()
            }
        }
        // A writer that does not wait for commits overwrites free pages before the outcome of these commits is known.
        if durability == .full { #expect(try bytes(world.path) == before) }
        #expect(try Store.schemaVersion(atPath: world.path) == 1)
        let old = try world.open([personBefore], version: 1)
        #expect(
            try MigrationWorld.values(old, "Person", "first") == [
                .string("Ann"), .string("Bob"), .string("Cid"),
            ])
        old.close()
        let new = try world.open([personAfter], version: 2) { migration in
            try migration.renameProperty("Person", from: "first", to: "name")
        }
        #expect(try MigrationWorld.values(new, "Person", "name").first == .string("Ann"))
    }

    @Test func `a failed migration closes its stores`() throws {
        try world.fill([personBefore], people)
        var store: Store?
        var object: LiveObject?
        #expect(throws: TestFailure()) {
            _ = try world.open([personAfter], version: 1) { migration in
                store = migration.store
                object = try migration.objects("Person").first()
                throw TestFailure()
            }
        }
        #expect(store?.isClosed == true)
        _ = storeError(.closed) { _ = try object?.value("id") }
        #expect(object?.isValid == false)
    }

    @Test func `a migration that closes its store leaves the file unchanged`() throws {
        try world.fill([personBefore], people)
        _ = storeError(.closed) {
            _ = try world.open([personAfter], version: 1) { $0.store.close() }
        }
        #expect(try Store.schemaVersion(atPath: world.path) == 0)
        #expect(try world.open([personBefore]).objects("Person").count() == 3)
    }

    @Test
    func `an option empties a file instead of migrating it, unless only classes or indexes change`()
        throws
    {
        try world.fill([personBefore], people, version: 1)
        let toy = ClassSchema("Toy", [Property("label", .string)])
        let indexed = ClassSchema(
            "Person",
            [
                Property("id", .int, isPrimary: true), Property("first", .string, isIndexed: true),
                Property("last", .string),
            ])
        var store = try world.open([indexed, toy], version: 1, deletes: true)
        #expect(try store.objects("Person").count() == 3)
        store.close()
        store = try world.open([personBefore], version: 1, deletes: true)
        #expect(try store.objects("Person").count() == 3)
        store.close()
        store = try world.open([personAfter], version: 1, deletes: true) { _ in
            Issue.record("there is nothing to migrate")
        }
        #expect(try store.objects("Person").count() == 0)
        #expect(store.schema.classes.map(\.name) == ["Person"])
        try store.write { try store.create("Person", .list([.int(1), .string("Ann")])) }
        store.close()
        store = try world.open([personAfter], version: 3, deletes: true)
        #expect(try store.objects("Person").count() == 0)
        #expect(store.schema.version == 3)
        store.close()
        store = try world.open([personAfter], version: 2, deletes: true)
        #expect(store.schema.version == 2)
    }

    @Test func `a file that this process has open cannot be migrated`() throws {
        try world.fill([personBefore], people)
        let open = try world.open([personBefore])
        let error = storeError(.invalidArgument) {
            _ = try world.open([personAfter], version: 1)
        }
        #expect(error?.message.contains("close it first") == true)
        open.close()
        #expect(try world.open([personAfter], version: 1).schema.version == 1)
    }
}
