import ObjectStore
import Testing

/// Observers of a store.
@Suite struct StoreObserverTests {
    @Test func `a dropped token ends the observation`() throws {
        let world = try ObservedWorld()
        let received = ReceivedCalls()
        var token: NotificationToken? = try world.store.observe(received.receive)
        #expect(token?.isValid == true)
        token = nil
        try world.store.write {}
        #expect(received.calls == [])
    }

    @Test func `observing needs a loop that delivers`() throws {
        let store = try Store.temporary(
            ObservedWorld.classes, scheduler: ManualScheduler(canDeliver: false))
        _ = storeError(.invalidArgument) { _ = try store.observe { _, _ in } }
    }

    @Test func `an observer of a read-only store receives the commits of others`() throws {
        let folder = TemporaryFolder()
        let path = folder.file("a.moonpool")
        let writer = try Store(
            StoreConfiguration(.file(path), schema: ObservedWorld.classes),
            scheduler: ManualScheduler())
        let reader = try Store(
            StoreConfiguration(.file(path), isReadOnly: true), scheduler: ManualScheduler())
        var calls = 0
        let token = try reader.observe { _, _ in calls += 1 }
        try writer.write { _ = try writer.create("Other") }
        try reader.refresh()
        #expect(calls == 1)
        token.invalidate()
    }
}
