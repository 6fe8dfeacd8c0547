import ObjectStore
import Testing

@Suite struct PrimaryKeyTests {
    @Test func `keys of many objects are found after every kind of change`() throws {
        let store = try Store.temporary([ClassSchema("A", "id: string primary, n: int")])
        var expected: [String: Int64] = [:]
        var generator = SplitMix(seed: 3)
        for round in 0..<20 {
            let before = expected
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
            if round % 7 == 6 { expected = before }
        }
        for (key, number) in expected {
            #expect(try store.object("A", primaryKey: .string(key))?.value("n") == .int(number))
        }
        #expect(try store.objects("A").count() == expected.count)
    }
}
