import ColumnStorage
import ObjectStore
import Testing

/// Observers of sets and maps.
@Suite struct SetAndMapObserverTests {
    private let world: ObservedWorld
    private let owner: LiveObject
    private let received = ReceivedCalls()

    init() throws {
        world = try ObservedWorld()
        let world = world
        owner = try world.store.write {
            try world.store.create(
                "Bag",
                .dictionary([
                    "ints": .list([.int(1), .int(3), .int(5)]),
                    "links": .list(
                        try [2, 4, 6].map { .object(try world.object($0, of: "Target").reference) }),
                    "names": .dictionary(["key0": .int(0), "key1": .int(1), "key3": .int(3)]),
                    "things": .dictionary([
                        "a": .object(try world.object(1, of: "Target").reference),
                        "b": .object(try world.object(2, of: "Target").reference),
                    ]),
                ]))
        }
        world.stores.settle()
    }

    private func observe(
        _ collection: some LiveCollection, _ received: ReceivedCalls, _ keyPaths: [String] = []
    ) throws -> NotificationToken {
        let token = try collection.observe(keyPaths: keyPaths, received.receive)
        world.stores.settle()
        #expect(received.news() == ["initial"])
        return token
    }

    private func receive(_ body: () throws -> Void) throws -> [String] {
        try world.received(received) { _ in try body() }
    }

    @Test func `elements are inserted at their sorted positions, equal ones are not`() throws {
        let set = try owner.set("ints")
        let token = try observe(set, received)
        #expect(try receive { try set.insert(.int(4)) } == ["ins[2]"])
        #expect(try receive { try set.insert(.int(4)) } == [])
        #expect(try receive { try set.remove(.int(3)) } == ["del[1]"])
        #expect(try receive { try set.remove(.int(3)) } == [])
        token.invalidate()
    }

    @Test func `clearing a set deletes every element`() throws {
        let set = try owner.set("links")
        let token = try observe(set, received)
        let observed = try receive {
            try set.removeAll()
            try set.insert(.object(world.object(4, of: "Target").reference))
        }
        #expect(observed == ["del[0, 1, 2] ins[0]"])
        #expect(try receive { try set.removeAll() } == ["del[0]"])
        token.invalidate()
    }

    @Test func `changes of elements and of the owner are reported, those of other sets are not`()
        throws
    {
        let set = try owner.set("links")
        let token = try observe(set, received)
        #expect(try receive { try owner.set("ints").insert(.int(9)) } == [])
        #expect(try receive { try world.set(world.object(4, of: "Target"), 99) } == ["mod[1]"])
        #expect(try receive { try world.store.delete(world.object(4, of: "Target")) } == ["del[1]"])
        #expect(try receive { try world.store.delete(owner) } == ["del[0, 1] gone"])
        #expect(!token.isValid)
    }

    @Test func `set algebra is reported by element`() throws {
        let set = try owner.set("ints")
        let token = try observe(set, received)
        #expect(try receive { try set.formUnion([.int(0), .int(3), .int(7)]) } == ["ins[0, 4]"])
        #expect(try receive { try set.formIntersection([.int(0), .int(7)]) } == ["del[1, 2, 3]"])
        token.invalidate()
    }

    @Test func `a filter of a set applies to its objects`() throws {
        let token = try observe(owner.set("links"), received, ["value"])
        #expect(try receive { try world.set(world.object(2, of: "Target"), 5) } == ["mod[0]"])
        #expect(try receive { try world.set(world.object(2, of: "Target"), "value2", 5) } == [])
        token.invalidate()
    }

    /// Observes a map and records its keys.
    private func keys(_ map: LiveMap, _ keyPaths: [String] = []) throws -> NotificationToken {
        let received = received
        let token = try map.observe(keyPaths: keyPaths) { change in
            if case .initial = change.kind { return }
            let parts = try [
                ("del", change.deletedKeys), ("ins", change.insertedKeys),
                ("mod", change.modifiedKeys),
            ].filter { !$0.1.isEmpty }.map { "\($0.0) \($0.1.joined(separator: ","))" }
            received.calls.append(
                parts.joined(separator: " ") + (change.isCollectionValid ? "" : " gone"))
        }
        world.stores.settle()
        return token
    }

    @Test func `a map reports its keys`() throws {
        let map = try owner.map("names")
        let token = try keys(map)
        #expect(try receive { try map.set(.int(2), forKey: "key2") } == ["ins key2"])
        #expect(try receive { try map.set(.int(7), forKey: "key1") } == ["mod key1"])
        #expect(try receive { try map.set(.int(7), forKey: "key1") } == ["mod key1"])
        #expect(try receive { try map.removeValue(forKey: "key3") } == ["del key3"])
        let observed = try receive {
            try map.set(.int(5), forKey: "key1")
            try map.removeValue(forKey: "key0")
            try map.set(.int(5), forKey: "a")
        }
        #expect(observed == ["del key0 ins a mod key1"])
        #expect(try receive { try map.removeAll() } == ["del a,key1,key2"])
        token.invalidate()
    }

    @Test func `deleting the owner causes the last call of a map`() throws {
        let token = try keys(owner.map("names"))
        #expect(try receive { try world.store.delete(owner) } == ["del key0,key1,key3 gone"])
        #expect(!token.isValid)
    }

    @Test func `objects of a map are modified, also by deletion`() throws {
        let map = try owner.map("things")
        let token = try keys(map)
        #expect(try receive { try world.set(world.object(1, of: "Target"), 99) } == ["mod a"])
        #expect(try receive { try world.store.delete(world.object(2, of: "Target")) } == ["mod b"])
        #expect(try map.count() == 2)
        #expect(try receive { try map.removeValue(forKey: "a") } == ["del a"])
        token.invalidate()
    }

    @Test func `results of a map follow its keys, sorted results follow the values`() throws {
        let map = try owner.map("things")
        let all = try Results(map)
        let sorted = try all.sorted([("value", false)])
        let other = ReceivedCalls()
        let tokens = try [(all, received), (sorted, other)].map { results, received in
            try world.store.observe(results.query, received.receive)
        }
        world.stores.settle()
        #expect(received.news() == ["initial"] && other.news() == ["initial"])
        func target(_ number: Int64) throws -> Value {
            .object(try world.object(number, of: "Target").reference)
        }
        try world.store.write { try map.set(target(9), forKey: "aa") }
        world.stores.settle()
        #expect(received.news() == ["ins[1]"] && other.news() == ["ins[0]"])
        try world.store.write { _ = try map.removeValue(forKey: "b") }
        world.stores.settle()
        #expect(received.news() == ["del[2]"] && other.news() == ["del[1]"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `keys are in byte order`() throws {
        let token = try observe(owner.map("names"), received)
        let map = try owner.map("names")
        #expect(try receive { try map.set(.int(1), forKey: "key") } == ["ins[0]"])
        #expect(try receive { try map.set(.int(1), forKey: "key2") } == ["ins[3]"])
        token.invalidate()
    }

    @Test func `a filter of a map applies to its objects`() throws {
        let map = try owner.map("things")
        let token = try keys(map, ["value"])
        #expect(try receive { try world.set(world.object(1, of: "Target"), 5) } == ["mod a"])
        #expect(try receive { try world.set(world.object(1, of: "Target"), "value2", 5) } == [])
        let linker = try world.object(3)
        #expect(try receive { try world.store.delete(linker) } == [])
        token.invalidate()
        let back = try keys(map, ["origin.text"])
        #expect(try receive { try world.object(1).set("text", .string("x")) } == ["mod a"])
        back.invalidate()
    }

    @Test func `key paths of plain values are refused`() throws {
        _ = storeError(.invalidQuery) {
            _ = try owner.map("names").observe(keyPaths: ["x"]) { _ in }
        }
        _ = storeError(.invalidQuery) {
            _ = try owner.set("ints").observe(keyPaths: ["x"]) { _ in }
        }
    }
}
