import ObjectStore
import Testing

@Suite struct KeyChangeTests {
    private let world = MigrationWorld()
    private let before = ClassSchema(
        "Item", [Property("id", .int, isPrimary: true), Property("tag", .string)])

    private func fill(_ tags: [String]) throws {
        try world.fill(
            [before],
            tags.enumerated().map { ("Item", [.int(Int64($0)), .string($1)]) })
    }

    @Test func `duplicates of a migration are reported, and can be removed`() throws {
        try fill(["a", "b", "c"])
        let error = storeError(.duplicateKey) {
            _ = try world.open([before], version: 1) { migration in
                try migration.each("Item") { _, new in try new.set("id", .int(7)) }
            }
        }
        #expect(error?.message.contains("'Item.id'") == true)
        #expect(error?.message.contains("7") == true)
        #expect(try Store.schemaVersion(atPath: world.path) == 0)
        let store = try world.open([before], version: 1) { migration in
            try migration.each("Item") { old, new in
                try new.set("id", .int(7))
                if try old.value("id") != .int(1) { try migration.delete(new) }
            }
        }
        #expect(try store.object("Item", primaryKey: .int(7))?.value("tag") == .string("b"))
        #expect(try store.object("Item", primaryKey: .int(1)) == nil)
    }

    @Test func `objects are found by the new key while the migration runs`() throws {
        try fill(["a", "b"])
        let after = ClassSchema(
            "Item",
            [Property("code", .string, isPrimary: true), Property("n", .int)])
        let store = try world.open([after], version: 1) { migration in
            try migration.renameProperty("Item", from: "tag", to: "code")
            try migration.create("Item", .list([.string("c"), .int(3)]))
            try migration.create("Item", .list([.string("a"), .int(1)]), mode: .all)
            _ = storeError(.duplicateKey) {
                try migration.create("Item", .list([.string("b"), .int(1)]))
            }
        }
        #expect(try store.objects("Item").count() == 3)
        #expect(try store.object("Item", primaryKey: .string("a"))?.value("n") == .int(1))
    }

    @Test func `the key moves to another property, and changes its type`() throws {
        try fill(["a", "b"])
        let moved = ClassSchema(
            "Item", [Property("tag", .string, isPrimary: true), Property("id", .int)])
        var store = try world.open([moved], version: 1)
        #expect(try store.object("Item", primaryKey: .string("b"))?.value("id") == .int(1))
        store.close()
        let retyped = ClassSchema(
            "Item", [Property("id", .string, isPrimary: true), Property("tag", .string)])
        store = try world.open([retyped], version: 2)
        #expect(try store.object("Item", primaryKey: .string("1"))?.value("tag") == .string("b"))
        store.close()
        store = try world.open([retyped], version: 3) { migration in
            try migration.each("Item") { old, new in
                guard case .string(let id) = try old.value("id") else { return }
                try new.set("id", .string("#\(id)"))
            }
        }
        #expect(try store.object("Item", primaryKey: .string("#1"))?.value("tag") == .string("b"))
        try store.write { try store.deleteAll() }
        store.close()
        let empty = ClassSchema(
            "Item", [Property("id", .uuid, isPrimary: true), Property("tag", .string)])
        store = try world.open([empty], version: 4)
        #expect(try store.schema.require("Item").primaryKey?.type == .uuid)
    }

    @Test func `only one object can have a nil key`() throws {
        try fill(["a", "b"])
        let optional = ClassSchema(
            "Item",
            [Property("key", .string, isOptional: true, isPrimary: true), Property("tag", .string)])
        let error = storeError(.duplicateKey) { _ = try world.open([optional], version: 1) }
        #expect(error?.message.contains("nil") == true)
        let store = try world.open([optional], version: 1) { migration in
            try migration.each("Item") { old, new in
                if try old.value("id") == .int(0) { try new.set("key", .string("zero")) }
            }
        }
        #expect(try store.object("Item", primaryKey: .null)?.value("tag") == .string("b"))
    }

    @Test func `a key cannot change outside of a migration`() throws {
        try fill(["a"])
        let store = try world.open(nil)
        try store.write {
            let first = try #require(try store.objects("Item").first())
            _ = storeError(.invalidArgument) { try first.set("id", .int(5)) }
        }
    }
}
