import ObjectStore
import Testing

/// Every kind of Swift closure that a store runs, performing every kind of store operation.
@Suite struct ReentrantClosureTests {
    private typealias Operation = @Sendable (Store) throws -> Void
    private typealias Closure =
        @Sendable (StorePair, _ operation: @escaping () throws -> Void) throws -> Void

    private static let classes = [
        ClassSchema(
            "A",
            "id: int primary, n: int?, link: B, list: B[], child: E, children: E[], "
                + "ints: int[], map: int{}, mixed: mixed"),
        ClassSchema("B", "x: int", defaults: ["x": .int(0)]),
        ClassSchema("E", "x: int", defaults: ["x": .int(0)], isEmbedded: true),
    ]

    private static func first(_ store: Store) throws -> LiveObject {
        guard let object = try store.objects("A").first() else {
            throw StoreError(.invalidObject, "the objects were deleted")
        }
        return object
    }

    private static func fill(_ store: Store) throws {
        try store.write {
            for id in 1...3 {
                try store.create(
                    "A",
                    .dictionary([
                        "id": .int(Int64(id)), "n": .int(1), "link": .dictionary([:]),
                        "list": .list([.dictionary([:]), .dictionary([:])]),
                        "child": .dictionary([:]),
                        "children": .list([.dictionary([:]), .dictionary([:])]),
                        "ints": .list([.int(1), .int(2)]), "map": .dictionary(["k": .int(1)]),
                        "mixed": .list([.int(1), .dictionary(["k": .list([.int(2)])])]),
                    ]))
            }
        }
    }

    private static let operations: [String: Operation] = [
        "close": { $0.close() }, "begin": { try $0.beginWrite() },
        "commit": { try $0.commitWrite() },
        "cancel": { try $0.cancelWrite() },
        "restart": {
            try $0.cancelWrite()
            try $0.beginWrite()
        },
        "write": { store in try store.write { _ = try store.create("B") } },
        "create": {
            try $0.create("A", .dictionary(["id": .int(50), "list": .list([.dictionary([:])])]))
        },
        "upsert": {
            try $0.create("A", .dictionary(["id": .int(1), "children": .list([])]), mode: .all)
        },
        "delete": { try $0.delete(first($0)) }, "delete all": { try $0.deleteAll() },
        "delete class": { try $0.deleteAll("B") },
        "clear": { try first($0).list("list").removeAll() },
        "clear embedded": { try first($0).list("children").removeAll() },
        "set": { try first($0).set("n", .int(7)) },
        "unlink": { try first($0).set("child", .null) },
        "edit mixed": { store in
            let object = try first(store)
            let property = try #require(object.classSchema.property(named: "mixed"))
            if case .nested(let nested) = try NestedCollection.item(at: .property(object, property))
            {
                try nested.removeAll()
            }
        },
        "define": { try $0.define([ClassSchema("Z", "y: int")]) },
        "redefine": {
            try $0.redefine([ClassSchema("A", "id: int primary")])
        },
        "refresh": { try $0.refresh() }, "undo": { _ = try $0.undo() },
        "freeze": { _ = try $0.freeze(first($0)).value("list") },
        "observe": { _ = try $0.objects("A").observe { _ in } },
        "default": { try $0.setDefault(of: "n", in: "A", to: nil) },
        "queue": { store in try store.writeAsync({ try store.deleteAll() }) { _ in } },
    ]

    private static let closures: [String: Closure] =
        [
            "write": { pair, act in try pair.store.write { try act() } },
            "queued write": { pair, act in
                try pair.store.writeAsync(act) { _ in }
                pair.settle()
            },
            "end of a queued write": { pair, act in
                try pair.store.writeAsync({}) { _ in try? act() }
                pair.settle()
            },
            "results": { pair, act in
                try observing(pair) { try $0.objects("A").observe { _ in try act() } }
            },
            "sections": { pair, act in
                try observing(pair) {
                    try $0.objects("A").grouped(by: "n").observe { _ in try act() }
                }
            },
            "aggregate": { pair, act in
                try observing(pair) {
                    try $0.objects("A").observeAggregate(.sum, "n") { _, _ in try act() }
                }
            },
            "object": { pair, act in
                try observing(pair) { try first($0).observe { _ in try act() } }
            },
            "list": { pair, act in
                try observing(pair) { try first($0).list("list").observe { _ in try act() } }
            },
            "map": { pair, act in
                try observing(pair) { try first($0).map("map").observe { _ in try act() } }
            },
            "values": { pair, act in
                try observing(pair) {
                    try CollectionValues(first($0).list("ints")).sorted().observe { _ in try act() }
                }
            },
            "nested": { pair, act in
                try observing(pair) { store in
                    let object = try first(store)
                    let property = try #require(object.classSchema.property(named: "mixed"))
                    guard
                        case .nested(let nested) = try NestedCollection.item(
                            at: .property(object, property))
                    else { throw StoreError(.invalidObject, "no list") }
                    return try nested.observe { _ in try act() }
                }
            },
            "store": { pair, act in try observing(pair) { try $0.observe { _, _ in try act() } } },
            "default": { pair, act in
                let store = pair.store
                try store.setDefault(of: "x", in: "B") {
                    try act()
                    return .int(5)
                }
                try store.write {
                    try store.create(
                        "A",
                        .dictionary([
                            "id": .int(90), "list": .list([.dictionary([:]), .dictionary([:])]),
                        ]))
                }
            },
            "migration": { pair, act in
                try pair.store.redefine([ClassSchema("B", "y: int")]) { migration in
                    try migration.each("B") { _, _ in try act() }
                }
            },
        ]

    /// Registers an observer, and commits changes to everything that it can observe, on both stores.
    private static func observing(
        _ pair: StorePair, _ register: (Store) throws -> NotificationToken
    ) throws {
        let token = try register(pair.store)
        pair.settle()
        for store in [pair.other, pair.store] {
            // The observer can have changed or closed its store.
            _ = try? store.refresh()
            try? store.write {
                let object = try first(store)
                try object.set("n", .int(9))
                try object.list("list").remove(at: 0)
                try object.list("ints").append([.int(3)])
                try object.map("map").set(.int(2), forKey: "k")
                try object.set("mixed", .list([.int(3)]))
            }
            pair.settle()
        }
        token.invalidate()
    }

    @Test(arguments: closures.keys.sorted())
    func `No store operation in a closure crashes the program or damages a store`(
        closure: String
    ) throws {
        for (name, operation) in Self.operations.sorted(by: { $0.key < $1.key }) {
            let pair = try StorePair(Self.classes)
            try Self.fill(pair.store)
            pair.settle()
            var calls = 0
            // because an error of an operation is an error of the closure, and can end the call that runs it.
            try? Self.closures[closure]?(pair) {
                calls += 1
                if calls < 4 { try operation(pair.store) }
            }
            #expect(calls > 0, "\(name)")
            pair.settle()
            if pair.store.isInWrite { try pair.store.cancelWrite() }
            if !pair.store.isInWrite, !pair.other.isInWrite {
                try pair.other.refresh()
                #expect(try pair.other.verify().isEmpty, "\(closure): \(name)")
            }
            pair.store.close()
            pair.other.close()
        }
    }
}
