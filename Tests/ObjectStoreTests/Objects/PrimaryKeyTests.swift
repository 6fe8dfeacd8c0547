import ObjectStore
import Testing

@Suite struct PrimaryKeyTests {
    @Test func `a default replaces a missing key, not an explicit nil`() throws {
        let store = try Store.temporary([
            ClassSchema(
                "A",
                [
                    Property(
                        "id", .int, isOptional: true, isPrimary: true, defaultValue: .int(7)),
                    Property("n", .int, defaultValue: .int(0)),
                ])
        ])
        try store.write {
            let made = try store.create("A")
            let empty = try store.create("A", .dictionary(["id": .null]))
            #expect(try made.value("id") == .int(7))
            #expect(try empty.value("id") == .null)
            _ = storeError(.duplicateKey) { try store.create("A") }
        }
    }

    @Test(arguments: [PropertyType.int, .string, .uuid, .objectID])
    func `only one object can have a nil key`(type: PropertyType) throws {
        let store = try Store.temporary([
            ClassSchema("A", [Property("id", type, isOptional: true, isPrimary: true)])
        ])
        let zero: Value =
            switch type {
            case .int: .int(0)
            case .string: .string("")
            case .uuid: .uuid(UUIDValue(high: 0, low: 0))
            default: .objectID(ObjectIDValue(high: 0, low: 0))
            }
        let (empty, first) = try store.write {
            (try store.create("A", .list([.null])), try store.create("A", .list([zero])))
        }
        #expect(empty != first)
        #expect(try store.object("A", primaryKey: .null) == empty)
        #expect(try store.object("A", primaryKey: zero) == first)
        try store.write {
            _ = storeError(.duplicateKey) { try store.create("A", .list([.null])) }
            _ = storeError(.duplicateKey) { try store.create("A", .list([zero])) }
            let again = try store.create("A", .list([.null]), mode: .all)
            #expect(again == empty)
            try store.delete(empty)
            #expect(try store.object("A", primaryKey: .null) == nil)
        }
    }

    @Test func `lookup requires a class with a key and a value of its type`() throws {
        let store = try Store.temporary([
            ClassSchema("A", [Property("id", .int, isPrimary: true)]),
            ClassSchema("B", [Property("n", .int)]),
        ])
        #expect(try store.object("A", primaryKey: .int(1)) == nil)
        let wrong = storeError(.typeMismatch) {
            _ = try store.object("A", primaryKey: .string("1"))
        }
        #expect(wrong?.message == "property 'id' of 'A' expects int, got string")
        let none = storeError(.invalidArgument) { _ = try store.object("B", primaryKey: .int(1)) }
        #expect(none?.message.contains("no primary key") == true)
        _ = storeError(.unknownClass) { _ = try store.object("C", primaryKey: .int(1)) }
    }

    @Test func `keys of many objects are found after every kind of change`() throws {
        let store = try Store.temporary([
            ClassSchema("A", [Property("id", .string, isPrimary: true), Property("n", .int)])
        ])
        var expected: [String: Int64] = [:]
        var generator = SplitMix(seed: 3)
        for round in 0..<20 {
            try store.write {
                for _ in 0..<200 {
                    let key = "key-\(Int.random(in: 0..<700, using: &generator))"
                    let known = try store.object("A", primaryKey: .string(key))
                    #expect((known != nil) == (expected[key] != nil))
                    if let known, Bool.random(using: &generator) {
                        try store.delete(known)
                        expected[key] = nil
                    } else {
                        try store.create(
                            "A", .list([.string(key), .int(Int64(round))]), mode: .all)
                        expected[key] = Int64(round)
                    }
                }
                if round % 7 == 6 { try store.cancelWrite() }
            }
            if round % 7 == 6 {
                // A canceled write leaves no changes; the current state is the new start.
                expected = [:]
                for object in try store.objects("A").keys() {
                    let live = try #require(
                        store.object(
                            ObjectReference(
                                table: store.schema.require("A").table, key: object)))
                    guard case .string(let key) = try live.value("id"),
                        case .int(let number) = try live.value("n")
                    else { continue }
                    expected[key] = number
                }
            }
        }
        for (key, number) in expected {
            #expect(try store.object("A", primaryKey: .string(key))?.value("n") == .int(number))
        }
        #expect(try store.objects("A").count() == expected.count)
    }
}
