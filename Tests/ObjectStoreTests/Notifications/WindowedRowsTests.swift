import ColumnStorage
import Testing

@testable import ObjectStore

/// Observed queries over lists and over backlinks through lists, which track each element.
@Suite struct WindowedRowsTests {
    private let world: ObservedWorld
    private let received = ReceivedCalls()
    private let holder: LiveObject
    private let list: LiveList
    private var store: Store { world.store }

    init() throws {
        world = try ObservedWorld()
        // The targets 0 to 9, whose values are their numbers.
        holder = try world.holder()
        list = try holder.list("targets")
        world.stores.settle()
    }

    private func target(_ number: Int64) throws -> Value {
        .object(try world.object(number, of: "Target").reference)
    }

    private func observe(
        _ filter: String, sort: [(path: String, ascending: Bool)] = [], distinct: [String] = [],
        limit: Int? = nil
    ) throws -> NotificationToken {
        var results = try Results(list)
        if !filter.isEmpty { results = try results.filtered(filter) }
        if !sort.isEmpty { results = try results.sorted(sort) }
        if !distinct.isEmpty { results = try results.distinct(distinct) }
        if let limit { results = try results.limited(to: limit) }
        #expect(try !results.explain().contains("runs the query again"))
        return try world.observe(results.query, [], received)
    }

    private func set(_ number: Int64, _ value: Int64) throws {
        try world.set(world.object(number, of: "Target"), value)
    }

    @Test func `a filtered list keeps its order, and reports entering, leaving and modified rows`()
        throws
    {
        let token = try observe("value > 3")
        #expect(try world.received(received) { _ in try set(4, 1) } == ["del[0]"])
        #expect(try world.received(received) { _ in try set(4, 5) } == ["ins[0]"])
        #expect(try world.received(received) { _ in try set(6, 60) } == ["mod[2]"])
        #expect(try world.received(received) { _ in try set(1, 2) } == [])
        #expect(
            try world.received(received) { _ in try list.append([target(2), target(7)]) } == [
                "ins[6]"
            ])
        #expect(try world.received(received) { _ in try list.remove(at: 0) } == [])
        #expect(try world.received(received) { _ in try list.remove(at: 3) } == ["del[0]"])
        #expect(
            try world.received(received) { try $0.delete(world.object(9, of: "Target")) } == [
                "del[4]"
            ])
        #expect(
            try world.received(received) { _ in try list.removeAll() } == ["del[0, 1, 2, 3, 4]"])
        #expect(try world.received(received) { _ in try list.append([target(8)]) } == ["ins[0]"])
        token.invalidate()
    }

    @Test func `a move is reported only among matching rows`() throws {
        let token = try observe("value > 3")
        #expect(try world.received(received) { _ in try list.move(from: 0, to: 2) } == [])
        #expect(try world.received(received) { _ in try list.move(from: 0, to: 9) } == [])
        #expect(try world.received(received) { _ in try list.swap(0, 1) } == [])
        // The list is now 0, 2, 3, 4 … 9, 1.
        #expect(
            try world.received(received) { _ in try list.move(from: 8, to: 3) } == ["del[5] ins[0]"]
        )
        token.invalidate()
    }

    @Test func `a replaced element is a deletion and an insertion`() throws {
        let token = try observe("value > 3")
        #expect(
            try world.received(received) { _ in try list.set(target(8), at: 4) } == [
                "del[0] ins[0]"
            ])
        #expect(try world.received(received) { _ in try list.set(target(0), at: 4) } == ["del[0]"])
        #expect(try world.received(received) { _ in try list.set(target(5), at: 0) } == ["ins[0]"])
        #expect(try world.received(received) { _ in try list.set(target(5), at: 0) } == [])
        token.invalidate()
    }

    @Test func `moves in a sorted list count among equal values only`() throws {
        let token = try observe("", sort: [("value2", true)])
        // All values are equal, so the result has the order of the list.
        #expect(
            try world.received(received) { _ in try list.move(from: 9, to: 0) } == ["del[9] ins[0]"]
        )
        try store.write {
            for number in 0..<10 {
                let target = try world.object(Int64(number), of: "Target")
                try world.set(target, "value2", Int64(number))
            }
        }
        world.stores.settle()
        _ = received.news()
        #expect(try world.received(received) { _ in try list.move(from: 9, to: 0) } == [])
        #expect(try world.received(received) { _ in try list.swap(2, 7) } == [])
        #expect(
            try world.received(received) { _ in
                try world.set(world.object(2, of: "Target"), "value2", 100)
            }
                == ["del[2] ins[9]"])
        token.invalidate()
    }

    @Test func `an object that occurs several times is several rows`() throws {
        try store.write { try list.insert(target(5), at: 0) }
        let token = try observe("value > 3")
        #expect(try world.received(received) { _ in try set(5, 50) } == ["mod[0, 2]"])
        #expect(try world.received(received) { _ in try set(5, 0) } == ["del[0, 2]"])
        #expect(try world.received(received) { _ in try set(5, 5) } == ["ins[0, 2]"])
        #expect(try world.received(received) { _ in try list.remove(at: 6) } == ["del[2]"])
        #expect(try world.received(received) { _ in try list.append([target(5)]) } == ["ins[6]"])
        #expect(
            try world.received(received) { try $0.delete(world.object(5, of: "Target")) }
                == ["del[0, 6]"])
        token.invalidate()
    }

    @Test func `distinct values and limits apply to a list`() throws {
        try store.write { try list.append([target(0), target(1)]) }
        let once = try observe("", distinct: ["value"], limit: 3)
        #expect(try world.received(received) { _ in try list.remove(at: 0) } == ["del[0] ins[2]"])
        #expect(try world.received(received) { _ in try list.remove(at: 5) } == [])
        #expect(try world.received(received) { _ in try set(2, 1) } == ["del[1] ins[2]"])
        once.invalidate()
    }

    @Test func `deleting the owner of a filtered list causes the last call`() throws {
        let token = try observe("value > 3", sort: [("value", false)])
        #expect(
            try world.received(received) { try $0.delete(holder) } == ["del[0, 1, 2, 3, 4, 5] gone"]
        )
        #expect(!token.isValid)
    }

    @Test func `many single insertions at the same position stay in order`() throws {
        let results = try Results(list).filtered("value < 5").sorted([("value2", true)])
        var keys: [ObjectKey] = []
        let token = try results.observe { change in
            if case .initial = change.kind { keys = try results.keys().array }
            for position in change.deletions.reversed() { keys.remove(at: position) }
            for (position, object) in zip(change.insertions, change.insertedObjects) {
                keys.insert(object.key, at: position)
            }
        }
        world.stores.settle()
        for round in 0..<120 {
            let index = [0, 5, 5 + round, 7][round % 4]
            try store.write { try list.insert(target(Int64(round % 8)), at: index) }
            world.stores.settle()
            #expect(try keys == results.keys().array)
        }
        token.invalidate()
    }

    @Test func `labels between elements are reassigned when none is left`() throws {
        var random = SplitMix(seed: 4)
        let shadow = try Results(list).filtered("value >= 0")
        var keys: [ObjectKey] = []
        let token = try shadow.observe { change in
            if case .initial = change.kind { keys = try shadow.keys().array }
            for position in change.deletions.reversed() { keys.remove(at: position) }
            for (position, object) in zip(change.insertions, change.insertedObjects) {
                keys.insert(object.key, at: position)
            }
        }
        world.stores.settle()
        // Each insertion is between the two latest elements, so it halves the gap.
        var index = 5
        for round in 0..<80 {
            index += round % 2
            try store.write {
                try list.insert(target(.random(in: 0..<10, using: &random)), at: index)
            }
            world.stores.settle()
        }
        #expect(try keys == shadow.keys().array)
        token.invalidate()
    }

    private func observed(_ results: Results, _ cost: String) throws -> NotificationToken {
        #expect(try results.explain().contains(cost))
        let token = try world.observe(results.query, [], received)
        #expect(token.cost == cost)
        return token
    }

    @Test func `the objects of a map follow its edits, in the order of the keys`() throws {
        let bag = try store.write { try store.create("Bag", .dictionary([:])) }
        let map = try bag.map("things")
        func put(_ number: Int64, _ key: String) throws { try map.set(target(number), forKey: key) }
        try store.write {
            for number in 0..<5 { try put(Int64(number), "k\(number)") }
            try map.set(.null, forKey: "k1")
        }
        let token = try observed(
            Results(map).filtered("value > 1"),
            "follows the edits of the map, and reads only objects that a commit changes")
        // Now k2, k3 and k4; k0 does not match, and k1 is nil.
        #expect(try world.received(received) { _ in try put(7, "a") } == ["ins[0]"])
        #expect(try world.received(received) { _ in try put(8, "k1") } == ["ins[1]"])
        #expect(
            try world.received(received) { _ in try map.set(.null, forKey: "k3") } == ["del[3]"])
        #expect(try world.received(received) { _ in try set(4, 40) } == ["mod[3]"])
        #expect(try world.received(received) { _ in try set(0, 40) } == ["ins[1]"])
        #expect(try world.received(received) { _ in try put(9, "k4") } == ["del[4] ins[4]"])
        #expect(
            try world.received(received) { try $0.delete(world.object(8, of: "Target")) } == [
                "del[2]"
            ])
        #expect(try world.received(received) { _ in try map.removeValue(forKey: "k3") } == [])
        #expect(try world.received(received) { _ in try map.removeAll() } == ["del[0, 1, 2, 3]"])
        #expect(try world.received(received) { try $0.delete(bag) } == ["gone"])
        #expect(!token.isValid)
    }

    @Test func `operations after a limit apply to the rows before it`() throws {
        let best = try Results(.store(store), all: store.schema.require("Obj"))
            .sorted([("value", false)]).limited(to: 4)
        let token = try observed(
            best.filtered("value != 14").sorted([("text", true), ("value", true)]),
            "reads only objects that a commit changes; runs the query again when no more of the "
                + "258 rows after the limit are left; then reads only objects that a "
                + "commit changes, and searches for their positions")
        // The first four are 18, 16, 14 and 12, of which 12, 16 and 18 remain.
        #expect(
            try world.received(received) { _ in try world.set(world.object(0), 20) } == [
                "del[0] ins[2]"
            ])
        #expect(try world.received(received) { _ in try world.set(world.object(1), 3) } == [])
        #expect(
            try world.received(received) { _ in try world.object(9).set("text", .string("a")) }
                == ["del[1] ins[2]"])
        #expect(
            try world.received(received) { _ in try world.set(world.object(8), 14) } == ["del[0]"])
        #expect(try world.received(received) { try $0.delete(world.object(7)) } == ["ins[0]"])
        token.invalidate()
    }

    @Test func `backlinks through a list count every link`() throws {
        let query = try store.schema.backlinks("holders", of: world.object(3, of: "Target"))
        let results = Results(.store(store), query)
        #expect(try !results.explain().contains("runs the query again"))
        let token = try world.observe(results.sorted([("value", false)]).query, ["value"], received)
        let other = ReceivedCalls()
        let plain = try world.observe(query, ["value"], other)
        func news(after body: () throws -> Void) throws -> [[String]] {
            try store.write(body)
            world.stores.settle()
            return [received.news(), other.news()]
        }
        func targets(_ number: Int64) throws -> LiveList {
            try world.object(number).list("targets")
        }
        let link = try target(3)
        #expect(try news { try targets(4).append([link]) } == [["ins[0]"], ["ins[0]"]])
        #expect(try news { try targets(2).append([link, target(1)]) } == [["ins[1]"], ["ins[0]"]])
        #expect(try news { try targets(4).append([link]) } == [["ins[1]"], ["ins[2]"]])
        #expect(
            try news { try world.set(world.object(4), 1) }
                == [["del[2] ins[0] mod[0, 1] new[1, 2]"], ["mod[1, 2]"]])
        #expect(try news { try targets(4).remove(at: 0) } == [["del[2]"], ["del[2]"]])
        #expect(try news { try targets(2).move(from: 0, to: 1) } == [[], []])
        #expect(try news { try targets(2).set(target(5), at: 1) } == [["del[0]"], ["del[0]"]])
        #expect(try news { try store.delete(world.object(4)) } == [["del[0]"], ["del[0]"]])
        token.invalidate()
        plain.invalidate()
    }
}
