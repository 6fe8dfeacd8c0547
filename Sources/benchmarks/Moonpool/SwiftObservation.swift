import ObjectStore
import Synchronization

/// An observer with a thread and a store of its own, as a Swift program would have it.
final class SwiftObservation: Observation {
    private let thread: Thread
    private let state: State

    private final class State: Sendable {
        let scheduler = Mutex<BenchmarkScheduler?>(nil)
        let failure = Mutex<String?>(nil)
    }

    init(
        _ configuration: StoreConfiguration, age: Int64, called: @escaping @Sendable (Int) -> Void
    ) throws {
        let ready = Signal()
        let state = State()
        self.state = state
        thread = Thread {
            do {
                try Self.observe(configuration, age, state, ready, called)
            } catch {
                state.failure.withLock { $0 = "\(error)" }
            }
            ready.raise()
        }
        _ = ready.wait()
        try throwFailure()
    }

    private static func observe(
        _ configuration: StoreConfiguration, _ age: Int64, _ state: State, _ ready: Signal,
        _ called: @escaping @Sendable (Int) -> Void
    ) throws {
        let scheduler = BenchmarkScheduler()
        state.scheduler.withLock { $0 = scheduler }
        let store = try Store(configuration, scheduler: scheduler)
        defer { store.close() }
        guard let person = store.schema.find("Person") else {
            throw BenchmarkError("Moonpool: no class Person")
        }
        let query = try Query(all: person).filtered("age > $1", [.int(age)], schema: store.schema)
        let token = try store.observe(query) { change in
            switch change.kind {
            case .initial: ready.raise()
            case .update:
                called(
                    change.deletions.count + change.insertions.count + change.modifications.count)
            case .error(let error): throw error
            }
        }
        try store.refresh()
        while scheduler.turn() {}
        token.invalidate()
    }

    func end() throws {
        state.scheduler.withLock { $0 }?.end()
        thread.join()
        try throwFailure()
    }

    private func throwFailure() throws {
        if let failure = state.failure.withLock({ $0 }) { throw BenchmarkError(failure) }
    }
}
