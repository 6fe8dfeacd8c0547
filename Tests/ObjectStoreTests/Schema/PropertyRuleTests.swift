import ObjectStore
import Testing

/// Rules for the values of properties, and how files and migrations treat them.
@Suite struct PropertyRuleTests {
    private let folder = TemporaryFolder()

    private func dog(
        _ change: (inout [Property]) throws -> Void = { _ in }
    ) rethrows -> ClassSchema {
        var properties = [
            Property("id", .int, isPrimary: true), Property("age", .int, isOptional: true),
            Property("chip", .string, isOptional: true), Property("kind", .string),
            Property("marks", .double, collection: .list),
        ]
        try change(&properties)
        return ClassSchema("Dog", properties)
    }

    private func ruled() -> ClassSchema {
        dog { properties in
            properties[1].rules.minimum = .int(0)
            properties[1].rules.maximum = .int(40)
            properties[2].rules.isUnique = true
            properties[3].rules.allowed = [.string(""), .string("pug")]
            properties[4].rules.maximum = .double(10)
        }
    }

    private func open(_ classes: [ClassSchema]?, version: UInt64 = 0) throws -> Store {
        try Store(
            StoreConfiguration(
                .file(folder.file("zoo.moonpool")), schema: classes, schemaVersion: version),
            scheduler: ManualScheduler())
    }

    private func add(_ id: Int64, _ values: [String: Value] = [:], to store: Store) throws {
        try store.create(
            "Dog",
            .dictionary(
                ValueMap(["id": .int(id), "kind": .string("")].merging(values) { $1 })))
    }

    @Test func `rules are in the file, and its other users follow them`() throws {
        var store = try open([ruled()])
        store.close()
        store = try open(nil)
        let other = try open(nil)
        #expect(
            try store.schema.require("Dog").properties == other.schema.require("Dog").properties)
        #expect(
            try store.schema.require("Dog").requireProperty("age").rules
                == ruled().properties[1].rules)
        _ = storeError(.invalidValue) {
            try store.write { try add(1, ["age": .int(-1)], to: store) }
        }
        try store.define([dog()])
        try store.write { try add(1, ["age": .int(-1)], to: store) }
        try other.refresh()
        try other.write { try add(2, ["age": .int(-1)], to: other) }
    }

    @Test(arguments: [false, true])
    func `a new rule is checked with the existing objects`(reopens: Bool) throws {
        var store = try open([dog()])
        try store.write {
            for id in Int64(1)...7 {
                try add(id, ["age": .int(-id), "chip": .string("x")], to: store)
            }
        }
        func adopt(_ classSchema: ClassSchema) throws {
            guard reopens else { return try store.define([classSchema]) }
            store.close()
            store = try open([classSchema])
        }
        let low = dog { $0[1].rules.minimum = .int(-3) }
        let error = storeError(.invalidValue) { try adopt(low) }
        #expect(
            error?.message.contains("'Dog.age' breaks its rules in 4 objects: -4 (id = 4)") == true)
        let twice = storeError(.duplicateKey) { try adopt(dog { $0[2].rules.isUnique = true }) }
        #expect(twice?.message.contains("'Dog.chip' is unique") == true)
        if reopens { store = try open(nil) }
        #expect(try store.schema.require("Dog").properties[1].rules.isEmpty)
        try adopt(dog { $0[1].rules.minimum = .int(-7) })
        let findings = try SchemaLint.findings(
            in: store,
            for: [
                dog {
                    $0[1].rules.maximum = .int(-6); $0[2].rules.isUnique = true
                }
            ])
        #expect(findings.map(\.rule) == [.brokenRules, .duplicateKeys])
        #expect(findings.map(\.count) == [5, 7])
        #expect(findings[0].objects == (1...5).map { "id = \($0)" })
        let differences = try SchemaDifference.between(store.schema, and: [dog()])
        #expect(
            differences.map(\.description) == [
                "the rules of 'Dog.age' would change from min = -7 to none"
            ])
    }

    @Test func `an index that becomes unique is another index`() throws {
        func seat(isUnique: Bool) -> ClassSchema {
            ClassSchema(
                "Seat", "row: int, place: string",
                indexes: [CompositeIndex(["row", "place"], isUnique: isUnique)])
        }
        let differences = try SchemaDifference.between(
            open([seat(isUnique: true)]).schema, and: [seat(isUnique: false)])
        #expect(
            differences.map(\.description) == [
                "'Seat' would be indexed by (row, place)",
                "'Seat' would no longer be indexed by unique (row, place)",
            ])
    }

    /// A change of the schema, and the objects of the class that it breaks.
    struct Change: Sendable {
        var rule: SchemaLint.Finding.Rule?
        var count = 0
        var part = ""
        let apply: @Sendable (inout [Property]) -> [CompositeIndex]
    }

    @Test(
        arguments: [
            Change(rule: .duplicateKeys, count: 2, part: "chip = \"a\", kind = \"1\"") { _ in
                [CompositeIndex(["chip", "kind"], isUnique: true)]
            },
            Change { _ in [CompositeIndex(["id", "kind"], isUnique: true)] },
            Change(rule: .duplicateKeys, count: 4, part: "kind = \"1\"") {
                $0[3].rules.isUnique = true
                return []
            },
            Change(rule: .brokenRules, count: 2, part: "the minimum is 1") {
                $0[3] = Property("kind", .int)
                $0[3].rules.minimum = .int(1)
                return []
            },
            Change(rule: .duplicateKeys, count: 4, part: "kind = 1: id = 1, id = 3") {
                $0[3] = Property("kind", .int)
                $0[3].rules.isUnique = true
                return []
            },
            Change(rule: .duplicateKeys, count: 4, part: "kind = 1: id = 1, id = 3") {
                $0[0].isPrimary = false
                $0[3] = Property("kind", .int, isPrimary: true)
                return []
            },
            Change(rule: .brokenRules, count: 1, part: "4.0 (id = 4)") {
                $0[1] = Property("age", .double, isOptional: true)
                $0[1].rules.maximum = .double(3)
                return []
            },
            Change {
                $0[1] = Property("age", .double, isOptional: true)
                $0[1].rules.maximum = .double(4)
                return []
            },
            Change(rule: .duplicateKeys, count: 2, part: "chip = \"a\"") {
                $0[2] = Property("chip", .string, defaultValue: .string("z"))
                $0[2].rules.isUnique = true
                return []
            },
            Change(rule: .duplicateKeys, count: 4, part: "extra = 3") {
                $0.append(Property("extra", .int, defaultValue: .int(3)))
                $0[5].rules.isUnique = true
                return []
            },
            Change(rule: .duplicateKeys, count: 4, part: "extra = 3, kind = \"1\"") {
                $0.append(Property("extra", .int, defaultValue: .int(3)))
                return [CompositeIndex(["extra", "kind"], isUnique: true)]
            },
            Change {
                $0.append(Property("extra", .int, isOptional: true))
                $0[5].rules.isUnique = true
                return []
            },
        ])
    func `lint finds the values that a change of the schema refuses`(change: Change) throws {
        let store = try open([dog()])
        try store.write {
            for id in 1...4 {
                try add(
                    Int64(id),
                    [
                        "age": .int(Int64(id)), "kind": .string("\(id % 2)"),
                        "chip": id < 4 ? .string(id == 2 ? "b" : "a") : .null,
                    ], to: store)
            }
        }
        var properties = try dog().properties
        let indexes = change.apply(&properties)
        let wanted = [ClassSchema("Dog", properties, indexes: indexes)]
        let findings = try SchemaLint.findings(in: store, for: wanted)
        #expect(findings.map(\.rule) == (change.rule.map { [$0] } ?? []))
        guard change.rule != nil else { return try store.redefine(wanted, migration: { _ in }) }
        #expect(findings.first?.count == change.count)
        #expect(findings.first?.problem.contains(change.part) == true, "\(findings)")
        _ = storeError(change.rule == .brokenRules ? .invalidValue : .duplicateKey) {
            try store.redefine(wanted, migration: { _ in })
        }
    }
}
