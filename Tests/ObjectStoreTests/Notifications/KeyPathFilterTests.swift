import ColumnStorage
import ObjectStore
import Testing

/// Key paths of observers of results.
@Suite struct KeyPathFilterTests {
    let world: ObservedWorld
    let received = ReceivedCalls()

    init() throws { world = try ObservedWorld() }

    private func received(after body: (Store) throws -> Void) throws -> [String] {
        try world.received(received, after: body)
    }

    @Test func `a property of the row passes the filter`() throws {
        let token = try world.observe(world.middle(), ["value"], received)
        let target = try world.object(1, of: "Target")
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["mod[0]"])
        #expect(
            try received { _ in try world.object(1).set("second", .object(target.reference)) } == []
        )
        #expect(try received { _ in try world.set(target, 9) } == [])
        token.invalidate()
    }

    @Test func `a property of a linked object passes the filter`() throws {
        let token = try world.observe(world.middle(), ["link.value"], received)
        let target = try world.object(1, of: "Target")
        #expect(try received { _ in try world.set(target, 9) } == ["mod[0]"])
        #expect(try received { _ in try world.set(target, "value2", 9) } == [])
        #expect(try received { _ in try world.set(world.object(1), 3) } == [])
        #expect(try received { _ in try world.object(1).set("link", .null) } == ["mod[0]"])
        #expect(try received { _ in try world.set(target, 10) } == [])
        token.invalidate()
    }

    @Test func `a property of a list's element passes the filter`() throws {
        let token = try world.observe(world.middle(), ["targets.value"], received)
        let element = try world.object(9, of: "Target")
        let list = try world.object(3).list("targets")
        #expect(try received { _ in try list.append([.object(element.reference)]) } == ["mod[2]"])
        #expect(try received { _ in try world.set(element, 9) } == ["mod[2]"])
        #expect(try received { _ in try world.set(element, "value2", 9) } == [])
        #expect(try received { _ in try list.remove(at: 0) } == ["mod[2]"])
        #expect(try received { _ in try world.set(element, 10) } == [])
        token.invalidate()
    }

    @Test func `a link alone passes the filter`() throws {
        let token = try world.observe(world.middle(), ["link"], received)
        #expect(try received { _ in try world.set(world.object(1, of: "Target"), 9) } == [])
        #expect(try received { _ in try world.object(1).set("link", .null) } == ["mod[0]"])
        token.invalidate()
    }

    @Test func `inserted, deleted and moved rows pass every filter`() throws {
        let token = try world.observe(
            world.middle(sort: [("value", true)]), ["text"], received)
        #expect(try received { _ in try world.set(world.object(2), 0) } == ["del[1]"])
        #expect(try received { _ in try world.set(world.object(2), 5) } == ["ins[1]"])
        #expect(try received { _ in try world.set(world.object(2), 9) } == ["del[1] ins[3]"])
        #expect(try received { _ in try world.set(world.object(2), 8) } == ["del[3] ins[2]"])
        #expect(try received { _ in try world.set(world.object(1), 1) } == [])
        token.invalidate()
    }

    @Test func `an empty list of key paths does not filter`() throws {
        let token = try world.observe(world.middle(), [], received)
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["mod[0]"])
        #expect(try received { _ in try world.object(1).set("link", .null) } == ["mod[0]"])
        #expect(try received { _ in try world.set(world.object(2, of: "Target"), 9) } == ["mod[1]"])
        token.invalidate()
    }

    @Test func `a filter of backlinks applies to the linking objects`() throws {
        let target = try world.object(1, of: "Target")
        let query = try world.store.schema.backlinks("origin", of: target)
        let token = try world.observe(query, ["value"], received)
        let link = Value.object(target.reference)
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["mod[0]"])
        #expect(try received { _ in try world.object(1).set("text", .string("a")) } == [])
        #expect(try received { _ in try world.object(2).set("link", link) } == ["ins[1]"])
        #expect(try received { _ in try world.object(1).set("link", .null) } == ["del[0]"])
        #expect(try received { try $0.delete(target) } == ["del[0] gone"])
        #expect(!token.isValid)
    }

    @Test func `backlinks of the row pass the filter`() throws {
        let token = try world.observe(world.query("Target"), ["origin.value"], received)
        #expect(try received { _ in try world.set(world.object(1), 9) } == ["mod[1]"])
        let target = Value.object(try world.object(0, of: "Target").reference)
        #expect(try received { _ in try world.object(1).set("second", target) } == [])
        #expect(try received { try $0.create("Obj", .dictionary(["link": target])) } == ["mod[0]"])
        #expect(try received { try $0.delete(world.object(10)) } == ["mod[0]"])
        #expect(try received { _ in try world.object(1).set("link", target) } == ["mod[0, 1]"])
        token.invalidate()
    }

    @Test func `a list that gains an element modifies only that element's row`() throws {
        let list = try world.object(3).list("targets")
        let targets = try (0..<3).map { Value.object(try world.object($0, of: "Target").reference) }
        try world.store.write { try list.append(Array(targets[0..<2])) }
        let token = try world.observe(world.query("Target"), ["holders"], received)
        #expect(try received { _ in try list.append([targets[2]]) } == ["mod[2]"])
        #expect(try received { _ in try list.remove(at: 0) } == ["mod[0]"])
        #expect(try received { _ in try list.swap(0, 1) } == [])
        token.invalidate()
    }

    @Test func `filters are exact for each token, regardless of other observers`() throws {
        let paths = [[], ["value"], ["link.value"], ["link.link.value"]]
        let observed = paths.map { _ in ReceivedCalls() }
        let query = try world.middle()
        let tokens = try zip(paths, observed).map { try world.observe(query, $0, $1) }
        func hit(_ body: (Store) throws -> Void) throws -> [Int] {
            try world.store.write { try body(world.store) }
            world.stores.settle()
            return observed.indices.filter { !observed[$0].news().isEmpty }
        }
        let target = try world.object(1, of: "Target")
        #expect(try hit { _ in try world.set(world.object(1), 3) } == [0, 1])
        #expect(try hit { _ in try world.set(target, 3) } == [0, 2])
        #expect(try hit { _ in try world.set(target, "value2", 3) } == [0])
        #expect(try hit { _ in try world.object(1).set("link", .null) } == [0, 2, 3])
        #expect(try hit { try $0.create("Other") } == [])
        withExtendedLifetime(tokens) {}
    }

    @Test func `the reason contains the changed key path`() throws {
        let token = try world.observe(world.middle(), ["text", "link.value"], received)
        _ = try received { _ in try world.set(world.object(1, of: "Target"), 9) }
        #expect(token.reason?.keyPath == "link.value")
    }
}
