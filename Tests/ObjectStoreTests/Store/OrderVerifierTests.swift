import ColumnStorage
import Testing

@testable import ObjectStore

/// Sets and maps that are valid for storage, but whose wrong order makes lookups fail.
@Suite struct OrderVerifierTests {
    private static let classes = [
        ClassSchema(
            "Bag",
            "numbers: int<>, words: string<>, values: double<>, anything: mixed<>, names: int{}")
    ]

    private func bag(_ store: Store) throws -> LiveObject {
        try store.create(
            "Bag",
            .dictionary([
                "numbers": .list([.int(3), .int(-1), .int(2)]),
                "words": .list([.string("b"), .string("a"), .string("ä")]),
                "values": .list([.double(.nan), .double(-1), .double(.infinity)]),
                "anything": .list([.string("a"), .int(4), .bool(true), .null, .double(2.5)]),
                "names": .dictionary(["b": .int(1), "": .int(2), "ä": .int(3)]),
            ]))
    }

    @Test func `elements out of order are reported with their object`() throws {
        let store = try Store.temporary(Self.classes)
        let bags = try store.write { try (0..<3).map { _ in try bag(store) } }
        let column = try #require(bags[1].classSchema.property(named: "numbers")).column
        try store.write {
            let session = try store.writer(changing: "a set").session
            try session.list(bags[1].classSchema.table, column, bags[1].key).append(.int(2))
        }
        let faults = try store.verify()
        #expect(faults.count == 1)
        let fault = try #require(faults.first)
        #expect(fault.className == "Bag")
        #expect(fault.property == "numbers")
        #expect(fault.object == bags[1].key)
        #expect(fault.what == "its elements are not in order from number 4 on")
    }
}
