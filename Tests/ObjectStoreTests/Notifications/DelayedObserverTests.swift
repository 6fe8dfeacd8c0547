import ColumnStorage
import ObjectStore
import Testing

/// Observers with a delay.
@Suite struct DelayedObserverTests {
    private let world: ObservedWorld
    private let received = ReceivedCalls()
    private let other = ReceivedCalls()
    private var scheduler: ManualScheduler { world.stores.scheduler }

    init() throws {
        world = try ObservedWorld()
    }

    private func observe(_ pace: ObserverPace, _ received: ReceivedCalls) throws
        -> NotificationToken
    {
        let token = try world.store.observe(world.query("Obj"), pace: pace, received.receive)
        world.stores.settle()
        #expect(received.news() == ["initial"])
        return token
    }

    private func write(
        silencing token: NotificationToken? = nil, _ body: () throws -> Void
    ) throws {
        try world.store.write(withoutNotifying: token.map { [$0] } ?? [], body)
        world.stores.settle()
    }

    private func set(_ number: Int64, _ value: Int64) throws {
        try write { try world.set(world.object(number), value) }
    }

    @Test func `debounce reports all changes after a time without changes`() throws {
        let token = try observe(.debounce(.seconds(10)), received)
        try set(1, 100)
        scheduler.pass(.seconds(6))
        try set(2, 100)
        scheduler.pass(.seconds(6))
        #expect(received.news() == [])
        scheduler.pass(.seconds(6))
        #expect(received.news() == ["mod[1, 2]"])
        scheduler.pass(.seconds(60))
        #expect(received.news() == [])
        try set(3, 100)
        scheduler.pass(.seconds(11))
        #expect(received.news() == ["mod[3]"])
        #expect(token.statistics.calls == 3)
    }

    @Test func `unrelated commits do not delay a call`() throws {
        let token = try world.store.observe(
            world.query("Obj", "value < 10"), pace: .debounce(.seconds(10)), received.receive)
        world.stores.settle()
        #expect(received.news() == ["initial"])
        try set(1, 3)
        for _ in 0..<4 {
            scheduler.pass(.seconds(3))
            try set(9, 18)
        }
        #expect(received.news() == ["mod[1]"])
        token.invalidate()
    }

    @Test func `undone changes are not reported`() throws {
        let token = try observe(.debounce(.seconds(1)), received)
        try write { try world.store.create("Obj", .dictionary(["value": .int(1)])) }
        try write { try world.store.delete(world.object(10)) }
        scheduler.pass(.seconds(2))
        #expect(received.news() == [])
        token.invalidate()
    }

    @Test func `throttle reports immediately and then after its time`() throws {
        let token = try observe(.throttle(.seconds(10)), received)
        try set(1, 100)
        #expect(received.news() == ["mod[1]"])
        try set(2, 100)
        try set(3, 100)
        scheduler.pass(.seconds(9))
        #expect(received.news() == [])
        scheduler.pass(.seconds(2))
        #expect(received.news() == ["mod[2, 3]"])
        scheduler.pass(.seconds(11))
        #expect(received.news() == [])
        try set(4, 100)
        #expect(received.news() == ["mod[4]"])
        token.invalidate()
    }

    @Test func `a silent write is not reported later, even together with other changes`() throws {
        let token = try observe(.debounce(.seconds(10)), received)
        try set(1, 100)
        try write(silencing: token) {
            try world.set(world.object(2), 100)
            try world.set(world.object(1), 101)
            try world.store.create("Obj", .dictionary([:]))
        }
        try set(3, 100)
        scheduler.pass(.seconds(11))
        #expect(received.news() == ["mod[1, 3]"])
        // A silent change is reported together with a later coalesced change of the same row.
        try set(1, 1)
        try world.store.write(withoutNotifying: [token]) { try world.set(world.object(4), 100) }
        try set(4, 101)
        scheduler.pass(.seconds(11))
        #expect(received.news() == ["mod[1, 4]"])
        // Only silent writes cause no call, and keep no version.
        try write(silencing: token) { try world.set(world.object(5), 1) }
        scheduler.pass(.seconds(11))
        #expect(received.news() == [])
        try set(6, 100)
        scheduler.pass(.seconds(11))
        #expect(received.news() == ["mod[6]"])
    }

    @Test func `positions include the changes of silent writes`() throws {
        let token = try observe(.debounce(.seconds(10)), received)
        try set(5, 100)
        try world.store.write(withoutNotifying: [token]) {
            try world.store.delete(world.object(0))
            try world.store.create("Obj", .dictionary([:]))
        }
        try write {
            try world.store.delete(world.object(7))
            try world.store.create("Obj", .dictionary([:]))
        }
        scheduler.pass(.seconds(11))
        #expect(received.news() == ["del[6] ins[9] mod[4]"])
    }

    @Test func `silent changes of plain values are not reported`() throws {
        let list = try world.holder().list("ints")
        var gone: [Value] = []
        let token = try list.observe(pace: .debounce(.seconds(10))) { change in
            received.receive(change)
            gone += try change.deletedValues
        }
        world.stores.settle()
        try write { try list.append([.int(10)]) }
        try write(silencing: token) { try list.remove(at: 0) }
        try write { try list.set(.int(60), at: 5) }
        try write { try list.remove(at: 2) }
        try write(silencing: token) { try list.set(.int(90), at: 7) }
        scheduler.pass(.seconds(11))
        #expect(received.news() == ["initial", "del[2] ins[8] mod[5] new[4]"])
        #expect(gone == [.int(3)])
        try write(silencing: token) { try list.append([.int(11)]) }
        scheduler.pass(.seconds(11))
        #expect(received.news() == [])
    }

    @Test func `silent changes of filtered values are not reported`() throws {
        let list = try world.holder().list("ints")
        var gone: [Value] = []
        let values = try CollectionValues(list).filtered("SELF > 3")
        let token = try values.observe(pace: .debounce(.seconds(10))) { change in
            received.receive(change)
            gone += try change.deletedValues
        }
        world.stores.settle()
        try write { try list.append([.int(10)]) }
        try write(silencing: token) { try list.remove(at: 4) }
        try write { try list.remove(at: 4) }
        scheduler.pass(.seconds(11))
        #expect(received.news() == ["initial", "del[0] ins[4]"])
        #expect(gone == [.int(5)])
        token.invalidate()
    }

    @Test func `silent changes of a map are not reported`() throws {
        let bag = try world.store.write {
            try world.store.create(
                "Bag", .dictionary(["names": .dictionary(["a": .int(1), "b": .int(2)])]))
        }
        let map = try bag.map("names")
        var observed: [[String]] = []
        let token = try map.observe(pace: .throttle(.seconds(10))) { change in
            observed += try [change.deletedKeys, change.insertedKeys, change.modifiedKeys]
        }
        world.stores.settle()
        scheduler.pass(.seconds(11))
        try write { try map.set(.int(3), forKey: "c") }
        #expect(observed.suffix(3) == [[], ["c"], []])
        try write { try map.removeValue(forKey: "b") }
        try write(silencing: token) {
            try map.set(.int(9), forKey: "a")
            try map.set(.int(4), forKey: "d")
        }
        try write { try map.set(.int(0), forKey: "0") }
        try write { try map.removeValue(forKey: "d") }
        try write { try map.set(.int(5), forKey: "c") }
        scheduler.pass(.seconds(11))
        #expect(observed.suffix(3) == [["b", "d"], ["0"], ["c"]])
        #expect(observed.count == 9)
    }

    @Test func `silent changes of sections are not reported`() throws {
        try write {
            for number in 0..<6 {
                let text = number < 3 ? "a" : "b"
                try world.object(Int64(number)).set("text", .string(text))
            }
        }
        var changes: [SectionedChange] = []
        let sections = try world.store.objects("Obj").grouped(by: "text")
        let token = try sections.observe(pace: .debounce(.seconds(10))) { changes.append($0) }
        world.stores.settle()
        try write { try world.object(3).set("text", .string("a")) }
        try write(silencing: token) {
            try world.store.create("Obj", .dictionary(["text": .string("a")]))
            try world.object(9).set("text", .string("c"))
        }
        try write { try world.store.delete(world.object(0)) }
        scheduler.pass(.seconds(11))
        #expect(changes.count == 2)
        let last = try #require(changes.last)
        #expect(last.sectionDeletions == [] && last.sectionInsertions == [])
        #expect(last.sections.map(\.section) == [1, 2])
        #expect(last.sections.map(\.deletions) == [[0], [0]])
        #expect(last.sections.map(\.insertions) == [[2], []])
        try write(silencing: token) { try world.store.delete(world.object(5)) }
        scheduler.pass(.seconds(11))
        #expect(changes.count == 2)
        try write { try world.store.delete(world.object(4)) }
        scheduler.pass(.seconds(11))
        #expect(changes.last?.sectionDeletions == [2])
        #expect(changes.count == 3)
    }

    @Test func `a silent deletion while a call waits ends the observation without a call`() throws {
        let holder = try world.holder()
        let list = try holder.list("ints")
        let object = try world.object(1)
        let tokens = [
            try list.observe(pace: .debounce(.seconds(1)), received.receive),
            try object.observe(pace: .debounce(.seconds(1)), other.receive),
        ]
        world.stores.settle()
        #expect(received.news() == ["initial"])
        try write {
            try list.append([.int(1)])
            try world.set(object, 100)
        }
        try world.store.write(withoutNotifying: tokens) {
            try world.store.delete(holder)
            try world.store.delete(object)
        }
        world.stores.settle()
        scheduler.pass(.seconds(5))
        #expect(received.news() == [] && other.news() == [])
        #expect(!tokens[0].isValid && !tokens[1].isValid)
    }

    @Test func `a delayed observer of an object reports the oldest and the newest value`() throws {
        let object = try world.object(1)
        let token = try object.observe(pace: .debounce(.seconds(1)), received.receive)
        let silent = try object.observe(pace: .throttle(.seconds(1)), other.receive)
        try set(1, 100)
        #expect(other.news() == ["value 2>100"])
        try world.store.write(withoutNotifying: [silent]) { try object.set("text", .string("x")) }
        try set(1, 200)
        #expect(received.news() == [])
        scheduler.pass(.seconds(2))
        let observed = received.news()
        #expect(observed.count == 1)
        #expect(observed.first?.hasPrefix("value 2>200, text ") == true)
        #expect(other.news() == ["value 100>200"])
        token.invalidate()
        silent.invalidate()
    }

    @Test func `a silent write stays silent while the call of another observer waits`() throws {
        let waiting = try observe(.throttle(.seconds(10)), received)
        let late = ReceivedCalls()
        let tokens = [
            try world.store.observe(world.query("Target"), other.receive),
            try world.store.observe(
                world.query("Target"), pace: .debounce(.seconds(1)), late.receive),
        ]
        world.stores.settle()
        scheduler.pass(.seconds(2))
        #expect(other.news() == ["initial"] && late.news() == ["initial"])
        try set(1, 100)
        try set(2, 100)
        #expect(received.news() == ["mod[1]"])
        let target = try world.object(3, of: "Target")
        try world.store.write(withoutNotifying: tokens) { try world.set(target, 100) }
        world.stores.settle()
        scheduler.pass(.seconds(2))
        #expect(other.news() == [] && late.news() == [])
        try write { try world.set(target, "value2", 1) }
        scheduler.pass(.seconds(2))
        #expect(other.news() == ["mod[3]"] && late.news() == ["mod[3]"])
        scheduler.pass(.seconds(10))
        #expect(received.news() == ["mod[2, 3]"])
        withExtendedLifetime((waiting, tokens)) {}
    }

    @Test func `a token that ends while its call waits receives no call`() throws {
        let token = try observe(.debounce(.seconds(1)), received)
        try set(1, 100)
        token.invalidate()
        scheduler.pass(.seconds(5))
        #expect(received.news() == [])
    }

    @Test func `delays require a thread with timers`() throws {
        let configuration = StoreConfiguration(.memory("no timers"), schema: ObservedWorld.classes)
        let store = try Store(configuration, scheduler: PlainScheduler())
        let query = Query(all: try store.schema.require("Obj"))
        let error = storeError(.invalidArgument) {
            _ = try store.observe(query, pace: .debounce(.seconds(1))) { _ in }
        }
        #expect(error?.message.contains("event loop") == true)
    }

    @Test func `A link that changes back between two calls of an observer is reported twice`()
        throws
    {
        let object = try world.object(1)
        var calls: [[String]] = []
        let token = try object.observe(keyPaths: ["linkings"], pace: .throttle(.seconds(2))) {
            calls.append($0.properties.map(\.name))
        }
        world.stores.settle()
        let linking = try world.store.write {
            try world.store.create("Linking", .dictionary(["link": .object(object.reference)]))
        }
        world.stores.settle()
        #expect(calls == [["linkings"]])
        try write { try world.store.delete(linking) }
        #expect(calls == [["linkings"]])
        scheduler.pass(.seconds(3))
        #expect(calls == [["linkings"], ["linkings"]])
        token.invalidate()
    }

    @Test func `An observation ends with the owner of its list, even if the deletion is undone`()
        throws
    {
        let holder = try world.holder()
        world.stores.settle()
        let token = try holder.list("targets").observe(received.receive)
        world.stores.settle()
        #expect(received.news() == ["initial"])
        try write { try world.store.delete(holder) }
        #expect(received.news().map { $0.hasSuffix("gone") } == [true])
        try world.store.undo()
        try write { try holder.list("targets").remove(at: 0) }
        scheduler.pass(.seconds(60))
        #expect(received.news() == [])
        #expect(try holder.list("targets").count() == 9)
        token.invalidate()
    }
}

/// A scheduler that has no timers.
private struct PlainScheduler: Scheduler {
    private struct Never: Wakeup {
        func wake() {}
        func cancel() {}
    }

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { Never() }
    var isOnThread: Bool { true }
    var canDeliver: Bool { true }
}
