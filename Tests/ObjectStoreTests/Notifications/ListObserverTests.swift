import ColumnStorage
import ObjectStore
import Testing

/// Observers of lists and their elements: `targets` of a holder contains t0 … t9.
@Suite struct ListObserverTests {
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

    @Test func `a changed object is modified at each of its positions`() throws {
        let list = try holder.list("targets")
        try world.store.write { try list.append([reference(5)]) }
        let token = try world.observe(list, received)
        #expect(try world.received(received) { _ in try world.set(target(5), 6) } == ["mod[5, 10]"])
        #expect(try world.received(received) { try $0.delete(target(5)) } == ["del[5, 10]"])
        token.invalidate()
    }

    @Test func `deleted objects are removed from the list, others have no effect`() throws {
        let list = try holder.list("targets")
        let token = try world.observe(list, received)
        let stranger = try world.store.write { try world.store.create("Target", .dictionary([:])) }
        world.stores.settle()
        #expect(received.news() == [])
        #expect(try world.received(received) { try $0.delete(stranger) } == [])
        #expect(try world.received(received) { try $0.delete(target(5)) } == ["del[5]"])
        #expect(
            try world.received(received) { try $0.deleteAll("Target") } == [
                "del[0, 1, 2, 3, 4, 5, 6, 7, 8]"
            ]
        )
        token.invalidate()
    }

    @Test func `deleting the owner causes the last call, with every row`() throws {
        let list = try holder.list("targets")
        let token = try world.observe(list, received)
        #expect(
            try world.received(received) { try $0.delete(holder) }
                == ["del[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] gone"])
        #expect(!list.isValid)
        #expect(!token.isValid)
        #expect(try world.received(received) { _ in try world.set(target(5), 6) } == [])
    }

    @Test func `an empty list reports the deletion of its owner, also to a late observer`()
        throws
    {
        let empty = try holder.list("others")
        let token = try world.observe(empty, received)
        #expect(try world.received(received) { try $0.delete(holder) } == ["gone"])
        #expect(!token.isValid)

        let other = try world.holder()
        world.stores.settle()
        let late = try other.list("targets").observe(received.receive)
        try world.remotely { store in
            try store.delete(world.object(1, of: "Holder", in: store))
        }
        world.stores.settle()
        #expect(received.news() == ["initial, gone"])
        #expect(!late.isValid)
    }

    @Test func `observers that began at different versions receive the changes since then`() throws
    {
        let list = try holder.list("others")
        let first = ReceivedCalls()
        let second = ReceivedCalls()
        let tokens = [try list.observe(first.receive)]
        world.stores.settle()
        let other = try world.store.write {
            let other = try world.store.create("Other", .dictionary([:]))
            try list.append([.object(other.reference)])
            return other
        }
        let more = try list.observe(second.receive)
        world.stores.settle()
        #expect(first.news() == ["initial", "ins[0]"])
        #expect(second.news() == ["initial"])
        try world.store.write { try list.append([.object(other.reference)]) }
        world.stores.settle()
        #expect(first.news() == ["ins[1]"])
        #expect(second.news() == ["ins[1]"])
        more.invalidate()
        tokens.forEach { $0.invalidate() }
    }

    @Test func `several lists are reported separately`() throws {
        let numbers = ReceivedCalls()
        let tokens = [
            try world.observe(holder.list("targets"), received),
            try world.observe(holder.list("ints"), numbers),
        ]
        let observed = try world.received(received) { _ in
            try holder.list("targets").append([reference(0)])
            try holder.list("ints").insert(.int(7), at: 1)
            try holder.list("targets").append([reference(1)])
        }
        #expect(observed == ["ins[10, 11]"])
        #expect(numbers.news() == ["ins[1]"])
        tokens.forEach { $0.invalidate() }
    }

    @Test func `lists of plain values report the positions of their edits`() throws {
        let list = try holder.list("ints")
        let token = try world.observe(list, received)
        #expect(try world.received(received) { _ in try list.insert(.int(5), at: 0) } == ["ins[0]"])
        #expect(try world.received(received) { _ in try list.set(.int(5), at: 0) } == ["mod[0]"])
        let observed = try world.received(received) { _ in
            try list.remove(at: 0)
            try list.set(.int(1), at: 0)
        }
        #expect(observed == ["del[0] mod[1] new[0]"])
        #expect(try world.received(received) { _ in try list.removeAll() }.count == 1)
        #expect(try world.received(received) { try $0.delete(holder) } == ["gone"])
        token.invalidate()
    }

    @Test func `assigning a list to itself keeps its contents`() throws {
        let list = try holder.list("ints")
        try world.store.write { try holder.set("ints", .list(list.values())) }
        #expect(try list.values() == (0..<10).map(Value.int))
    }

    @Test func `a filter applies to the properties of the elements`() throws {
        let token = try world.observe(holder.list("targets"), ["value"], received)
        #expect(try world.received(received) { _ in try world.set(target(3), 77) } == ["mod[3]"])
        #expect(try world.received(received) { _ in try world.set(target(3), "value2", 77) } == [])
        #expect(
            try world.received(received) { _ in try holder.list("targets").append([reference(0)]) }
                == ["ins[10]"])
        #expect(
            try world.received(received) { _ in try holder.list("targets").remove(at: 0) } == [
                "del[0]"
            ])
        token.invalidate()
    }

    @Test func `filters of lists are exact for each token`() throws {
        let all = ReceivedCalls()
        let tokens = [
            try world.observe(holder.list("targets"), ["value"], received),
            try world.observe(holder.list("targets"), all),
        ]
        #expect(try world.received(received) { _ in try world.set(target(3), "value2", 1) } == [])
        #expect(all.news() == ["mod[3]"])
        tokens.forEach { $0.invalidate() }
    }

    @Test func `a silent write does not notify a list's observer`() throws {
        let list = try holder.list("targets")
        let other = ReceivedCalls()
        let token = try world.observe(list, received)
        let loud = try world.observe(list, other)
        try world.store.write(withoutNotifying: [token]) { try list.append([reference(0)]) }
        world.stores.settle()
        #expect(received.news() == [])
        #expect(other.news() == ["ins[10]"])
        try world.store.write { try list.append([reference(1)]) }
        world.stores.settle()
        #expect(received.news() == ["ins[11]"])
        token.invalidate()
        loud.invalidate()
    }

    @Test func `observing an invalid list is an error`() throws {
        let ints = try holder.list("ints")
        let error = storeError(.invalidQuery) { _ = try ints.observe(keyPaths: ["value"]) { _ in } }
        #expect(error?.message.contains("plain values") == true)
        let list = try holder.list("targets")
        _ = storeError(.unknownProperty) { _ = try list.observe(keyPaths: ["vlaue"]) { _ in } }
        try world.store.write {
            _ = storeError(.alreadyInWrite) { _ = try list.observe { _ in } }
        }
        try world.store.write { try world.store.delete(holder) }
        _ = storeError(.invalidObject) { _ = try list.observe { _ in } }
    }

    @Test func `edits beyond the recorded number are found by comparing`() throws {
        let list = try holder.list("ints")
        let token = try world.observe(list, received)
        let observed = try world.received(received) { _ in
            for number in 0..<3000 {
                try list.insert(.int(100), at: number % 2 == 0 ? 0 : list.count())
            }
        }
        let positions = Array(0..<1500) + Array(1510..<3010)
        #expect(observed == ["ins\(positions)"])
        token.invalidate()
    }
}
