import ObjectStore
import Testing

/// The limits of a store: each is reached, and exceeding it is an error that names it.
@Suite struct LimitTests {
    private func wide(_ count: Int, _ type: PropertyType = .int) -> ClassSchema {
        ClassSchema("Wide", (0..<count).map { Property("p\($0)", type, isOptional: true) })
    }

    private func message(of body: () throws -> Void) -> String {
        storeError(.limitExceeded, body)?.message ?? ""
    }

    @Test func `A class has up to 16,000 properties`() throws {
        let limit = StoreLimits.properties
        let store = try Store.temporary([wide(limit)])
        let last = "p\(limit - 1)"
        try store.write {
            let object = try store.create("Wide", .dictionary([last: .int(7), "p0": .int(1)]))
            try object.set("p4097", .int(5))
            #expect(try object.value("p1") == .null)
        }
        let object = try #require(try store.objects("Wide").first())
        #expect(try object.value("p0") == .int(1))
        #expect(try object.value("p4097") == .int(5))
        #expect(try object.value(last) == .int(7))
        #expect(try store.objects("Wide").filtered("\(last) == 7").count() == 1)
        #expect(try store.verify().isEmpty)

        let text = message { _ = try Store.temporary([wide(limit + 1)]) }
        #expect(text.contains("'Wide' has 16001 properties; a class has at most 16000"))
        let other = try Store.temporary([])
        #expect(message { try other.define([wide(limit + 1)]) } == text)
        try other.write { #expect(message { try other.defineInWrite([wide(limit + 1)]) } == text) }
        #expect(other.schema.classes.isEmpty)
    }

    @Test(arguments: [PropertyType.int, .string])
    func `Objects with thousands of properties are created in the write that defines their class`(
        type: PropertyType
    ) throws {
        // The unpacked columns of one cluster exceed the memory that a write keeps.
        let count = 6000
        let rows = 520
        let store = try Store.temporary([])
        func value(_ row: Int, _ position: Int) -> Value {
            type == .int ? .int(Int64(row * position)) : .string("\(row) \(position)")
        }
        let positions = [0, 1, 63, 4095, 4096, count - 1]
        try store.write {
            try store.defineInWrite([wide(count, type)])
            let inserter = try store.inserter(of: try store.schema.require("Wide"))
            for row in 0..<rows {
                for position in positions { inserter.set(position, value(row, position)) }
                try inserter.insert()
            }
        }
        let objects = try store.objects("Wide")
        #expect(try objects.count() == rows)
        for row in [0, 1, 495, 496, rows - 1] {
            let object = try objects.object(at: row)
            for position in positions {
                #expect(try object.value("p\(position)") == value(row, position))
            }
            #expect(try object.value("p2") == .null)
        }
        #expect(try store.verify().isEmpty)
    }

    @Test func `A property that is removed and added again uses up a column`() throws {
        let store = try Store.temporary([wide(StoreLimits.properties)])
        // 16,383 columns are left for a table, 383 of them for properties that replace others.
        func replaced(_ range: Range<Int>) -> ClassSchema {
            var properties = wide(StoreLimits.properties).properties
            for position in range { properties[position] = Property("q\(position)", .int) }
            return ClassSchema("Wide", properties)
        }
        try store.redefine([replaced(0..<383)])
        let text = message { try store.redefine([replaced(0..<384)]) }
        #expect(text.contains("removed ones included; the maximum is 16383"))
        #expect(store.schema.find("Wide")?.property(named: "q382") != nil)
    }

    @Test func `A store has up to 60,000 classes`() throws {
        func classes(_ count: Int) -> [ClassSchema] {
            (0..<count).map { ClassSchema("C\($0)", [Property("x", .int)]) }
        }
        let store = try Store.temporary(classes(2000))
        #expect(store.schema.classes.count == 2000)
        let text = message { try store.define(classes(StoreLimits.classes + 1)) }
        #expect(text == "the schema has 60001 classes; the maximum is 60000")
    }

    @Test func `Names have up to 200 bytes`() throws {
        let longest = String(repeating: "ä", count: StoreLimits.nameBytes / 2)
        let store = try Store.temporary([ClassSchema(longest, [Property(longest, .int)])])
        try store.write { try store.create(longest, .dictionary([longest: .int(1)])) }
        #expect(try store.objects(longest).filtered("\(longest) == 1").count() == 1)
        for classSchema in [
            ClassSchema(longest + "a", [Property("x", .int)]),
            ClassSchema("A", [Property(longest + "a", .int)]),
        ] {
            let error = storeError(.invalidSchema) { try store.define([classSchema]) }
            #expect(error?.message.contains("200") == true)
        }
    }

    @Test func `A class cannot have the name of a type`() throws {
        for type in PropertyType.allCases {
            let error = storeError(.invalidSchema) {
                _ = try Store.temporary([ClassSchema(type.rawValue, [Property("x", .int)])])
            }
            #expect(error?.message.contains("'\(type.rawValue)' is the name of a type") == true)
        }
    }

    @Test func `Strings and data have up to 256 MiB`() throws {
        let store = try Store.temporary([
            ClassSchema(
                "A",
                [
                    Property("data", .data, isOptional: true),
                    Property("list", .data, collection: .list), Property("mixed", .mixed),
                ])
        ])
        // Zeros cost no memory until they are copied.
        let large = Value.data([UInt8](repeating: 0, count: StoreLimits.valueBytes + 1))
        try store.write {
            for values: [String: Value] in [
                ["data": large], ["list": .list([large])], ["mixed": large],
                ["mixed": .list([large])],
            ] {
                let text = message { try store.create("A", .dictionary(values)) }
                #expect(text.contains("268435457 bytes; the maximum is 268435456"))
            }
            #expect(try store.objects("A").count() == 0)
            let object = try store.create("A", .list([.data([1])]))
            #expect(message { try object.set("data", large) } != "")
            #expect(message { try object.list("list").append([large]) } != "")
        }
    }
}
