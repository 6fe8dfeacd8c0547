import ObjectStore
import Testing

@Suite struct PrimaryKeyTests {
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
