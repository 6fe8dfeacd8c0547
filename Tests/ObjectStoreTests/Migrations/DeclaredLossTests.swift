import ObjectStore
import Testing

/// The values that a schema change keeps, converts or refuses to drop.
@Suite struct DeclaredLossTests {
    let world = MigrationWorld()

    private func person(_ properties: Property...) -> ClassSchema {
        ClassSchema("P", [Property("id", .int, isPrimary: true)] + properties)
    }

    private func fill(_ property: Property, _ values: Value...) throws {
        try world.fill(
            [person(property)],
            values.enumerated().map { ("P", [.int(Int64($0.offset)), $0.element]) })
    }

    private func values(_ name: String, _ store: Store) throws -> [Value] {
        try MigrationWorld.values(store, "P", name)
    }

    @Test func `a property with values disappears only if it is declared`() throws {
        try fill(Property("phone", .string), "1", "2")
        let error = storeError(.migrationNeeded) {
            _ = try world.open([person()], version: 1, drops: [])
        }
        #expect(
            error?.message.contains("'P.phone' would be removed, and 2 objects have a value for it")
                == true)
        #expect(error?.message(for: .script).contains("drops = { \"P.phone\" }") == true)
        #expect(try values("phone", world.open(nil)) == ["1", "2"])
        let store = try world.open([person()], version: 1, drops: ["P.phone"])
        #expect(store.schema.find("P")?.properties.count == 1)
    }

    @Test func `a migration declares a loss by deleting the property`() throws {
        try fill(Property("phone", .string), "1")
        let store = try world.open([person()], version: 1, drops: []) { migration in
            let (known, unknown) = (
                try migration.deleteProperty("P", "phone"), try migration.deleteProperty("P", "fax")
            )
            #expect(known && !unknown)
        }
        #expect(store.schema.find("P")?.property(named: "phone") == nil)
        store.close()
        _ = storeError(.invalidSchema) {
            _ = try world.open([person()], version: 2, drops: []) {
                _ = try $0.deleteProperty("P", "id")
            }
        }
    }

    @Test func `a property without values disappears when a store is opened`() throws {
        try fill(Property("phone", .string, isOptional: true), .null)
        let store = try world.open([person()], version: 1, drops: [])
        #expect(store.schema.find("P")?.properties.count == 1)
    }

    @Test func `a property that becomes required keeps its values`() throws {
        try fill(Property("n", .int, isOptional: true), .int(42), .int(0))
        let store = try world.open([person(Property("n", .int))], version: 1, drops: [])
        #expect(try values("n", store) == [.int(42), .int(0)])
    }

    @Test func `a property that becomes required needs a value in every object`() throws {
        try fill(Property("n", .int, isOptional: true), .int(42), .null)
        let error = storeError(.missingValue) {
            _ = try world.open([person(Property("n", .int))], version: 1, drops: [])
        }
        #expect(error?.message.contains("1 object has no value (id = 1)") == true)
        let store = try world.open(
            [person(Property("n", .int, defaultValue: .int(7)))], version: 1, drops: [])
        #expect(try values("n", store) == [.int(42), .int(7)])
    }

    @Test func `elements that become required are kept if none is nil`() throws {
        let optional = Property("l", .int, isOptional: true, collection: .list)
        let required = Property("l", .int, collection: .list)
        try fill(optional, .list([.int(1), .int(2)]), .list([]))
        var store = try world.open([person(required)], version: 1, drops: [])
        #expect(try values("l", store) == [.list([.int(1), .int(2)]), .list([])])
        store.close()
        store = try world.open([person(optional)], version: 2, drops: [])
        #expect(try values("l", store) == [.list([.int(1), .int(2)]), .list([])])
        try store.write { try store.objects("P").first()?.list("l").append([.null]) }
        store.close()
        _ = storeError(.typeMismatch) {
            _ = try world.open([person(required)], version: 3, drops: [])
        }
    }

    @Test func `a new required property has its default in existing objects`() throws {
        try fill(Property("n", .int), .int(1), .int(2))
        let state = Property("state", .string, defaultValue: "new")
        let store = try world.open([person(Property("n", .int), state)], version: 1, drops: [])
        #expect(try values("state", store) == ["new", "new"])
        try store.define([
            person(Property("n", .int), state, Property("k", .int, defaultValue: .int(3)))
        ])
        #expect(try values("k", store) == [.int(3), .int(3)])
    }

    /// Each exact conversion, with its result.
    static let exact: [(Property, Value, Property, Value)] = [
        (Property("v", .string), "12", Property("v", .int), .int(12)),
        (Property("v", .string), "-0.5", Property("v", .double), .double(-0.5)),
        (Property("v", .string), "true", Property("v", .bool), .bool(true)),
        (Property("v", .string), "4.50", Property("v", .decimal), .decimal(DecimalValue("4.50")!)),
        (
            Property("v", .string), "2020-02-03T00:00:00Z", Property("v", .date),
            .date(Timestamp("2020-02-03T00:00:00Z")!)
        ),
        (Property("v", .int), .int(12), Property("v", .string), "12"),
        (Property("v", .int), .int(12), Property("v", .double), .double(12)),
        (Property("v", .int), .int(12), Property("v", .mixed), .int(12)),
        (Property("v", .double), .double(3), Property("v", .int), .int(3)),
        (Property("v", .double), .double(0.5), Property("v", .float), .float(0.5)),
        (Property("v", .double), .double(0.1), Property("v", .string), "0.1"),
        (Property("v", .bool), .bool(true), Property("v", .int), .int(1)),
        (Property("v", .mixed), "text", Property("v", .string), "text"),
        (Property("v", .int), .int(5), Property("v", .int, collection: .list), .list([.int(5)])),
        (
            Property("v", .string, collection: .list), .list(["a"]), Property("v", .string), "a"
        ),
    ]

    @Test(arguments: exact.indices)
    func `an exact conversion needs no code`(_ index: Int) throws {
        let (before, value, after, expected) = Self.exact[index]
        try fill(before, value)
        let store = try world.open([person(after)], version: 1, drops: [])
        #expect(try values("v", store) == [expected])
    }

    /// Conversions that would lose something.
    static let inexact: [(Property, Value, Property)] = [
        (Property("v", .string), "007", Property("v", .int)),
        (Property("v", .string), "12.5", Property("v", .int)),
        (Property("v", .string), "1e3", Property("v", .double)),
        (Property("v", .string), "yes", Property("v", .bool)),
        (Property("v", .int), .int(1 << 53 + 1), Property("v", .double)),
        (Property("v", .double), .double(2.5), Property("v", .int)),
        (Property("v", .double), .double(0.1), Property("v", .float)),
        (Property("v", .int), .int(2), Property("v", .bool)),
        (Property("v", .data), .data([0xFF]), Property("v", .string)),
        (Property("v", .mixed), "text", Property("v", .int)),
        (Property("v", .int, collection: .list), .list([.int(1), .int(2)]), Property("v", .int)),
        (
            Property("v", .int, collection: .list), .list([.int(1), .int(1)]),
            Property("v", .int, collection: .set)
        ),
    ]

    @Test(arguments: inexact.indices)
    func `a conversion that loses data needs code or a declaration`(_ index: Int) throws {
        let (before, value, after) = Self.inexact[index]
        try fill(before, value)
        let error = storeError(.typeMismatch) {
            _ = try world.open([person(after)], version: 1, drops: [])
        }
        #expect(error?.message.contains("1 value does not convert exactly") == true)
        #expect(try values("v", world.open(nil)) == [value])
        let store = try world.open([person(after)], version: 1, drops: ["P.v"])
        #expect(store.schema.find("P")?.property(named: "v")?.type == after.type)
    }

    @Test func `code can provide values that do not convert, including zero`() throws {
        try fill(Property("v", .string), "12", "many", "none")
        let after = [person(Property("v", .int))]
        let error = storeError(.typeMismatch) {
            _ = try world.open(after, version: 1, drops: []) { migration in
                try migration.each("P") { old, new in
                    if try old.value("v") == "none" { try new.set("v", .int(0)) }
                }
            }
        }
        #expect(error?.message.contains("such as \"many\" (id = 1)") == true)
        let store = try world.open(after, version: 1, drops: []) { migration in
            try migration.each("P") { old, new in
                if try old.value("v") == "none" { try new.set("v", .int(0)) }
                if try old.value("v") == "many" { try migration.delete(new) }
            }
        }
        #expect(try values("v", store) == [.int(12), .int(0)])
    }

    @Test func `a numbered migration refuses data loss on an empty store too`() throws {
        try world.fill([person(Property("phone", .string)), ClassSchema("Toy", [])], [])
        let store = try world.open(nil)
        func migrate(_ dropping: Set<String>) throws {
            let transaction = try store.beginMigration()
            defer { transaction.end() }
            let change = try transaction.change(to: [person()], version: 1, dropping: dropping)
            try change.apply()
            try change.commit(recording: transaction.log)
        }
        _ = storeError(.invalidSchema) { try migrate([]) }
        _ = storeError(.invalidSchema) { try migrate(["P.phone"]) }
        try migrate(["P.phone", "Toy"])
        #expect(store.schema.classes.map(\.name) == ["P"])
    }

    @Test func `a program does not migrate a store that has a record of migrations`() throws {
        let store = try world.open(nil)
        let transaction = try store.beginMigration()
        var log = transaction.log
        log.replaceEntries(
            log.entries + [.init(number: 1, name: "first", checksum: "a", appliedAt: .now)])
        let change = try transaction.change(to: [person(Property("n", .int))], version: 1)
        try change.apply()
        try change.commit(recording: log)
        store.close()
        let error = storeError(.migrationNeeded) {
            _ = try world.open([person(Property("m", .int))], version: 2)
        }
        #expect(error?.message.contains("moonpool migrate up") == true)
        let reset = try world.open([person(Property("m", .int))], version: 2, deletes: true)
        #expect(try reset.migrationLog().entries.isEmpty)
    }
}

extension Value: ExpressibleByStringLiteral {
    /// A text.
    public init(stringLiteral text: String) { self = .string(text) }
}
