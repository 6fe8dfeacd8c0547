import ObjectStore
import Testing

/// Links that own their objects: deleting the owner deletes what only it links to.
@Suite struct OwnedObjectTests {
    private static func owning(_ name: String, _ collection: CollectionKind? = nil) -> Property {
        var property = Property(name, .object, collection: collection, target: "Node")
        property.rules.ownsObjects = true
        return property
    }

    private static let classes = [
        ClassSchema(
            "Node",
            [
                Property("id", .int, isPrimary: true), owning("next"), owning("list", .list),
                owning("set", .set), owning("map", .map),
                Property("plain", .object, target: "Node"),
                Property("note", .mixed), Property("part", .object, target: "Part"),
            ]),
        ClassSchema("Part", [owning("inner")], isEmbedded: true),
        ClassSchema("User", [Property("uses", .object, collection: .list, target: "Node")]),
    ]

    private let store: Store

    init() throws { store = try Store.temporary(Self.classes) }

    /// Creates nodes with the ids from 0, and returns them.
    private func make(_ count: Int) throws -> [LiveObject] {
        try (0..<count).map { try store.create("Node", .dictionary(["id": .int(Int64($0))])) }
    }

    private func link(_ node: LiveObject) -> Value { .object(node.reference) }

    private var ids: [Value] {
        get throws {
            let all = try store.objects("Node")
            return try (0..<all.count()).map { try all.object(at: $0).value("id") }
        }
    }

    @Test func `owned objects of links, lists, sets and maps are deleted at any depth`() throws {
        let nodes = try store.write { try make(9) }
        try store.write {
            try nodes[0].set("next", link(nodes[1]))
            try nodes[1].set("list", .list([link(nodes[2]), link(nodes[2])]))
            try nodes[2].set("set", .list([link(nodes[3])]))
            try nodes[3].set("map", .dictionary(["a": link(nodes[4])]))
            try nodes[4].set("part", .dictionary(["inner": link(nodes[5])]))
            try nodes[5].set("plain", link(nodes[6]))
            try nodes[5].set("note", link(nodes[7]))
        }
        try store.write { try store.delete(nodes[0]) }
        #expect(try ids == [.int(6), .int(7), .int(8)])
        #expect(try store.objects("Part").count() == 0)
    }

    @Test func `an object that a remaining object links to is kept, with all that it links to`()
        throws
    {
        let nodes = try store.write { try make(9) }
        let user = try store.write {
            try nodes[0].set("list", .list(nodes[1...6].map(link)))
            try nodes[2].set("next", link(nodes[3]))  // 2 is used, so 3 stays
            try nodes[3].set("plain", link(nodes[4]))
            try nodes[4].set("note", .list([link(nodes[5])]))
            try nodes[8].set("note", link(nodes[6]))
            let user = try store.create("User")
            try user.set("uses", .list([link(nodes[2])]))
            return user
        }
        try store.write { try store.delete(nodes[0]) }
        #expect(try ids == [2, 3, 4, 5, 6, 7, 8].map { .int($0) })
        try store.write {
            try user.list("uses").removeAll()
            try store.delete(nodes[2])
        }
        #expect(try ids == [4, 5, 6, 7, 8].map { .int($0) })
    }

    @Test func `rings, self links and shared objects of deleted owners are deleted`() throws {
        let nodes = try store.write { try make(7) }
        try store.write {
            try nodes[0].set("next", link(nodes[1]))
            try nodes[1].set("next", link(nodes[2]))
            try nodes[2].set("next", link(nodes[1]))
            try nodes[2].set("plain", link(nodes[0]))
            try nodes[2].set("set", .list([link(nodes[2])]))
            try nodes[3].set("next", link(nodes[5]))
            try nodes[4].set("next", link(nodes[5]))
        }
        try store.write { try store.delete(nodes[0]) }
        #expect(try ids == [3, 4, 5, 6].map { .int($0) })
        try store.write {
            try store.delete(
                store.objects("Node").filtered("id in {3, 4}").keys().array,
                of: nodes[3].classSchema)
        }
        #expect(try ids == [.int(6)])
        try store.write { try store.deleteAll("Node") }
        #expect(try ids == [])
    }

    @Test func `a chain of a hundred thousand objects is deleted, and undo restores it`() throws {
        let count = 100_000
        let nodes = try store.write {
            let nodes = try make(count)
            for (node, next) in zip(nodes, nodes.dropFirst()) { try node.set("next", link(next)) }
            try nodes[count - 1].set("next", link(nodes[1]))
            return nodes
        }
        try store.write { try store.delete(nodes[0]) }
        #expect(try store.objects("Node").count() == 0)
        try store.undo()
        #expect(try store.objects("Node").count() == count)
        #expect(try nodes[count - 1].value("next") == link(nodes[1]))
    }

    @Test func `removing and replacing links keeps the objects`() throws {
        let nodes = try store.write { try make(3) }
        try store.write {
            try nodes[0].set("next", link(nodes[1]))
            try nodes[0].set("next", link(nodes[2]))
            try nodes[0].set("next", .null)
        }
        #expect(try ids.count == 3)
    }

    @Test func `observers receive each deleted object`() throws {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(Self.classes, scheduler: scheduler)
        let all = try store.objects("Node")
        var deletions: [[Int]] = []
        var isDeleted = false
        let nodes = try store.write {
            try (0..<4).map { try store.create("Node", .dictionary(["id": .int(Int64($0))])) }
        }
        try store.write {
            try nodes[0].set(
                "list", .list([.object(nodes[2].reference), .object(nodes[3].reference)]))
        }
        let tokens = [
            try all.observe { deletions.append($0.deletions) },
            try nodes[3].observe { if case .deleted = $0.kind { isDeleted = true } },
        ]
        try store.refresh()
        try store.write { try store.delete(nodes[0]) }
        try store.refresh()
        #expect(deletions == [[], [0, 2, 3]] && isDeleted)
        withExtendedLifetime(tokens) {}
    }
}
