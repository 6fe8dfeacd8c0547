import ColumnStorage
import Testing

@testable import ObjectStore

/// Details of the reports to observers that scripts do not see; `Tests/Specifications/observing_*.lua` specify the rest.
@Suite struct ReportedChangeTests {
    private let world: ObservedWorld
    private let received = ReceivedCalls()
    private var store: Store { world.store }

    init() throws { world = try ObservedWorld() }

    @Test func `a map reports the positions of its keys in byte order`() throws {
        let names: Value = .dictionary(["key0": .int(0), "key1": .int(1), "key3": .int(3)])
        let map = try store.write { try store.create("Bag", .dictionary(["names": names])) }
            .map("names")
        let token = try map.observe(received.receive)
        world.stores.settle()
        #expect(received.news() == ["initial"])
        func receive(_ key: String) throws -> [String] {
            try world.received(received) { _ in try map.set(.int(1), forKey: key) }
        }
        #expect(try receive("key") == ["ins[0]"])
        #expect(try receive("key2") == ["ins[3]"])
        token.invalidate()
    }

    @Test func `an observer that is stopped while a silent write passes it continues after it`()
        throws
    {
        let token = try world.observe(world.query("Obj", "any targets.value > 100"), [], received)
        let target = try world.object(1, of: "Target").reference
        try store.beginWrite()
        let targets = Value.list(Array(repeating: .object(target), count: 2_000))
        try world.object(1).set("targets", targets)
        // Only the observer is stopped, not the write.
        try Interruption.$current.withValue(Interruption { true }) {
            try store.commitWrite(withoutNotifying: [token])
        }
        #expect(received.news() == [])
        #expect(token.isValid)
        #expect(world.errors.errors.count == 1)
        try store.write { try world.object(2).set("targets", targets) }
        world.stores.settle()
        #expect(received.news() == [])
        try store.write { try world.object(1, of: "Target").set("value", .int(500)) }
        world.stores.settle()
        #expect(received.news() == ["ins[0, 1]"])
    }

    @Test func `observers that trigger each other endlessly are stopped and reported`() throws {
        let objects = [try world.object(1), try world.object(2)]
        let names = ["ping", "pong"]
        let tokens = try names.enumerated().map { number, name in
            try store.observe(objects[number].reference, name: name) { _ in
                try store.write { try world.set(objects[1 - number], 3) }
            }
        }
        try store.write { try world.set(objects[0], 4) }
        world.stores.settle()
        #expect(world.errors.errors.count == 1)
        let error = try #require(world.errors.errors.first as? StoreError)
        #expect(error.code == .limitExceeded)
        #expect(names.allSatisfy { error.message.contains("'\($0)'") })
        let calls = tokens.reduce(0) { $0 + $1.statistics.calls }
        #expect(calls == WriteRounds.maximum + 1)
        #expect(!store.isInWrite)

        // The next change starts a new count.
        tokens[1].invalidate()
        try store.write { try world.set(objects[0], 5) }
        world.stores.settle()
        #expect(tokens[0].statistics.calls == calls / 2 + 2)
        #expect(world.errors.errors.count == 1)
    }

    @Test func `an element that moved and moved back is modified`() throws {
        let list = try world.holder().list("targets")
        world.stores.settle()
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

    @Test
    func `In a sorted query over a list, an object that is removed and added in one write stays`()
        throws
    {
        let holder = try world.holder()
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
