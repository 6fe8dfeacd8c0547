import EventLoops
import ObjectStore
import ScriptHost
import Synchronization

/// An observer with its own thread and store, as in a Swift program.
final class SwiftObservation: Observation {
    private let thread: Thread
    private let state: State

    private final class State: Sendable {
        /// Ends the thread's loop.
        let end = Mutex<(@Sendable () -> Void)?>(nil)
        let failure = Mutex<String?>(nil)
    }

    /// `isRemote`: commits come from another process, which requires an event loop that watches the file.
    init(
        _ configuration: StoreConfiguration, _ observed: Observed, isRemote: Bool,
        called: @escaping @Sendable (Int) -> Void
    ) throws {
        let ready = Signal()
        let state = State()
        self.state = state
        thread = Thread {
            do {
                try (isRemote ? Self.runLoop : Self.runScheduler)(configuration, state) { store in
                    try Self.observe(observed, in: store, ready, called)
                }
            } catch {
                state.failure.withLock { $0 = "\(error)" }
            }
            ready.raise()
        }
        _ = ready.wait()
        try throwFailure()
    }

    private static func runScheduler(
        _ configuration: StoreConfiguration, _ state: State,
        _ observe: (Store) throws -> NotificationToken
    ) throws {
        let scheduler = BenchmarkScheduler()
        state.end.withLock { $0 = { scheduler.end() } }
        let store = try Store(configuration, scheduler: scheduler)
        defer { store.close() }
        let token = try observe(store)
        while scheduler.turn() {}
        token.invalidate()
    }

    private static func runLoop(
        _ configuration: StoreConfiguration, _ state: State,
        _ observe: (Store) throws -> NotificationToken
    ) throws {
        let loop = try EventLoop()
        loop.attach()
        state.end.withLock { $0 = { loop.stop() } }
        let followed = try FollowedStore(configuration, on: loop)
        defer { followed.close() }
        let token = try observe(followed.store)
        _ = loop.wait { false }
        token.invalidate()
    }

    private static func observe(
        _ observed: Observed, in store: Store, _ ready: Signal,
        _ called: @escaping @Sendable (Int) -> Void
    ) throws -> NotificationToken {
        let token = try observe(observed, in: store) { change in
            switch change.kind {
            case .initial: ready.raise()
            case .update:
                // A row that moves has left one index and entered another.
                called(
                    max(change.deletions.count, change.insertions.count)
                        + change.modifications.count)
            case .error(let error): throw error
            }
        }
        try store.refresh()
        return token
    }

    private static func observe(
        _ observed: Observed, in store: Store,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        let people = try store.objects("Person")
        switch observed {
        case .older(let age):
            return try people.filtered("age > $1", [.int(age)]).observe(handler)
        case .olderByScore(let age):
            return try people.filtered("age > $1", [.int(age)]).sorted([("score", true)])
                .observe(handler)
        case .petsOfOlder(let age):
            return try store.objects("Pet").filtered("owner.age > $1", [.int(age)])
                .observe(handler)
        case .club:
            guard let club = try store.objects("Club").first() else {
                throw BenchmarkError("Moonpool: no club")
            }
            return try club.list("members").observe(handler)
        }
    }

    func end() throws {
        state.end.withLock { $0 }?()
        thread.join()
        try throwFailure()
    }

    private func throwFailure() throws {
        if let failure = state.failure.withLock({ $0 }) { throw BenchmarkError(failure) }
    }
}
