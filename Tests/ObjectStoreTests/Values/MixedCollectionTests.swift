import ColumnStorage
import ObjectStore
import Testing

@Suite struct MixedCollectionTests {
    let store: Store

    init() throws {
        store = try Store.temporary([
            ClassSchema("Dog", [Property("id", .int, isPrimary: true)]),
            ClassSchema(
                "Box",
                [
                    Property("map", .mixed, collection: .map),
                    Property("set", .mixed, collection: .set),
                ]),
        ])
    }

    @Test func `links in maps and sets of mixed values are removed with their objects`() throws {
        let dogs = try store.write {
            try (0..<2).map { try store.create("Dog", .list([.int(Int64($0))])) }
        }
        let links = dogs.map { Value.object($0.reference) }
        let nested = Value.dictionary(["deep": .list([links[0], links[1], .int(1)])])
        let box = try store.write {
            try store.create(
                "Box",
                .dictionary([
                    "map": .dictionary(["a": links[0], "b": nested, "c": links[1]]),
                    "set": .list([links[0], links[1], .int(5)]),
                ]))
        }
        try store.write { try store.delete(dogs[0]) }
        #expect(
            try box.value("map")
                == .dictionary([
                    "a": .null, "b": .dictionary(["deep": .list([.null, links[1], .int(1)])]),
                    "c": links[1],
                ]))
        #expect(try box.value("set") == .list([.int(5), links[1]]))
        try store.write { try box.set("map", .dictionary([:])) }
        try store.write { try store.delete(dogs[1]) }
        #expect(try box.value("set") == .list([.int(5)]))
        try store.write { try store.delete(box) }
    }

    @Test
    func `nested collections in maps change in place and survive other changes of the value`()
        throws
    {
        let box = try store.write {
            try store.create(
                "Box", .dictionary(["map": .dictionary(["a": .list([.int(1), .dictionary([:])])])]))
        }
        let map = try box.map("map")
        guard case .nested(let list) = try NestedCollection.item(at: .entry(map, "a")),
            case .nested(let inner)? = try list.item(at: 1)
        else { Issue.record("no collections"); return }
        try store.write {
            try inner.set(.string("x"), forKey: "k")
            try list.insert(.int(0), at: 0)
        }
        #expect(
            try box.value("map")
                == .dictionary(["a": .list([.int(0), .int(1), .dictionary(["k": .string("x")])])]))
        #expect(!inner.isValid && list.isValid)  // an int has replaced the inner map
        _ = storeError(.invalidObject) { try store.write { try inner.set(.int(1), forKey: "k") } }
        _ = storeError(.outOfRange) { try store.write { try list.set(.int(1), at: 3) } }
        try store.write { try box.set("map", .dictionary([:])) }
        #expect(!list.isValid)
    }
}
