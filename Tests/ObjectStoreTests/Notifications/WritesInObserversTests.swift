import ColumnStorage
import ObjectStore
import Testing

/// Writes, and deliveries, inside observers.
@Suite struct WritesInObserversTests {
    let world: ObservedWorld
    var store: Store { world.store }

    init() throws { world = try ObservedWorld() }

    private func insert(_ store: Store, _ value: Int64 = 5) throws {
        try store.create("Obj", .dictionary(["value": .int(value)]))
    }

    @Test func `refresh in a call has no effect`() throws {
        var answers: [Bool] = []
        let token = try store.observe(world.middle()) { change in
            guard case .update = change.kind else { return }
            try world.remotely { try insert($0) }
            answers.append(try store.refresh())
        }
        world.stores.settle()
        try world.remotely { try insert($0) }
        world.stores.scheduler.turn()
        #expect(answers == [false])
        token.invalidate()
    }

    @Test func `commits that others make while a call waits are reported after the call`() throws {
        var observed: [Int] = []
        let token = try store.observe(world.middle()) { change in
            guard case .update = change.kind else { return }
            observed.append(change.insertions.count)
            guard observed.count == 1 else { return }
            try world.remotely { try insert($0) }
            // A handler that sleeps does the same.
            world.stores.scheduler.turn()
            #expect(observed == [1])
        }
        world.stores.settle()
        try world.remotely { try insert($0) }
        world.stores.settle()
        #expect(observed == [1, 1])
        token.invalidate()
    }

    @Test func `beginning a write in a call first notifies the later observers`() throws {
        let (early, late) = (ReceivedCalls(), ReceivedCalls())
        var isInWrite: [Bool] = []
        var counts: [Int] = []
        let first = try world.observe(world.middle(), [], early)
        var hasWritten = false
        let writer = try store.observe(world.middle()) { change in
            guard case .update = change.kind, !hasWritten else { return }
            hasWritten = true
            counts.append(late.calls.count)
            try store.beginWrite()
            counts.append(late.calls.count)
            try insert(store)
            try store.commitWrite()
        }
        let last = try store.observe(world.middle()) { change in
            late.receive(change)
            isInWrite.append(store.isInWrite)
        }
        world.stores.settle()
        (early.calls, late.calls, isInWrite) = ([], [], [])
        try world.remotely { try insert($0) }
        try store.refresh()
        #expect(counts == [0, 1])
        #expect(isInWrite == [true])
        #expect(early.news() == ["ins[4]"])
        #expect(late.news() == ["ins[4]"])
        world.stores.settle()
        #expect(early.news() == ["ins[5]"])
        #expect(late.news() == ["ins[5]"])
        withExtendedLifetime((first, writer, last)) {}
    }

    @Test func `begin and cancel in a call include commits that occurred in the meantime`() throws {
        let (own, late) = (ReceivedCalls(), ReceivedCalls())
        let first = try store.observe(world.middle()) { change in
            own.receive(change)
            guard own.calls.count == 2 else { return }
            try world.remotely { try insert($0) }
            try store.beginWrite()
            try store.cancelWrite()
        }
        let second = try store.observe(world.middle(), late.receive)
        world.stores.settle()
        try world.remotely { try insert($0) }
        world.stores.scheduler.turn()
        #expect(own.calls == ["initial", "ins[4]", "ins[5]"])
        #expect(late.calls == ["initial", "ins[4, 5]"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `a chain of writes calls each observer once for each write`() throws {
        let (early, late) = (ReceivedCalls(), ReceivedCalls())
        let first = try store.observe(world.middle(), early.receive)
        var calls: [String] = []
        var writes = 0
        let writer = try store.observe(world.middle()) { change in
            let received = ReceivedCalls()
            received.receive(change)
            calls += received.calls
            guard writes < 9 else { return }
            writes += 1
            if !store.isInWrite { try store.beginWrite() }
            try insert(store)
            try store.commitWrite()
            try store.beginWrite()
            if store.isInWrite { try store.cancelWrite() }
        }
        let last = try store.observe(world.middle(), late.receive)
        try store.refresh()
        world.stores.settle()
        #expect(early.calls == ["initial"] + (4..<13).map { "ins[\($0)]" })
        #expect(calls == ["initial"] + (4..<13).map { "ins[\($0)]" })
        #expect(late.calls.first == "initial")
        #expect(world.errors.errors.isEmpty)
        withExtendedLifetime((first, writer, last)) {}
    }

    @Test func `deleting the last row in each call notifies every observer five times`() throws {
        let observed = (0..<3).map { _ in ReceivedCalls() }
        let results = Results(.store(store), try world.middle())
        let tokens = try observed.enumerated().map { number, received in
            try store.observe(world.middle()) { change in
                received.receive(change)
                guard number == 1, !store.isInWrite else { return }
                while let object = try results.last() {
                    try store.beginWrite()
                    try store.delete(object)
                    try store.commitWrite()
                }
            }
        }
        for _ in 0..<10 { world.stores.settle() }
        let expected = ["initial", "del[3]", "del[2]", "del[1]", "del[0]"]
        #expect(observed.map(\.calls) == [expected, expected, expected])
        withExtendedLifetime(tokens) {}
    }

    @Test
    func
        `changes in a call at the beginning of a write are part of the write, and later calls precede them`()
        throws
    {
        let late = ReceivedCalls()
        let first = try store.observe(world.middle()) { change in
            if case .update = change.kind, store.isInWrite { try world.set(world.object(1), 8) }
        }
        let second = try world.observe(world.middle(), [], late)
        try world.remotely { try world.set(world.object(2, in: $0), 5) }
        try store.beginWrite()
        #expect(late.news() == ["mod[1]"])
        #expect(try world.object(1).value("value") == .int(8))
        try store.cancelWrite()
        #expect(try world.object(1).value("value") == .int(2))
        withExtendedLifetime((first, second)) {}
    }

    @Test(arguments: [[], [("value", false)]] as [[(path: String, ascending: Bool)]])
    func `later calls do not show the changes of a call at the beginning of a write`(
        _ sort: [(path: String, ascending: Bool)]
    ) throws {
        let late = ReceivedCalls()
        let first = try store.observe(world.middle(sort: sort)) { change in
            if case .update = change.kind, store.isInWrite { try world.set(world.object(2), 100) }
        }
        let second = try world.observe(world.middle(sort: sort), [], late)
        try world.remotely { try world.set(world.object(2, in: $0), 5) }
        try store.beginWrite()
        let position = sort.isEmpty ? 1 : 2
        #expect(late.news() == ["mod[\(position)]"])
        try store.cancelWrite()
        world.stores.settle()
        #expect(late.news() == [])
        try store.write { try world.set(world.object(2), 100) }
        world.stores.settle()
        #expect(late.news() == ["del[\(position)]"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `other objects show the new version before their own observers are called`()
        throws
    {
        var observed: [String] = []
        let (first, second) = (try world.object(1), try world.object(2))
        let tokens = [
            try first.observe { _ in observed.append("first sees \(try second.value("value"))") },
            try second.observe { _ in observed.append("second") },
        ]
        try world.remotely {
            try world.set(world.object(1, in: $0), 5)
            try world.set(world.object(2, in: $0), 6)
        }
        world.stores.settle()
        #expect(observed == ["first sees \(Value.int(6))", "second"])
        withExtendedLifetime(tokens) {}
    }

    @Test func `a call at the beginning of a write can cancel the write`() throws {
        let token = try store.observe(world.middle()) { _ in
            if store.isInWrite { try store.cancelWrite() }
        }
        try store.beginWrite()
        #expect(!store.isInWrite)
        token.invalidate()
    }

    @Test func `a call at the beginning of a write can commit the write`() throws {
        let received = ReceivedCalls()
        let writer = try store.observe(world.middle()) { change in
            guard case .update = change.kind, store.isInWrite else { return }
            try insert(store)
            try store.commitWrite()
        }
        let token = try world.observe(world.middle(), [], received)
        try world.remotely { try insert($0) }
        try store.beginWrite()
        world.stores.settle()
        #expect(received.news() == ["ins[4, 5]"])
        withExtendedLifetime((writer, token)) {}
    }

    @Test func `observers that trigger each other endlessly are stopped and reported`() throws {
        let objects = [try world.object(1), try world.object(2)]
        let names = ["ping", "pong"]
        let tokens = try names.enumerated().map { number, name in
            try store.observe(objects[number].reference, name: name) { _ in
                try store.write { try world.set(objects[1 - number], 3) }
            }
        }
        try store.write { try world.set(objects[0], 4) }
        world.stores.settle()
        #expect(world.errors.errors.count == 1)
        let error = try #require(world.errors.errors.first as? StoreError)
        #expect(error.code == .limitExceeded)
        #expect(names.allSatisfy { error.message.contains("'\($0)'") })
        let calls = tokens.reduce(0) { $0 + $1.statistics.calls }
        #expect(calls == NotificationDispatcher.maximumRounds + 1)
        #expect(!store.isInWrite)

        // The next change starts a new count.
        tokens[1].invalidate()
        try store.write { try world.set(objects[0], 5) }
        world.stores.settle()
        #expect(tokens[0].statistics.calls == calls / 2 + 2)
        #expect(world.errors.errors.count == 1)
    }

    @Test func `an error in a call is reported and the others are called`() throws {
        struct Failure: Error {}
        let late = ReceivedCalls()
        let first = try store.observe(world.middle()) { change in
            if case .update = change.kind { throw Failure() }
        }
        let last = try world.observe(world.middle(), [], late)
        try store.write { try insert(store) }
        world.stores.settle()
        #expect(world.errors.errors.count == 1)
        #expect(world.errors.errors.first is Failure)
        #expect(late.news() == ["ins[4]"])
        #expect(first.isValid)
        try store.write { try insert(store) }
        world.stores.settle()
        #expect(world.errors.errors.count == 2)
        withExtendedLifetime((first, last)) {}
    }

    @Test func `no observer receives a write in a call twice`() throws {
        let observed = [ReceivedCalls(), ReceivedCalls(), ReceivedCalls()]
        var hasWritten = false
        let tokens = try observed.enumerated().map { number, received in
            try store.observe(world.middle()) { change in
                received.receive(change)
                guard number == 1, case .update = change.kind, !hasWritten else { return }
                hasWritten = true
                try store.write { try insert(store) }
            }
        }
        world.stores.settle()
        try world.remotely { try insert($0) }
        for _ in 0..<5 { world.stores.settle() }
        try store.refresh()
        #expect(observed.allSatisfy { $0.calls == ["initial", "ins[4]", "ins[5]"] })
        withExtendedLifetime(tokens) {}
    }
}
