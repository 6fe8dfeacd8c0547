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

    @Test(arguments: [
        (
            ["age": Value.int(-3)], StoreError.Code.invalidValue,
            "'Dog.age' is -3 (id = 2); the minimum is 0"
        ),
        (["age": .int(41)], .invalidValue, "'Dog.age' is 41 (id = 2); the maximum is 40"),
        (
            ["kind": .string("cat")], .invalidValue,
            "'Dog.kind' is \"cat\" (id = 2); the allowed values are \"\", \"pug\""
        ),
        (
            ["marks": .list([.double(1), .double(11)])], .invalidValue,
            "'Dog.marks' contains 11.0 (id = 2); the maximum is 10.0"
        ),
        (
            ["chip": .string("a")], .duplicateKey,
            "chip = \"a\" (id = 1 and id = 2), and 'Dog.chip' is unique"
        ),
    ])
    func `a commit with an invalid value is refused with object, value and rule`(
        values: [String: Value], code: StoreError.Code, message: String
    ) throws {
        let store = try open([ruled()])
        try store.write { try add(1, ["chip": .string("a")], to: store) }
        for isUpdate in [false, true] {
            let error = storeError(code) {
                try store.write {
                    if isUpdate {
                        try add(2, to: store)
                        let two = try #require(try store.object("Dog", primaryKey: .int(2)))
                        for (name, value) in values { try two.set(name, value) }
                    } else {
                        try store.savepoint { try add(2, values, to: store) }
                    }
                }
            }
            #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
            #expect(try store.objects("Dog").count() == 1 && !store.isInWrite)
        }
    }

    @Test func `a write can pass through invalid values, and nil passes every rule`() throws {
        let store = try open([ruled()])
        try store.write {
            try add(1, ["chip": .string("a"), "age": .int(-1)], to: store)
            try add(2, ["chip": .string("a")], to: store)
            try add(3, ["age": .null, "chip": .null], to: store)
            try add(4, ["age": .null, "chip": .null], to: store)
            let one = try #require(try store.object("Dog", primaryKey: .int(1)))
            try one.set("age", .int(0))
            try one.set("chip", .string("b"))
            try add(5, ["age": .int(99)], to: store)
            try store.delete(try #require(try store.object("Dog", primaryKey: .int(5))))
        }
        #expect(try store.objects("Dog").count() == 4)
        #expect(try store.objects("Dog").filtered("chip == 'a'").count() == 1)
    }

    @Test func `a rule of a float has single precision`() throws {
        var weight = Property("weight", .float)
        weight.rules.allowed = [.double(0.1), .double(0.3)]
        weight.rules.maximum = .double(0.3)
        let store = try Store.temporary([ClassSchema("A", [weight])])
        for value in [Value.double(0.1), .float(0.3)] {
            _ = try store.write { try store.create("A", .dictionary(["weight": value])) }
        }
        _ = storeError(.invalidValue) {
            _ = try store.write { try store.create("A", .dictionary(["weight": .double(0.2)])) }
        }
    }

    @Test func `values of every type and links can be unique`() throws {
        let types: [(PropertyType, [Value])] = [
            (.double, [.double(0.1), .double(-0.0), .double(.nan)]),
            (.float, [.float(0.5), .float(.infinity)]),
            (.decimal, [.decimal(DecimalValue("1.50")!), .decimal(.notANumber)]),
            (.data, [.data([1, 0]), .data([])]), (.bool, [.bool(true)]),
            (.date, [.date(Timestamp(microseconds: 1))]), (.string, [.string("é")]),
        ]
        for (index, (type, values)) in types.enumerated() {
            var property = Property("v", type, isOptional: true)
            property.rules.isUnique = true
            let store = try Store.temporary([ClassSchema("A", [property])])
            for count in [1, 20] {
                func add(_ value: Value) throws {
                    for _ in 1..<count { try store.create("A", .dictionary([:])) }
                    try store.create("A", .dictionary(["v": value]))
                }
                for value in values {
                    if count == 1 { try store.write { try add(value) } }
                    let error = storeError(.duplicateKey) { try store.write { try add(value) } }
                    #expect(error?.message.contains("'A.v' is unique") == true, "\(index)")
                }
            }
            #expect(try store.objects("A").count() == values.count)
            if type == .double {
                _ = storeError(.duplicateKey) {
                    _ = try store.write { try store.create("A", .dictionary(["v": .double(0)])) }
                }
            }
        }
        var seat = Property("seat", .object, target: "Seat")
        seat.rules.isUnique = true
        let store = try Store.temporary([
            ClassSchema("Guest", [seat]), ClassSchema("Seat", [Property("number", .int)]),
        ])
        let seats = try store.write {
            try (1...2).map { try store.create("Seat", .dictionary(["number": .int($0)])) }
        }
        func sit(_ seat: Int?) throws {
            try store.write {
                try store.create(
                    "Guest",
                    .dictionary(["seat": seat.map { .object(seats[$0].reference) } ?? .null]))
            }
        }
        for seat in [0, 1, nil, nil] { try sit(seat) }
        let error = storeError(.duplicateKey) { try sit(1) }
        #expect(error?.message.contains("'Guest.seat' is unique") == true)
        try store.write { try store.delete(seats[1]) }
        #expect(try store.objects("Guest").count() == 4)
    }

    @Test func `list edits and large writes are checked`() throws {
        let store = try open([ruled()])
        try store.write { for id in Int64(1)...3 { try add(id, to: store) } }
        let list = try #require(try store.object("Dog", primaryKey: .int(1))).list("marks")
        _ = storeError(.invalidValue) { try store.write { try list.append([.double(11)]) } }
        try store.write { try list.append([.double(10)]) }
        _ = storeError(.invalidValue) { try store.write { try list.set(.double(12), at: 0) } }
        #expect(try list.values() == [.double(10)])
        let error = storeError(.duplicateKey) {
            try store.write {
                for id in Int64(10)...5000 {
                    try add(id, ["chip": .string("\(id % 4900)")], to: store)
                }
            }
        }
        #expect(error?.message.contains("'Dog.chip' is unique") == true)
        let many = storeError(.invalidValue) {
            try store.write {
                for id in Int64(10)...20 { try add(id, ["age": .int(-id)], to: store) }
            }
        }
        #expect(
            many?.message
                == "'Dog.age' breaks its rules in 11 objects: -10 (id = 10), -11 (id = 11), -12 (id = 12), "
                + "-13 (id = 13), -14 (id = 14), …; the minimum is 0")
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

    @Test func `a migration can correct the values before a new rule applies`() throws {
        let store = try open([dog()])
        try store.write { try add(1, ["age": .int(-1)], to: store) }
        try store.redefine([ruled()]) { migration in
            try migration.each("Dog") { _, new in try new.set("age", .int(3)) }
        }
        #expect(try store.objects("Dog").filtered("age == 3").count() == 1)
    }

    @Test(arguments: [
        ("age", ["pattern": Value.string("a")]), ("age", ["owns": .bool(true)]),
        ("id", ["unique": .bool(true)]), ("marks", ["unique": .bool(true)]),
        ("age", ["min": .string("a")]), ("age", ["min": .null]), ("kind", ["min": .string("a")]),
        ("age", ["min": .int(3), "max": .int(2)]), ("age", ["enum": .list([.string("a")])]),
        ("kind", ["pattern": .string("[a")]), ("kind", ["pattern": .string("(a")]),
        ("kind", ["pattern": .string("%1")]),
    ])
    func `rules that do not fit the property are refused`(
        name: String, options: [String: Value]
    ) throws {
        let classSchema = try dog { properties in
            for index in properties.indices where properties[index].name == name {
                for (option, value) in options {
                    try properties[index].rules.set(option, to: value, of: name)
                }
            }
        }
        _ = storeError(.invalidSchema) { _ = try open([classSchema]) }
    }

    @Test func `unique values are found through their index`() throws {
        let store = try open([ruled()])
        let plan = try store.objects("Dog").filtered("chip == 'a'").explain()
        #expect(plan.contains("index"), "\(plan)")
    }

    @Test(arguments: [
        ("^%a+$", ["abc"], ["", "a1", " a"]), ("%d", ["a1", "1"], ["a", ""]),
        ("^[%w_.-]+@%w+%.com$", ["a.b-c@d1.com"], ["a@b.org", "@b.com"]),
        ("^a-b$", ["b", "aaab"], ["a", "ba"]), ("^a?b?$", ["", "a", "ab"], ["ba", "aa"]),
        ("^[^%s]*$", ["", "ä"], ["a b"]), ("^[]x]+$", ["]x"], ["y"]),
        ("^%b()$", ["(a(b))"], ["(a", "(a)b"]),
        ("%f[%u]%u%l", ["a Bc"], ["ABc"]), ("^(a)(b)$", ["ab"], ["a"]), ("^x$$", ["x$"], ["x"]),
        ("^.%.?$", ["a", "a."], ["ab"]), ("%S%D%A%P", ["a!!a"], ["a b"]),
        ("^%x%x$", ["Af"], ["ag"]),
        ("^[a-cx-]+$", ["abcx-"], ["d"]), ("^%%$", ["%"], ["a"]), ("^$", [""], ["a"]),
        ("", ["", "a"], []),
    ])
    func `a pattern matches as in Lua`(pattern: String, right: [String], wrong: [String]) throws {
        let store = try open([
            ClassSchema(
                "Text",
                [Property("text", .string)].map { property in
                    var property = property
                    property.rules.pattern = pattern
                    return property
                })
        ])
        func add(_ text: String) throws {
            try store.write { try store.create("Text", .list([.string(text)])) }
        }
        for text in right { try add(text) }
        for text in wrong { _ = storeError(.invalidValue) { try add(text) } }
        #expect(try store.objects("Text").count() == right.count)
    }
}
