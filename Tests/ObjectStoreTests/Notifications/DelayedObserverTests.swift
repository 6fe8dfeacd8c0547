import ColumnStorage
import ObjectStore
import Testing

/// Observers that are not called at once.
@Suite struct DelayedObserverTests {
    private let world: ObservedWorld
    private let told = Told()
    private let other = Told()
    private var scheduler: ManualScheduler { world.stores.scheduler }

    init() throws {
        world = try ObservedWorld()
    }

    private func observe(_ pace: ObserverPace, _ told: Told) throws -> NotificationToken {
        let token = try world.store.observe(world.query("Obj"), pace: pace, told.hear)
        world.stores.settle()
        #expect(told.news() == ["initial"])
        return token
    }

    private func set(_ number: Int64, _ value: Int64) throws {
        try world.store.write { try world.set(world.object(number), value) }
        world.stores.settle()
    }

    @Test func `debounce tells everything once nothing has changed for its time`() throws {
        let token = try observe(.debounce(.seconds(10)), told)
        try set(1, 100)
        scheduler.pass(.seconds(6))
        try set(2, 100)
        scheduler.pass(.seconds(6))
        #expect(told.news() == [])
        scheduler.pass(.seconds(6))
        #expect(told.news() == ["mod[1, 2]"])
        scheduler.pass(.seconds(60))
        #expect(told.news() == [])
        try set(3, 100)
        scheduler.pass(.seconds(11))
        #expect(told.news() == ["mod[3]"])
        #expect(token.statistics.calls == 3)
    }

    @Test func `commits of no interest do not put a call off`() throws {
        let token = try world.store.observe(
            world.query("Obj", "value < 10"), pace: .debounce(.seconds(10)), told.hear)
        world.stores.settle()
        #expect(told.news() == ["initial"])
        try set(1, 3)
        for _ in 0..<4 {
            scheduler.pass(.seconds(3))
            try set(9, 18)
        }
        #expect(told.news() == ["mod[1]"])
        token.invalidate()
    }

    @Test func `what is undone meanwhile is not told`() throws {
        let token = try observe(.debounce(.seconds(1)), told)
        try world.store.write {
            try world.store.create("Obj", .dictionary(["value": .int(1)]))
        }
        world.stores.settle()
        try world.store.write { try world.store.delete(world.object(10)) }
        world.stores.settle()
        scheduler.pass(.seconds(2))
        #expect(told.news() == [])
        token.invalidate()
    }

    @Test func `throttle tells at once and then not before its time`() throws {
        let token = try observe(.throttle(.seconds(10)), told)
        try set(1, 100)
        #expect(told.news() == ["mod[1]"])
        try set(2, 100)
        try set(3, 100)
        scheduler.pass(.seconds(9))
        #expect(told.news() == [])
        scheduler.pass(.seconds(2))
        #expect(told.news() == ["mod[2, 3]"])
        scheduler.pass(.seconds(11))
        #expect(told.news() == [])
        try set(4, 100)
        #expect(told.news() == ["mod[4]"])
        token.invalidate()
    }

    @Test func `a silent write is not told later, also when something else is`() throws {
        let token = try observe(.debounce(.seconds(10)), told)
        try set(1, 100)
        try world.store.write(withoutNotifying: [token]) {
            try world.set(world.object(2), 100)
            try world.set(world.object(1), 101)
            try world.store.create("Obj", .dictionary([:]))
        }
        world.stores.settle()
        try set(3, 100)
        scheduler.pass(.seconds(11))
        #expect(told.news() == ["mod[1, 3]"])
        // A silent change that is followed by a loud one of the same row is part of it.
        try set(1, 1)
        try world.store.write(withoutNotifying: [token]) { try world.set(world.object(4), 100) }
        try set(4, 101)
        scheduler.pass(.seconds(11))
        #expect(told.news() == ["mod[1, 4]"])
        // Nothing but silent writes is nothing at all, and keeps no version.
        try world.store.write(withoutNotifying: [token]) { try world.set(world.object(5), 1) }
        world.stores.settle()
        scheduler.pass(.seconds(11))
        #expect(told.news() == [])
        try set(6, 100)
        scheduler.pass(.seconds(11))
        #expect(told.news() == ["mod[6]"])
    }

    @Test func `an observer of an object waits as well, with the oldest and the newest value`()
        throws
    {
        let object = try world.object(1)
        let token = try object.observe(pace: .debounce(.seconds(1)), told.hear)
        let silent = try object.observe(pace: .throttle(.seconds(1)), other.hear)
        try set(1, 100)
        #expect(other.news() == ["value 2>100"])
        try world.store.write(withoutNotifying: [silent]) {
            try object.set("text", .string("x"))
        }
        try set(1, 200)
        #expect(told.news() == [])
        scheduler.pass(.seconds(2))
        let heard = told.news()
        #expect(heard.count == 1)
        #expect(heard.first?.hasPrefix("value 2>200, text ") == true)
        #expect(other.news() == ["value 100>200"])
        token.invalidate()
        silent.invalidate()
    }

    @Test func `a token that ends while its call waits is not called`() throws {
        let token = try observe(.debounce(.seconds(1)), told)
        try set(1, 100)
        token.invalidate()
        scheduler.pass(.seconds(5))
        #expect(told.news() == [])
    }

    @Test func `delays need a thread with timers`() throws {
        let configuration = StoreConfiguration(
            .memory("no timers"), schema: ObservedWorld.classes)
        let store = try Store(configuration, scheduler: PlainScheduler())
        let query = Query(all: try store.schema.require("Obj"))
        let error = storeError(.invalidArgument) {
            _ = try store.observe(query, pace: .debounce(.seconds(1))) { _ in }
        }
        #expect(error?.message.contains("timers") == true)
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
    func isSame(as other: any Scheduler) -> Bool { false }
    var canDeliver: Bool { true }
}
