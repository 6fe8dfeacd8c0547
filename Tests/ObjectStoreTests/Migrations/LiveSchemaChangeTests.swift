import ColumnStorage
import ObjectStore
import Testing

/// The effects on open stores and their observers when another process changes the schema.
@Suite(.serialized) struct LiveSchemaChangeTests {
    private let folder = TemporaryFolder()
    private let scheduler = ManualScheduler()
    private let received = ReceivedCalls()
    private let dog = ClassSchema(
        "Dog", "id: int primary, name: string, age: int, owner: Person, marks: int[]")
    private let person = ClassSchema("Person", "name: string")

    /// The observing store, and the store that changes the schema.
    ///
    /// Without a history, the observing store has to compare versions.
    private func open(history: Int) throws -> (Store, Store) {
        let path = folder.file("\(history).moonpool")
        let store = try Store.file(path, [dog, person], history: history, on: scheduler)
        let other = try Store.file(path, [dog, person], history: history)
        try store.write {
            let ann = try store.create("Person", .list([.string("Ann")]))
            for id in 1...3 {
                try store.create(
                    "Dog",
                    .list([
                        .int(Int64(id)), .string("d\(id)"), .int(Int64(id)), .object(ann.reference),
                        .list([.int(1)]),
                    ]))
            }
        }
        try other.refresh()
        return (store, other)
    }

    private func dog(without removed: String, adding added: [Property] = []) -> ClassSchema {
        ClassSchema("Dog", dog.properties.filter { $0.name != removed } + added)
    }

    /// Removes the history, so that versions are compared.
    private func forgetHistory(_ other: Store, _ history: Int) throws {
        guard history == 0 else { return }
        for _ in 0..<40 { try other.write {} }
    }

    @Test(arguments: [100, 0])
    func `observers receive the rows that a migration has changed`(history: Int) throws {
        let (store, other) = try open(history: history)
        let token = try store.observe(
            try store.objects("Dog").filtered("id > 1").query, received.receive)
        scheduler.settle()
        #expect(received.news() == ["initial"])
        try other.redefine([dog(without: "age", adding: [Property("size", .double)])]) {
            try $0.each("Dog") { old, new in
                if try old.value("id") == .int(3) { try new.set("size", .double(2.5)) }
            }
        }
        try forgetHistory(other, history)
        scheduler.settle()
        #expect(received.news() == ["mod[1]"])
        let third = try #require(try store.object("Dog", primaryKey: .int(3)))
        #expect(try third.value("size") == .double(2.5))
        // The change had no number, and the schema version is the same as before.
        let error = storeError(.unknownProperty) { _ = try third.value("age") }
        #expect(error?.message.contains("no property 'age' since the schema was changed") == true)
        token.invalidate()
    }

    @Test(arguments: [100, 0])
    func `an object's observer receives the old value of a property with a new type`(
        history: Int
    ) throws {
        let (store, other) = try open(history: history)
        let second = try #require(try store.object("Dog", primaryKey: .int(2)))
        let token = try store.observe(second.reference, received.receive)
        scheduler.settle()
        try other.redefine([dog(without: "age", adding: [Property("age", .string)])]) {
            try $0.each("Dog") { old, new in
                try new.set("age", .string("about \(try old.value("age").summary)"))
            }
        }
        try forgetHistory(other, history)
        scheduler.settle()
        #expect(received.news() == ["age 2>\"about 2\""])
        #expect(try second.value("age") == .string("about 2"))
        token.invalidate()
    }

    @Test func `observers receive each of several migrations that a store receives at once`() throws
    {
        let (store, other) = try open(history: 100)
        let first = try #require(try store.object("Dog", primaryKey: .int(1)))
        var told: [String] = []
        let token = try store.observe { notification, store in
            guard notification == .schema, let event = store.lastSchemaEvent else { return }
            told.append("\(event.number ?? 0) \(event.name ?? "-") \(event.version)")
        }
        for (number, name, removed) in [
            (2, "ages", "age"), (3, "names", "name"), (4, "lists", "marks"),
        ] {
            let transaction = try other.beginMigration()
            let change = try transaction.change(
                to: other.schema.classes.map { known in
                    ClassSchema(
                        known.name,
                        known.unplaced.properties.filter {
                            $0.name != removed || known.name != "Dog"
                        })
                }, version: UInt64(number), dropping: ["Dog.\(removed)"])
            try change.apply()
            var log = transaction.log
            var entry = MigrationLog.Entry(
                number: number, name: name, checksum: "a", appliedAt: Timestamp(microseconds: 1))
            entry.version = other.version + 1
            log.replaceEntries(log.entries + [entry])
            try change.commit(recording: log)
        }
        scheduler.settle()
        #expect(told == ["2 ages 2", "3 names 3", "4 lists 4"])
        #expect(store.lastSchemaEvent?.number == 4)
        for (name, origin) in [("age", "2 (ages)"), ("name", "3 (names)"), ("marks", "4 (lists)")] {
            let error = storeError(.unknownProperty) { _ = try first.value(name) }
            #expect(error?.message.contains("'\(name)' since migration \(origin);") == true)
        }
        token.invalidate()
        for store in [store, other] { store.close() }
    }

    @Test func `observers receive the change of the schema with its migration`() throws {
        let (store, other) = try open(history: 100)
        let first = try #require(try store.object("Dog", primaryKey: .int(1)))
        var told: [String] = []
        let token = try store.observe { notification, store in
            let event = store.lastSchemaEvent
            told.append(
                "\(notification.rawValue) \(event?.number ?? 0) \(event?.name ?? "-") \(event?.version ?? 0)"
            )
        }
        var delivered: [SchemaEvent?] = []
        let rows = try store.observe(try store.objects("Dog").query) { _ in
            delivered.append(store.notifications.deliveredSchema)
        }
        scheduler.settle()
        // A numbered migration of another store
        let transaction = try other.beginMigration()
        let change = try transaction.change(
            to: [ClassSchema("Dog", "id: int primary, size: double")], version: 2,
            dropping: ["Dog.age", "Dog.name", "Dog.marks", "Dog.owner", "Person"])
        try change.apply { migration in
            try migration.each("Dog") { _, new in try new.set("size", .double(1)) }
        }
        var log = transaction.log
        var entry = MigrationLog.Entry(
            number: 2, name: "sizes", checksum: "a", appliedAt: Timestamp(microseconds: 1))
        entry.version = other.version + 1
        log.replaceEntries(log.entries + [entry])
        try change.commit(recording: log)
        scheduler.settle()
        #expect(told == ["schema 2 sizes 2", "did_change 2 sizes 2"])
        #expect(delivered == [nil, store.lastSchemaEvent])
        let property = storeError(.unknownProperty) { _ = try first.value("age") }
        #expect(property?.message.contains("'age' since migration 2 (sizes); it has") == true)
        let missing = storeError(.unknownClass) { _ = try store.objects("Person") }
        #expect(missing?.message.contains("'Person' since migration 2 (sizes)") == true)
        // A commit without a change of the schema
        let last = try #require(try other.object("Dog", primaryKey: .int(1)))
        try other.write { try other.delete(last) }
        scheduler.settle()
        #expect(told.last == "did_change 2 sizes 2" && told.count == 3)
        #expect(delivered.count == 3 && delivered[2] == nil)
        // The store's own change, without a migration
        told = []
        try store.define([ClassSchema("Cat", "name: string")])
        #expect(told == ["schema 0 - 2", "did_change 0 - 2"])
        token.invalidate()
        rows.invalidate()
    }

    @Test func `a query on a removed property is an error, and its observer ends`() throws {
        let (store, other) = try open(history: 100)
        let results = try store.objects("Dog").filtered("age > 1")
        #expect(try results.count() == 2)
        let query = try store.observe(results.query, received.receive)
        let path = try store.observe(
            try store.objects("Dog").query, keyPaths: ["age"], received.receive)
        let whole = try store.observe(try store.objects("Dog").query, received.receive)
        scheduler.settle()
        _ = received.news()
        try other.redefine([dog(without: "age")])
        scheduler.settle()
        #expect(received.news() == ["error schema_changed", "error schema_changed"])
        #expect(!query.isValid && !path.isValid && whole.isValid)
        let error = storeError(.unknownProperty) { _ = try results.count() }
        #expect(error?.message.contains("'Dog.age'") == true)
        #expect(try store.objects("Dog").count() == 3)
        whole.invalidate()
    }

    @Test(arguments: [100, 0])
    func `observers of a removed class receive an error as their last call`(history: Int) throws {
        let (store, other) = try open(history: history)
        let first = try #require(try store.object("Dog", primaryKey: .int(1)))
        let list = try first.list("marks")
        let dogs = try store.objects("Dog")
        let rows = try store.observe(dogs.query, received.receive)
        let object = try store.observe(first.reference, received.receive)
        scheduler.settle()
        _ = received.news()
        try other.redefine([]) { _ = try $0.deleteClass("Dog") }
        try forgetHistory(other, history)
        scheduler.settle()
        #expect(received.news() == ["error schema_changed", "error schema_changed"])
        #expect(!rows.isValid && !object.isValid)
        #expect(!first.isValid && !dogs.isValid && !list.isValid)
        _ = storeError(.unknownClass) { _ = try dogs.count() }
        _ = storeError(.unknownProperty, or: .invalidObject) { _ = try first.value("name") }
        _ = storeError(.unknownClass) { _ = try store.write { try store.create("Dog") } }
        #expect(try store.objects("Person").count() == 1)
    }

    @Test func `older handles read and write with the current schema`() throws {
        let (store, other) = try open(history: 100)
        let first = try #require(try store.object("Dog", primaryKey: .int(1)))
        let marks = try first.list("marks")
        let stale = first.classSchema
        try other.redefine([
            dog(
                without: "marks",
                adding: [Property("marks", .string, collection: .list), Property("tail", .bool)])
        ]) { try $0.each("Dog") { _, new in try new.set("tail", .bool(true)) } }
        #expect(try first.value("marks") == .list([.int(1)]))
        try store.refresh()
        #expect(try first.value("marks") == .list([.string("1")]))
        #expect(try first.value("tail") == .bool(true))
        try store.write {
            try first.set("tail", .bool(false))
            _ = storeError(.unknownProperty) { try marks.append([.int(2)]) }
            _ = storeError(.unknownProperty) { _ = try marks.values() }
            _ = storeError(.unknownClass) { _ = try store.create(stale, positional: []) }
        }
        #expect(try first.value("tail") == .bool(false))
    }

    @Test func `a write adopts a schema that changed while it waited`() throws {
        let (store, other) = try open(history: 100)
        try other.redefine([dog(without: "age", adding: [Property("size", .int)])])
        let first = try #require(try store.object("Dog", primaryKey: .int(1)))
        try store.beginWrite()
        try first.set("size", .int(4))
        try store.cancelWrite()
        #expect(try first.value("size") == .int(0))
        try store.write { try first.set("size", .int(5)) }
        #expect(try first.value("size") == .int(5))
        _ = storeError(.unknownProperty) { _ = try first.value("age") }
    }

    @Test func `observers receive a migration once, after its end`() throws {
        let (store, other) = try open(history: 100)
        let token = try store.observe(try store.objects("Dog").query, received.receive)
        scheduler.settle()
        _ = received.news()
        try other.redefine([dog(without: "age")]) {
            try $0.each("Dog") { old, new in
                try new.set("name", .string("new"))
                if try old.value("id") == .int(1) { try other.delete(new) }
            }
            scheduler.settle()
            #expect(received.news() == [])
        }
        scheduler.settle()
        #expect(received.news() == ["del[0] mod[1, 2] new[0, 1]"])
        token.invalidate()
    }

    /// Returns the error that a body throws, with either of two codes.
    private func storeError(
        _ code: StoreError.Code, or second: StoreError.Code? = nil, _ body: () throws -> Void
    ) -> StoreError? {
        let error = #expect(throws: StoreError.self) { try body() }
        #expect(error?.code == code || error?.code == second, "\(error?.message ?? "no error")")
        return error
    }
}
