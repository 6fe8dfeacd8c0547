import ColumnStorage
import ObjectStore
import Testing

/// Observers of one object.
@Suite struct ObjectObserverTests {
    let world: ObservedWorld
    let received = ReceivedCalls()

    init() throws { world = try ObservedWorld() }

    private func observe(_ keyPaths: [String] = [], _ number: Int64 = 1) throws -> NotificationToken
    {
        try world.store.observe(
            world.object(number).reference, keyPaths: keyPaths, received.receive)
    }

    /// The reports of a change to either store.
    private func received(after body: (Store) throws -> Void) throws -> [String] {
        try world.store.write { try body(world.store) }
        world.stores.settle()
        return received.news()
    }

    @Test func `changes are reported with old and new value, in every writer and reader`() throws {
        let token = try observe()
        world.stores.settle()
        #expect(received.news() == [])
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["value 2>3"])
        try world.remotely { try world.set(world.object(1, in: $0), 7) }
        #expect(received.calls == [])
        world.stores.settle()
        #expect(received.news() == ["value 3>7"])
        token.invalidate()
    }

    @Test func `the first call contains the old value`() throws {
        let token = try observe()
        try world.remotely { try world.set(world.object(1, in: $0), 7) }
        world.stores.settle()
        #expect(received.news() == ["value 2>7"])
        token.invalidate()
    }

    @Test func `several properties are reported in schema order`() throws {
        let token = try observe()
        let news = try received { _ in
            try world.object(1).set("text", .string("a"))
            try world.set(world.object(1), 3)
        }
        #expect(news == ["value 2>3, text nil>\"a\""])
        token.invalidate()
    }

    @Test func `an equal value is reported too`() throws {
        let token = try observe()
        #expect(try received { _ in try world.set(world.object(1), 2) } == ["value 2>2"])
        try world.remotely { try world.set(world.object(1, in: $0), 9) }
        try world.remotely { try world.set(world.object(1, in: $0), 2) }
        world.stores.settle()
        #expect(received.news() == ["value 2>2"])
        #expect(token.statistics.coalescedCommits == 1)
    }

    @Test func `changes of other objects are not reported`() throws {
        let token = try observe()
        #expect(try received { _ in try world.set(world.object(2), 3) } == [])
        token.invalidate()
    }

    @Test func `deletion is reported once, with and without key paths`() throws {
        let tokens = [try observe(), try observe(["text"])]
        #expect(try received { try $0.delete(world.object(1)) } == ["deleted", "deleted"])
        #expect(tokens.map(\.isValid) == [false, false])
        #expect(try received { try $0.create("Obj") } == [])
    }

    @Test func `deleting a whole class notifies each observer`() throws {
        let tokens = [try observe(), try observe([], 2)]
        #expect(try received { try $0.deleteAll("Obj") } == ["deleted", "deleted"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `deletion before the first delivery is reported`() throws {
        let token = try observe()
        try world.remotely { try $0.delete(world.object(1, in: $0)) }
        world.stores.settle()
        #expect(received.news() == ["deleted"])
        token.invalidate()
    }

    @Test func `links are reported when they change and when their target is deleted`() throws {
        let token = try observe()
        let target = try world.object(4, of: "Target")
        let relinked = try received { _ in
            try world.object(1).set("link", .object(target.reference))
        }
        #expect(relinked == ["link object 1>object 4"])
        #expect(
            try received { try $0.delete(world.object(4, of: "Target")) } == ["link object 4>nil"])
        token.invalidate()
    }

    @Test func `without a key path, changes of linked objects are not reported`() throws {
        let token = try observe()
        #expect(try received { _ in try world.set(world.object(1, of: "Target"), 100) } == [])
        token.invalidate()
    }

    @Test func `lists only report that they changed`() throws {
        let token = try observe()
        let target = try world.object(4, of: "Target")
        let appended = try received { _ in
            try world.object(1).list("targets").append([.object(target.reference)])
        }
        #expect(appended == ["targets nil>nil"])
        #expect(try received { _ in try world.set(target, 100) } == [])
        token.invalidate()
    }

    @Test func `without a key path, new backlinks are not reported`() throws {
        let token = try observe()
        let object = try world.object(1)
        let link = Value.dictionary(["link": .object(object.reference)])
        #expect(try received { try $0.create("Linking", link) } == [])
        token.invalidate()
    }

    @Test func `nil is reported like a value`() throws {
        let token = try observe()
        let object = try world.object(1)
        #expect(try received { _ in try object.set("text", .string("a")) } == ["text nil>\"a\""])
        #expect(try received { _ in try object.set("text", .null) } == ["text \"a\">nil"])
        token.invalidate()
    }

    @Test func `observing an invalid object is an error`() throws {
        let object = try world.object(1)
        try world.store.write {
            _ = storeError(.alreadyInWrite) {
                _ = try world.store.observe(object.reference) { _ in }
            }
            try world.store.delete(object)
        }
        _ = storeError(.invalidObject) { _ = try world.store.observe(object.reference) { _ in } }
    }

    @Test func `two observers are called in the order of registration`() throws {
        var order: [Int] = []
        let reference = try world.object(1).reference
        let tokens = try (0..<2).map { number in
            try world.store.observe(reference) { _ in order.append(number) }
        }
        _ = try received { _ in try world.set(world.object(1), 3) }
        #expect(order == [0, 1])
        withExtendedLifetime(tokens) {}
    }

    @Test func `only named properties are reported`() throws {
        let token = try observe(["value", "link"])
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["value 2>3"])
        #expect(try received { _ in try world.object(1).set("text", .string("a")) } == [])
        token.invalidate()
    }

    @Test func `a link alone does not include the linked object`() throws {
        let token = try observe(["link"])
        #expect(try received { _ in try world.set(world.object(1, of: "Target"), 9) } == [])
        #expect(
            try received { _ in try world.object(1).set("link", .null) } == ["link object 1>nil"])
        token.invalidate()
    }

    @Test func `a path through a link reports the link`() throws {
        let token = try observe(["link.value"])
        let target = try world.object(1, of: "Target")
        #expect(try received { _ in try world.set(target, 9) } == ["link object 1>object 1"])
        #expect(try received { _ in try world.set(target, "value2", 9) } == [])
        #expect(try received { _ in try world.set(world.object(1), 9) } == [])
        let other = try world.object(5, of: "Target")
        #expect(
            try received { _ in try world.object(1).set("link", .object(other.reference)) }
                == ["link object 1>object 5"])
        #expect(try received { _ in try world.set(target, 10) } == [])
        token.invalidate()
    }

    @Test func `paths through a list report the list`() throws {
        let targets = try (0..<2).map { Value.object(try world.object($0, of: "Target").reference) }
        let list = try world.object(1).list("targets")
        try world.store.write { try list.append(targets) }
        world.stores.settle()
        let token = try observe(["targets.value"])
        #expect(
            try received { _ in try world.set(world.object(0, of: "Target"), 9) } == [
                "targets nil>nil"
            ]
        )
        #expect(
            try received { _ in try world.set(world.object(0, of: "Target"), "value2", 9) } == [])
        #expect(try received { _ in try list.remove(at: 0) } == ["targets nil>nil"])
        #expect(try received { _ in try world.set(world.object(0, of: "Target"), 9) } == [])
        #expect(
            try received { try $0.delete(world.object(1, of: "Target")) } == ["targets nil>nil"])
        token.invalidate()
    }

    @Test func `paths through backlinks report new and removed backlinks`() throws {
        let object = try world.object(1)
        let token = try observe(["linkings.value"])
        let link = Value.dictionary(["link": .object(object.reference)])
        var linking: LiveObject?
        #expect(try received { linking = try $0.create("Linking", link) } == ["linkings nil>nil"])
        let linker = try #require(linking)
        #expect(try received { _ in try world.set(linker, 9) } == ["linkings nil>nil"])
        let away = Value.object(try world.object(2).reference)
        #expect(try received { _ in try linker.set("link", away) } == ["linkings nil>nil"])
        #expect(try received { _ in try world.set(linker, 10) } == [])
        token.invalidate()
    }

    @Test func `key paths are not limited to three links`() throws {
        var chain: [LiveObject] = []
        try world.store.write {
            var next = Value.null
            for _ in 0..<7 {
                let object = try world.store.create("Other", .dictionary(["next": next]))
                chain.insert(object, at: 0)
                next = .object(object.reference)
            }
        }
        world.stores.settle()
        let token = try world.store.observe(
            chain[0].reference, keyPaths: ["next.next.next.next.next.value"], received.receive)
        #expect(try received { _ in try world.set(chain[6], 1) } == [])
        #expect(try received { _ in try world.set(chain[4], 1) } == [])
        #expect(try received { _ in try world.set(chain[5], 1) }.count == 1)
        token.invalidate()
    }

    @Test func `an empty list of key paths does not filter, and a wildcard matches every property`()
        throws
    {
        let tokens = [try observe([]), try observe(["*"])]
        #expect(try received { _ in try world.set(world.object(1), 3) }.count == 2)
        let star = try observe(["*.value"])
        #expect(try received { _ in try world.set(world.object(1, of: "Target"), 3) }.count == 1)
        withExtendedLifetime((tokens, star)) {}
    }

    @Test func `a wrong key path is an error with the nearest name`() throws {
        let error = storeError(.unknownProperty) { _ = try observe(["link.valu"]) }
        #expect(error?.message.contains("value") == true)
        _ = storeError(.invalidQuery) { _ = try observe(["value.more"]) }
        _ = storeError(.invalidQuery) { _ = try observe([""]) }
    }

    @Test func `the filters of two tokens do not affect each other`() throws {
        let other = ReceivedCalls()
        let first = try observe(["value"])
        let second = try world.store.observe(
            world.object(1).reference, keyPaths: ["text"], other.receive)
        #expect(try received { _ in try world.set(world.object(1), 3) } == ["value 2>3"])
        #expect(other.calls == [])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `the reason of a call contains version, properties and key path`() throws {
        let token = try observe(["text", "value"])
        #expect(token.reason == nil)
        _ = try received { _ in try world.set(world.object(1), 3) }
        let reason = try #require(token.reason)
        #expect(reason.version == world.store.version)
        #expect(reason.properties == ["value"])
        #expect(reason.keyPath == "value")
        #expect(reason.causes.map(\.object) == [try world.object(1).reference])
        #expect(token.statistics.calls == 1)
    }

    @Test func `an object with the same key does not replace a deleted one`() throws {
        let store = world.store
        let object = try store.write {
            try store.create("Keyed", .dictionary(["id": .int(1), "value": .int(5)]))
        }
        let token = try store.observe(object.reference, received.receive)
        let news = try received { store in
            try store.delete(object)
            try store.create("Keyed", .dictionary(["id": .int(1), "value": .int(6)]))
        }
        #expect(news == ["deleted"])
        #expect(!token.isValid)
        let successor = try #require(
            try store.object("Keyed", primaryKey: .int(1)))
        #expect(try received { _ in try world.set(successor, 7) } == [])
    }

    @Test func `an object and its defaults in one write are not a modification`() throws {
        let store = world.store
        let rows = ReceivedCalls()
        let token = try world.observe(world.query("Keyed"), [], rows)
        try store.write {
            let object = try store.create("Keyed", .dictionary(["id": .int(1)]))
            #expect(try object.value("value") == .int(0))
            try world.set(object, 3)
        }
        world.stores.settle()
        #expect(rows.news() == ["ins[0]"])
        token.invalidate()
    }
}
