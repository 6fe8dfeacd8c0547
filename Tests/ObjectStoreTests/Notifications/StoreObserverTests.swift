import ObjectStore
import Testing

/// Observers of a store.
@Suite struct StoreObserverTests {
    @Test func `remote commits are reported once, in a turn, with the new data`() throws {
        let world = try ObservedWorld()
        let received = ReceivedCalls()
        var seen: [Int] = []
        let token = try world.store.observe { notification, store in
            received.receive(notification, store)
            try seen.append(store.view.table(store.schema.require("Other")).count)
        }
        try world.remotely { try $0.create("Other") }
        try world.remotely { try $0.create("Other") }
        #expect(received.calls == [])
        world.stores.settle()
        #expect(received.calls == ["did_change"])
        #expect(seen == [2])
        token.invalidate()
    }

    @Test func `a commit of the store is reported before it returns`() throws {
        let world = try ObservedWorld()
        let received = ReceivedCalls()
        let token = try world.store.observe(received.receive)
        try world.store.write {}
        #expect(received.news() == ["did_change"])
        world.stores.settle()
        #expect(received.news() == [])
        token.invalidate()
    }

    @Test func `without autorefresh a refresh is required once`() throws {
        let world = try ObservedWorld()
        world.store.autorefresh = false
        let received = ReceivedCalls()
        let token = try world.store.observe(received.receive)
        try world.remotely { try $0.create("Other") }
        world.stores.settle()
        #expect(received.news() == ["refresh_required"])
        #expect(try world.store.view.table(world.store.schema.require("Other")).count == 0)
        #expect(try world.store.refresh())
        #expect(received.news() == ["did_change"])
        token.invalidate()
    }

    @Test func `begin reports a pending remote commit, inside the write`() throws {
        let world = try ObservedWorld()
        var isInWrite: [Bool] = []
        let token = try world.store.observe { _, store in
            isInWrite.append(store.isInWrite)
            if store.isInWrite { _ = storeError(.alreadyInWrite) { try store.beginWrite() } }
        }
        try world.remotely { try $0.create("Other") }
        try world.store.beginWrite()
        #expect(isInWrite == [true])
        try world.store.commitWrite()
        #expect(isInWrite == [true, false])
        token.invalidate()
    }

    @Test func `cancel notifies no observers`() throws {
        let world = try ObservedWorld()
        let received = ReceivedCalls()
        let token = try world.store.observe(received.receive)
        try world.store.beginWrite()
        try world.store.create("Other")
        try world.store.cancelWrite()
        world.stores.settle()
        #expect(received.calls == [])
        token.invalidate()
    }

    @Test func `begin inside refresh_required advances without another call`() throws {
        let world = try ObservedWorld()
        world.store.autorefresh = false
        let received = ReceivedCalls()
        var counts: [Int] = []
        let token = try world.store.observe { notification, store in
            received.receive(notification, store)
            let others = try store.view.table(store.schema.require("Other"))
            counts.append(others.count)
            try store.beginWrite()
            counts.append(others.count)
            try store.cancelWrite()
        }
        try world.remotely { try $0.create("Other") }
        world.stores.settle()
        #expect(received.calls == ["refresh_required"])
        #expect(counts == [0, 1])
        token.invalidate()
    }

    @Test func `writes inside did_change do not notify it again`() throws {
        let world = try ObservedWorld()
        let received = ReceivedCalls()
        let token = try world.store.observe { notification, store in
            received.receive(notification, store)
            try store.write { _ = try store.create("Other") }
        }
        try world.store.write {}
        #expect(received.news() == ["did_change"])
        try world.remotely { try $0.create("Other") }
        world.stores.settle()
        #expect(received.news() == ["did_change"])
        #expect(world.errors.errors.isEmpty)
        token.invalidate()
    }

    @Test func `refresh works inside refresh_required, not inside did_change`() throws {
        let world = try ObservedWorld()
        world.store.autorefresh = false
        var answers: [Bool] = []
        let token = try world.store.observe { _, store in answers.append(try store.refresh()) }
        try world.remotely { try $0.create("Other") }
        world.stores.settle()
        #expect(answers == [true])
        #expect(try world.store.refresh() == false)
        try world.remotely { try $0.create("Other") }
        #expect(try world.store.refresh())
        #expect(answers == [true, false])
        token.invalidate()
    }

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

    @Test func `store observers are called before the others`() throws {
        let world = try ObservedWorld()
        var order: [String] = []
        let first = try world.store.observe(world.object(1).reference) { _ in order.append("object")
        }
        let second = try world.store.observe { _, _ in order.append("store") }
        try world.remotely { try world.set(world.object(1, in: $0), 5) }
        world.stores.settle()
        #expect(order == ["store", "object"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a silent write does not notify the token once`() throws {
        let world = try ObservedWorld()
        let received = ReceivedCalls()
        let token = try world.store.observe(received.receive)
        try world.store.write(withoutNotifying: [token]) { _ = try world.store.create("Other") }
        #expect(received.calls == [])
        try world.store.write {}
        #expect(received.calls == ["did_change"])
    }

    @Test func `an observer ended by an earlier one is not called`() throws {
        let world = try ObservedWorld()
        let received = ReceivedCalls()
        var later: NotificationToken?
        let first = try world.store.observe { _, _ in later?.invalidate() }
        later = try world.store.observe(received.receive)
        try world.store.write {}
        #expect(received.calls == [])
        first.invalidate()
    }

    @Test func `an error in a handler is reported, and neither begin nor commit fails`() throws {
        let world = try ObservedWorld()
        let token = try world.store.observe { _, _ in throw StoreError(.interrupted, "stop") }
        try world.store.write { _ = try world.store.create("Other") }
        #expect(world.errors.errors.count == 1)
        #expect(!world.store.isInWrite)
        try world.remotely { try $0.create("Other") }
        try world.store.beginWrite()
        #expect(world.store.isInWrite)
        try world.store.commitWrite()
        token.invalidate()
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
