import ColumnStorage
import ObjectStore
import Testing

/// Tokens, and observers that are registered and removed during calls.
@Suite struct TokenTests {
    let world: ObservedWorld
    let received = ReceivedCalls()
    var store: Store { world.store }

    init() throws { world = try ObservedWorld() }

    private func change() throws {
        try world.remotely { try world.set(world.object(1, in: $0), 3) }
    }

    @Test func `an invalidated token receives no pending changes`() throws {
        let token = try world.observe(world.middle(), [], received)
        try store.write { try world.set(world.object(1), 3) }
        token.invalidate()
        #expect(!token.isValid)
        world.stores.settle()
        #expect(received.calls == [])
        token.invalidate()
    }

    @Test func `a released token receives no changes`() throws {
        var token: NotificationToken? = try world.observe(world.middle(), [], received)
        try store.write { try world.set(world.object(1), 3) }
        #expect(token != nil)
        token = nil
        world.stores.settle()
        #expect(received.calls == [])
    }

    @Test func `a token that ends itself finishes its call, and others are called`()
        throws
    {
        var own: NotificationToken?
        var finished = 0
        own = try store.observe(world.middle()) { _ in
            own?.invalidate()
            own = nil
            finished += 1
        }
        let later = try store.observe(world.middle(), received.receive)
        world.stores.settle()
        #expect(finished == 1)
        #expect(received.news() == ["initial"])
        try change()
        world.stores.settle()
        #expect(finished == 1)
        #expect(received.news() == ["mod[0]"])
        later.invalidate()
    }

    @Test func `a token ended by an earlier call is not called`() throws {
        var later: NotificationToken?
        let first = try store.observe(world.middle()) { change in
            if case .update = change.kind { later?.invalidate() }
        }
        later = try world.observe(world.middle(), [], received)
        try change()
        world.stores.settle()
        #expect(received.news() == [])
        first.invalidate()
    }

    @Test func `an observer added in a call starts with the next delivery`() throws {
        var added: [NotificationToken] = []
        let first = try store.observe(world.middle()) { _ in
            added.append(try store.observe(world.middle(), received.receive))
        }
        try store.refresh()
        #expect(received.calls == [])
        world.stores.settle()
        #expect(received.calls == ["initial"])
        first.invalidate()
    }

    @Test func `observing inside a write is an error, also in a call`() throws {
        try store.write {
            _ = storeError(.alreadyInWrite) { _ = try store.observe(world.middle()) { _ in } }
            _ = storeError(.alreadyInWrite) { _ = try store.observe { _, _ in } }
        }
    }

    @Test func `observers are called in the order of registration`() throws {
        var order: [Int] = []
        let tokens = try (0..<6).map { number in
            try number % 2 == 0
                ? store.observe(world.middle()) { _ in order.append(number) }
                : store.observe(world.object(1).reference) { _ in order.append(number) }
        }
        world.stores.settle()
        #expect(order == [0, 2, 4])
        order = []
        tokens[2].invalidate()
        try change()
        world.stores.settle()
        withExtendedLifetime(tokens) {}
        #expect(order == [0, 1, 3, 4, 5])
    }

    @Test func `the token keeps the results observed`() throws {
        let token = try Results(.store(store), world.middle()).observe(received.receive)
        world.stores.settle()
        try change()
        world.stores.settle()
        #expect(received.calls == ["initial", "mod[0]"])
        token.invalidate()
    }

    @Test func `closing a store in a call skips the remaining calls`() throws {
        let first = try store.observe(world.middle()) { _ in store.close() }
        let second = try store.observe(world.middle(), received.receive)
        world.stores.settle()
        #expect(received.calls == [])
        #expect(!first.isValid && !second.isValid)
        try change()
        world.stores.settle()
        #expect(world.errors.errors.isEmpty)
    }

    @Test func `a token of another store cannot be silenced, and the write stays open`() throws {
        let foreign = try world.other.observe { _, _ in }
        try store.beginWrite()
        _ = storeError(.invalidArgument) { try store.commitWrite(withoutNotifying: [foreign]) }
        #expect(store.isInWrite)
        try store.commitWrite()
    }

    @Test func `after closing no observer is called`() throws {
        let token = try world.observe(world.middle(), [], received)
        store.close()
        #expect(!token.isValid)
        try change()
        world.stores.settle()
        #expect(received.calls == [])
    }

    @Test func `the error of a handler is reported, and the others are called`() throws {
        let first = try store.observe(world.middle(), name: "broken") { _ in
            throw StoreError(.interrupted, "stop")
        }
        let second = try store.observe(world.middle(), received.receive)
        var names: [String] = []
        store.notifications.errorHandler = { _, token in names.append(token?.name ?? "?") }
        world.stores.settle()
        #expect(names == ["broken"])
        #expect(received.calls == ["initial"])
        #expect(first.isValid)
        withExtendedLifetime(second) {}
    }

    @Test func `a write that a failed handler left open is rolled back`() throws {
        let token = try store.observe(world.middle()) { _ in
            try store.beginWrite()
            try store.create("Other")
            throw StoreError(.interrupted, "stop")
        }
        world.stores.settle()
        #expect(!store.isInWrite)
        #expect(try store.view.table(store.schema.require("Other")).count == 0)
        #expect(world.errors.errors.count == 1)
        token.invalidate()
    }

    @Test func `statistics are recorded for each token`() throws {
        let token = try world.observe(world.middle(), [], received)
        for _ in 0..<3 {
            try change()
            world.stores.settle()
        }
        #expect(token.statistics.calls == 4)
        #expect(token.statistics.handling.maximum >= token.statistics.handling.mean)
        #expect(token.statistics.handling.last > 0)
        // The first call reports the current state, which does not require a comparison.
        #expect(token.statistics.finding.count == 3)
        #expect(token.statistics.finding.last > 0)
        #expect(token.statistics.finding.maximum >= token.statistics.finding.mean)
    }

    @Test func `an observer added in a call does not receive earlier changes`() throws {
        var added: NotificationToken?
        let first = try store.observe(world.middle()) { news in
            guard case .update = news.kind, added == nil else { return }
            try change()
            added = try store.observe(world.middle(), received.receive)
        }
        world.stores.settle()
        try change()
        world.stores.settle()
        #expect(received.news() == ["initial"])
        world.stores.settle()
        #expect(received.news() == [])
        try world.remotely { try world.set(world.object(2, in: $0), 5) }
        world.stores.settle()
        #expect(received.news() == ["mod[1]"])
        first.invalidate()
        added?.invalidate()
    }
}
