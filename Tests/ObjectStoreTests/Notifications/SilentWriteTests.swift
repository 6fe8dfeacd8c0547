import ColumnStorage
import ObjectStore
import Testing

/// Writes that some observers do not receive.
@Suite struct SilentWriteTests {
    let world: ObservedWorld
    let received = ReceivedCalls()
    let others = ReceivedCalls()
    var store: Store { world.store }

    init() throws { world = try ObservedWorld() }

    private func insert(_ store: Store, _ value: Int64 = 5) throws {
        try store.create("Obj", .dictionary(["value": .int(value)]))
    }

    private func observeTwice(_ sort: [(path: String, ascending: Bool)] = []) throws
        -> (silent: NotificationToken, other: NotificationToken)
    {
        (
            try world.observe(world.middle(sort: sort), [], received),
            try world.observe(world.middle(sort: sort), [], others)
        )
    }

    @Test func `the given token is skipped once, others are not`() throws {
        let tokens = try observeTwice()
        try store.write(withoutNotifying: [tokens.silent]) { try insert(store) }
        world.stores.settle()
        #expect(received.news() == [])
        #expect(others.news() == ["ins[4]"])
        try store.write { try insert(store) }
        world.stores.settle()
        #expect(received.news() == ["ins[5]"])
        #expect(others.news() == ["ins[5]"])
    }

    @Test(arguments: [[], [("value", false)]] as [[(path: String, ascending: Bool)]])
    func `a remote commit after a silent write is reported alone, in final positions`(
        _ sort: [(path: String, ascending: Bool)]
    ) throws {
        let tokens = try observeTwice(sort)
        try store.write(withoutNotifying: [tokens.silent]) { try insert(store, 1) }
        try world.remotely { try insert($0, 1) }
        world.stores.settle()
        #expect(received.news() == ["ins[5]"])
        #expect(others.news() == ["ins[4, 5]"])
    }

    @Test func `a silent write without a change does not affect later writes`() throws {
        let tokens = try observeTwice()
        try store.write(withoutNotifying: [tokens.silent]) {}
        try store.write { try insert(store) }
        world.stores.settle()
        #expect(received.news() == ["ins[4]"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `silencing outside a write is an error`() throws {
        let tokens = try observeTwice()
        _ = storeError(.notInWrite) { try store.commitWrite(withoutNotifying: [tokens.silent]) }
    }

    @Test func `an observer that writes silently for itself does not loop`() throws {
        var own: NotificationToken?
        // The handler references its token, and with it the store.
        defer { own?.invalidate() }
        own = try store.observe(world.middle()) { change in
            received.receive(change)
            guard case .update = change.kind else { return }
            try store.write(withoutNotifying: [own].compactMap { $0 }) { try insert(store) }
        }
        let other = try world.observe(world.middle(), [], others)
        #expect(received.news() == ["initial"])
        try world.remotely { try insert($0) }
        for _ in 0..<5 { world.stores.settle() }
        try store.refresh()
        #expect(received.news() == ["ins[4]"])
        #expect(others.news() == ["ins[4]", "ins[5]"])
        withExtendedLifetime(other) {}
    }

    @Test func `a call can silence later and earlier observers`() throws {
        let early = try world.observe(world.middle(), [], received)
        var isWriting = false
        var late: NotificationToken?
        let writer = try store.observe(world.middle()) { change in
            guard case .update = change.kind, !isWriting else { return }
            isWriting = true
            try store.write(withoutNotifying: [early] + [late].compactMap { $0 }) {
                try insert(store)
            }
        }
        late = try world.observe(world.middle(), [], others)
        _ = received.news()
        try world.remotely { try insert($0) }
        world.stores.settle()
        try store.refresh()
        #expect(received.news() == ["ins[4]"])
        #expect(others.news() == ["ins[4]"])
        withExtendedLifetime(writer) {}
    }

    @Test func `a silent write also skips observers of objects, even for a deletion`() throws {
        let object = try world.object(1)
        let token = try store.observe(object.reference, received.receive)
        try store.write(withoutNotifying: [token]) { try world.set(object, 3) }
        world.stores.settle()
        #expect(received.news() == [])
        try store.write { try world.set(object, 4) }
        world.stores.settle()
        #expect(received.news() == ["value 3>4"])
        try store.write(withoutNotifying: [token]) { try store.delete(object) }
        world.stores.settle()
        #expect(received.news() == [])
        #expect(!token.isValid)
    }

    @Test func `a failed silent write has no effect`() throws {
        let tokens = try observeTwice()
        #expect(throws: StoreError.self) {
            try store.write(withoutNotifying: [tokens.silent]) {
                try insert(store)
                throw StoreError(.interrupted, "stop")
            }
        }
        try store.write { try insert(store) }
        world.stores.settle()
        #expect(received.news() == ["ins[4]"])
    }

    @Test func `an observer that is stopped while a silent write passes it continues after it`()
        throws
    {
        let token = try world.observe(world.query("Obj", "any targets.value > 100"), [], received)
        let target = try world.object(1, of: "Target").reference
        try store.beginWrite()
        let targets = Value.list(Array(repeating: .object(target), count: 2_000))
        try world.object(1).set("targets", targets)
        // Only the observer is stopped, not the write.
        try Interruption.$current.withValue(Interruption { true }) {
            try store.commitWrite(withoutNotifying: [token])
        }
        #expect(received.news() == [])
        #expect(token.isValid)
        #expect(world.errors.errors.count == 1)
        try store.write { try world.object(2).set("targets", targets) }
        world.stores.settle()
        #expect(received.news() == [])
        try store.write { try world.object(1, of: "Target").set("value", .int(500)) }
        world.stores.settle()
        #expect(received.news() == ["ins[0, 1]"])
    }

    @Test func `a token can end before its silent write is evaluated`() throws {
        let tokens = try observeTwice()
        try store.write(withoutNotifying: [tokens.silent]) { try insert(store) }
        tokens.silent.invalidate()
        world.stores.settle()
        #expect(received.news() == [])
        #expect(others.news() == ["ins[4]"])
    }

    @Test func `silent changes are visible immediately and count in later positions`()
        throws
    {
        let tokens = try observeTwice()
        let results = Results(.store(store), try world.middle())
        try store.write(withoutNotifying: [tokens.silent]) { try store.delete(world.object(1)) }
        #expect(try results.count() == 3)
        try store.write { try world.set(world.object(4), 9) }
        world.stores.settle()
        #expect(received.news() == ["mod[2]"])
        #expect(others.news() == ["del[0]", "mod[2]"])
    }
}
