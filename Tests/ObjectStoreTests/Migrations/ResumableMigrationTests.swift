import ObjectStore
import Testing

/// Migrations that commit in batches continue from the last batch.
@Suite struct ResumableMigrationTests {
    let world = MigrationWorld()

    struct Killed: Error {}

    static let before = ClassSchema(
        "Person",
        [Property("id", .int, isPrimary: true), Property("age", .string), Property("old", .int)])
    static let after = ClassSchema(
        "Member",
        [
            Property("id", .int, isPrimary: true), Property("age", .int),
            Property("name", .string, isIndexed: true),
            Property("friends", .int, collection: .list),
        ])

    func fill(_ count: Int) throws {
        try world.fill(
            [Self.before],
            (1...count).map { ("Person", [.int(Int64($0)), .string("\($0)"), .int(7)]) })
    }

    /// Migrates, fails after this number of objects, and returns the ids of the processed objects.
    @discardableResult  // because some callers only count the objects in the file afterward
    func migrate(key: String = "one", batch: Int = 10, failingAfter limit: Int = .max) throws
        -> [Int64]
    {
        let store = try world.open(nil)
        defer { store.close() }
        var seen: [Int64] = []
        do {
            let transaction = try store.beginMigration()
            defer { transaction.end() }
            let change = try transaction.change(
                to: [Self.after], version: 2, dropping: ["Person.old"], resumingAs: key)
            try change.apply { migration in
                try migration.renameClass("Person", to: "Member")
                try migration.each("Member", resumableEvery: batch) { old, new in
                    guard case .int(let id) = try old.value("id"),
                        case .string(let age) = try old.value("age")
                    else { throw Killed() }
                    if seen.count == limit { throw Killed() }
                    seen.append(id)
                    try new.set("age", .int(Int64(age) ?? -1))
                    try new.set("name", .string("n\(id)"))
                    try new.set("friends", .list([.int(id), .int(1)]))
                }
            }
            var log = transaction.log
            log.replaceEntries(
                log.entries + [.init(number: 2, name: "x", checksum: key, appliedAt: .now)])
            try change.commit(recording: log)
        } catch is Killed {}
        return seen
    }

    func expectDone(_ count: Int) throws {
        let store = try world.open(nil)
        defer { store.close() }
        #expect(store.schema.version == 2)
        #expect(store.schema.classes.map(\.name) == ["Member"])
        #expect(
            store.schema.classes[0].properties.map(\.name) == ["id", "age", "name", "friends"])
        let members = try store.objects("Member")
        #expect(try members.count() == count)
        for index in 0..<(try members.count()) {
            let member = try members.object(at: index)
            guard case .int(let id) = try member.value("id") else { throw Killed() }
            #expect(try member.value("age") == .int(id < 1000 ? id : 5))
            #expect(try member.value("name") == .string("n\(id)"))
            #expect(
                try store.view.value(
                    store.schema.classes[0].requireProperty("friends"), of: member.reference.key,
                    in: store.schema.classes[0]) == .list([.int(id), .int(1)]))
        }
        #expect(try members.filtered("name == 'n3'").count() == 1)
        #expect(try store.interruptedMigration() == nil)
        #expect(try store.verify().isEmpty)
    }

    @Test func `an interrupted run continues after its last batch`() throws {
        try fill(950)
        #expect(try migrate(batch: 100, failingAfter: 730).count == 730)
        do {
            let store = try world.open(nil)
            defer { store.close() }
            let state = try #require(try store.interruptedMigration())
            #expect(state.key == "one")
            #expect(state.done == 700)
            #expect(state.total == 950)
            #expect(store.schema.version == 0)
            #expect(try store.verify().isEmpty)
            // All processes read the old values until the end.
            #expect(try store.objects("Person").filtered("age == '17' and old == 7").count() == 1)
        }
        #expect(try migrate(batch: 100, failingAfter: 200).first == 701)
        #expect(try migrate(batch: 100).first == 901)
        try expectDone(950)
    }

    @Test func `objects that other processes change or create in the meantime are migrated too`()
        throws
    {
        try fill(60)
        try migrate(failingAfter: 35)
        do {
            let store = try world.open(nil)
            defer { store.close() }
            try store.write {
                try store.object("Person", primaryKey: .int(3))?.set("age", .string("3"))
                try store.create("Person", .list([.int(1000), .string("5"), .int(7)]))
                if let gone = try store.object("Person", primaryKey: .int(50)) {
                    try store.delete(gone)
                }
            }
        }
        let seen = try migrate()
        #expect(seen.contains(3) && seen.contains(1000) && !seen.contains(50))
        #expect(!seen.contains(4))
        try expectDone(60)
    }

    @Test func `an interrupted migration must finish before any other change of the schema`() throws
    {
        try fill(60)
        try migrate(failingAfter: 35)
        func refusal(_ change: () throws -> Void) -> StoreError? {
            do { try change() } catch { return error as? StoreError }
            return nil
        }
        do {
            let store = try world.open(nil)
            defer { store.close() }
            let extra = ClassSchema("Extra", [Property("x", .int)])
            let others: [() throws -> Void] = [
                { try store.define([extra]) }, { try store.redefine([extra]) },
                { try store.write { try store.defineInWrite([extra]) } },
                { _ = try migrate(key: "two") },
            ]
            for other in others {
                let error = try #require(refusal(other))
                #expect(error.code == .migrationNeeded)
                #expect(error.message.contains("interrupted after 30 of 60 objects"), "\(error)")
            }
        }
        #expect(try migrate().count == 30)
        try expectDone(60)
    }

    @Test func `a loop must precede other changes to objects, and is not allowed in define`() throws
    {
        try fill(3)
        let store = try world.open(nil)
        defer { store.close() }
        func refusal(
            _ classes: [ClassSchema], _ key: String?, _ body: @escaping (Migration) throws -> Void
        )
            -> String
        {
            do {
                let transaction = try store.beginMigration()
                defer { transaction.end() }
                let change = try transaction.change(to: classes, version: 2, resumingAs: key)
                try change.apply(running: body)
                try change.commit(recording: transaction.log)
                return ""
            } catch {
                return (error as? StoreError)?.message ?? "\(error)"
            }
        }
        let late = refusal([Self.before], "one") { migration in
            try migration.create("Person", .list([.int(9), .string(""), .int(1)]))
            try migration.each("Person", resumableEvery: 1) { _, _ in }
        }
        #expect(late.contains("must precede other changes to objects"))
        let keyless = refusal([Self.before], nil) {
            try $0.each("Person", resumableEvery: 1) { _, _ in }
        }
        #expect(keyless.contains("with its own version"))
        let empty = refusal([Self.before], "one") {
            try $0.each("Person", resumableEvery: 0) { _, _ in }
        }
        #expect(empty.contains("expected a batch of at least one object, got 0"))
        let other = ClassSchema("Person", [Property("age", .string, isPrimary: true)])
        let keyed = refusal([other], "one") {
            try $0.each("Person", resumableEvery: 1) { _, _ in }
        }
        #expect(keyed.contains("the primary key of 'Person' changes"))
        #expect(store.schema.version == 0)
        #expect(try store.objects("Person").count() == 3)
    }
}
