import ColumnStorage
import Testing

@testable import ObjectStore

/// Reports of edits of lists: `targets` of a holder contains t0 … t9.
@Suite struct ListEditObserverTests {
    private let world: ObservedWorld
    private let holder: LiveObject
    private let received = ReceivedCalls()

    init() throws {
        world = try ObservedWorld()
        holder = try world.holder()
        world.stores.settle()
    }

    private func target(_ number: Int64) throws -> LiveObject {
        try world.object(number, of: "Target")
    }

    private func reference(_ number: Int64) throws -> Value {
        .object(try target(number).reference)
    }

    /// The reports of writes to the list of objects; the list is restored after each write.
    private func edits(
        _ cases: [(received: [String], edit: (LiveList) throws -> Void)],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for (number, (expected, edit)) in cases.enumerated() {
            let holder = try world.holder()
            world.stores.settle()
            let list = try holder.list("targets")
            let token = try world.observe(list, received)
            let observed = try world.received(received) { _ in try edit(list) }
            #expect(observed == expected, "case \(number)", sourceLocation: sourceLocation)
            token.invalidate()
        }
    }

    @Test func `the first call shows the list and no changes`() throws {
        var changes: [CollectionChange] = []
        let token = try holder.list("targets").observe { changes.append($0) }
        #expect(changes.isEmpty)
        world.stores.settle()
        #expect(changes.count == 1)
        #expect(changes[0].deletions.isEmpty && changes[0].insertions.isEmpty)
        token.invalidate()
    }

    @Test func `changes before the first call are part of it`() throws {
        let token = try holder.list("targets").observe(received.receive)
        try world.remotely { store in
            try world.object(0, of: "Holder", in: store).list("targets").remove(at: 5)
        }
        world.stores.settle()
        #expect(received.news() == ["initial"])
        #expect(try holder.list("targets").count() == 9)
        token.invalidate()
    }

    @Test func `appended elements are insertions`() throws {
        try edits([
            (["ins[10]"], { try $0.append([reference(0)]) }),
            (
                ["ins[10, 11]"],
                {
                    try $0.append([reference(0)])
                    try $0.append([reference(1)])
                }
            ),
        ])
    }

    @Test func `successive removals are reported in old positions`() throws {
        func removing(_ positions: Int...) -> (LiveList) throws -> Void {
            { list in for position in positions { try list.remove(at: position) } }
        }
        try edits([
            (["del[5, 6, 7]"], removing(5, 5, 5)), (["del[5, 6, 7]"], removing(7, 6, 5)),
            (["del[5, 6, 7]"], removing(5, 6, 5)), (["del[3, 5, 7]"], removing(3, 4, 5)),
            (["del[3, 5, 7]"], removing(7, 5, 3)), (["del[3, 5, 7]"], removing(3, 6, 4)),
        ])
    }

    @Test func `setting an element is a modification, even to the same value`() throws {
        try edits([
            (["mod[5]"], { try $0.set(reference(1), at: 5) }),
            (["mod[5]"], { list in for _ in 0..<3 { try list.set(reference(2), at: 5) } }),
            (["mod[5]"], { try $0.set(reference(5), at: 5) }),
        ])
    }

    @Test func `clearing deletes every element`() throws {
        try edits([
            (["del[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"], { try $0.removeAll() }),
            (
                ["del[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] ins[0]"],
                {
                    try $0.removeAll()
                    try $0.append([reference(3)])
                }
            ),
        ])
    }

    @Test func `edits that undo each other do not affect the others`() throws {
        try edits([
            (
                [],
                {
                    try $0.insert(reference(0), at: 5)
                    try $0.remove(at: 5)
                }
            ),
            (
                ["ins[0, 1]"],
                {
                    try $0.insert(reference(0), at: 0)
                    try $0.insert(reference(1), at: 0)
                }
            ),
            (
                ["del[5] ins[5]"],
                {
                    try $0.remove(at: 5)
                    try $0.insert(reference(0), at: 5)
                }
            ),
        ])
    }

    @Test func `moves are a deletion and an insertion, and are combined`() throws {
        func moving(_ pairs: (Int, Int)...) -> (LiveList) throws -> Void {
            { list in for (from, to) in pairs { try list.move(from: from, to: to) } }
        }
        try edits([
            (["del[5] ins[3]"], moving((5, 3))), (["del[1] ins[3]"], moving((1, 3))),
            (["del[1] ins[5]"], moving((1, 3), (3, 5))),
            (["del[5] ins[1]"], moving((5, 3), (3, 1))),
            (["del[1, 3] ins[4, 7]"], moving((1, 5), (2, 7))),
            (["del[1, 7] ins[0, 6]"], moving((1, 5), (7, 0))),
            ([], moving((5, 5))),
        ])
    }

    @Test func `a swap is two moves, and two swaps are no change`() throws {
        try edits([
            (["del[3, 5] ins[3, 5]"], { try $0.swap(3, 5) }),
            (["del[3, 5] ins[3, 5]"], { try $0.swap(5, 3) }),
            (
                [],
                {
                    try $0.swap(3, 5)
                    try $0.swap(3, 5)
                }
            ),
        ])
        // Either of two neighbors can be the moved one.
        let list = try holder.list("targets")
        let token = try world.observe(list, received)
        let observed = try world.received(received) { _ in try list.swap(3, 4) }
        #expect(observed == ["del[3] ins[4]"] || observed == ["del[4] ins[3]"])
        token.invalidate()
    }

    @Test func `insertions shift the indexes of set elements`() throws {
        try edits([
            (
                ["ins[5] mod[5] new[6]"],
                {
                    try $0.set(reference(0), at: 5)
                    try $0.insert(reference(0), at: 5)
                }
            ),
            (
                ["ins[5] mod[4]"],
                {
                    try $0.set(reference(0), at: 4)
                    try $0.insert(reference(0), at: 5)
                }
            ),
            (
                ["ins[5]"],
                {
                    try $0.insert(reference(0), at: 5)
                    try $0.set(reference(1), at: 5)
                }
            ),
            (
                ["ins[5] mod[5] new[6]"],
                {
                    try $0.insert(reference(0), at: 5)
                    try $0.set(reference(1), at: 6)
                }
            ),
        ])
    }

    @Test func `removals shift the indexes of set elements`() throws {
        try edits([
            (
                ["del[5]"],
                {
                    try $0.set(reference(0), at: 5)
                    try $0.remove(at: 5)
                }
            ),
            (
                ["del[4] mod[5] new[4]"],
                {
                    try $0.set(reference(0), at: 5)
                    try $0.remove(at: 4)
                }
            ),
            (
                ["del[5] mod[6] new[5]"],
                {
                    try $0.remove(at: 5)
                    try $0.set(reference(0), at: 5)
                }
            ),
        ])
    }

    @Test func `a moved element is not also modified`() throws {
        try edits([
            (
                ["del[5] ins[8]"],
                {
                    try world.set(target(5), 99)
                    try $0.move(from: 5, to: 8)
                }
            ),
            (
                ["del[5] ins[0]"],
                {
                    try $0.set(reference(9), at: 5)
                    try $0.move(from: 5, to: 0)
                }
            ),
            (
                ["del[5] ins[0]"],
                {
                    try $0.move(from: 5, to: 0)
                    try $0.set(reference(9), at: 0)
                }
            ),
            (
                ["del[5]"],
                {
                    try $0.move(from: 5, to: 0)
                    try $0.remove(at: 0)
                }
            ),
            (
                ["del[2, 6] ins[7]"],
                {
                    try $0.move(from: 2, to: 8)
                    try $0.remove(at: 5)
                }
            ),
            (
                ["del[2] ins[5, 9]"],
                {
                    try $0.move(from: 2, to: 8)
                    try $0.insert(reference(0), at: 5)
                }
            ),
            (
                ["del[6] ins[4, 6] mod[5] new[7]"],
                {
                    try $0.insert(reference(0), at: 5)
                    try $0.set(reference(1), at: 6)
                    try $0.move(from: 7, to: 4)
                }
            ),
        ])
    }

    @Test func `an element that moved and moved back is modified`() throws {
        let list = try holder.list("targets")
        let token = try world.observe(list, received)
        try world.remotely { store in
            let list = try world.object(0, of: "Holder", in: store).list("targets")
            try world.set(world.object(5, of: "Target", in: store), 99)
            try world.set(world.object(1, of: "Target", in: store), 99)
            try list.move(from: 5, to: 8)
            try list.move(from: 1, to: 2)
        }
        try world.remotely { store in
            try world.object(0, of: "Holder", in: store).list("targets").move(from: 8, to: 5)
        }
        world.stores.settle()
        let observed = received.news()
        #expect(observed == ["del[1] ins[2] mod[5]"] || observed == ["del[2] ins[1] mod[5]"])
        token.invalidate()
    }

    @Test func `An object that is removed from a list and added again is another element`() throws {
        try edits([
            (
                ["del[0] ins[0]"],
                {
                    try $0.insert(self.reference(0), at: 1)
                    try $0.remove(at: 0)
                }
            )
        ])
        // In a sorted query over a list, the object stays unless a call occurs between the two writes.
        let schema = world.store.schema
        let objects = try schema.require("Obj")
        let owner = try schema.require("Holder")
        let object = Value.object(try world.object(3).reference)
        let list = try holder.list("objects")
        try world.store.write { try list.append([object]) }
        world.stores.settle()
        let base = Query.Base.list(
            owner.table, try owner.requireProperty("objects").column, holder.key)
        let query = try Query(base, of: objects.table).sorted([("value", true)], schema: schema)
        for (pace, commits, expected) in [
            (nil, 1, []), (nil, 2, ["del[0]", "ins[0]"]),
            (.throttle(.seconds(2)), 2, ["del[0]", "ins[0]"]),
        ] as [(ObserverPace?, Int, [String])] {
            let token = try world.store.observe(query, pace: pace, received.receive)
            world.stores.settle()
            #expect(received.news() == ["initial"])
            if commits == 1 {
                try world.store.write {
                    try list.append([object])
                    try list.remove(at: 0)
                }
            } else {
                try world.store.write { try list.remove(at: 0) }
                world.stores.settle()
                try world.store.write { try list.append([object]) }
            }
            world.stores.settle()
            world.stores.scheduler.pass(.seconds(10))
            #expect(received.news() == expected)
            token.invalidate()
        }
    }
}
