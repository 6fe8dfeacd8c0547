import LuaHost
import ObjectStore
import Replication

/// A publisher or follower, for scripts.
///
/// The publisher or follower continues if the script releases the handle, because the store retains the handle.
final class ReplicationHandle {
    let task: ReplicationTask
    /// Whether each write waits until the stream has acknowledged it.
    private let isAcknowledged: Bool
    private weak var store: StoreHandle?

    /// Creates a handle that the store retains until ``stop()``.
    init(_ task: ReplicationTask, _ store: StoreHandle, isAcknowledged: Bool = false) {
        self.task = task
        self.store = store
        self.isAcknowledged = isAcknowledged
        store.add(self)
    }

    /// The maximum time that a write waits for the acknowledgment of the stream.
    private static let acknowledgmentLimit = Duration.seconds(30)

    /// Waits until the stream has acknowledged a version.
    ///
    /// Throws `limit_exceeded` after 30 seconds, or if the publisher has stopped; also throws if the script is stopped.
    func acknowledge(_ version: UInt64, _ state: LuaState) throws {
        guard isAcknowledged else { return }
        let isAcknowledged = try wait(atMost: Self.acknowledgmentLimit, state) { time in
            task.wait(forVersion: version, atMost: time)
        }
        guard !isAcknowledged else { return }
        let reason = task.status.snapshot.lastError.map { ": \($0.message)" } ?? ""
        throw StoreError(
            .limitExceeded,
            "version \(version) is committed, but the stream '\(task.stream)' has not acknowledged it"
                + reason)
    }

    /// Waits until everything has been published or applied; returns false after a timeout.
    fileprivate func wait(_ seconds: Double, _ state: LuaState) throws -> Bool {
        let isReached = try wait(atMost: .seconds(seconds), state) { time in
            switch task.role {
            case .publisher: task.wait(forVersion: store?.store.version ?? 0, atMost: time)
            case .follower: task.waitForEnd(atMost: time)
            }
        }
        guard isReached else { return false }
        if task.role == .follower, let store, !store.store.isClosed { try store.store.refresh() }
        return true
    }

    /// The interval at which a wait checks whether the script is stopped.
    private static let stopCheck = Duration.milliseconds(50)

    /// Waits until the condition holds; returns false after the time limit, or if the task has ended.
    ///
    /// On a thread that several scripts share, the others run in the meantime. `isReached` waits for the condition, at
    /// most for the given time. Throws if the script is stopped.
    private func wait(
        atMost limit: Duration, _ state: LuaState, until isReached: (Duration) -> Bool
    ) throws -> Bool {
        let deadline = ContinuousClock.now + limit
        guard let suspending = store?.store.scheduler.suspending else {
            while !isReached(Self.stopCheck) {
                try state.checkStopping()
                guard task.isRunning, ContinuousClock.now < deadline else { return false }
            }
            return true
        }
        var hasReached = false
        try task.status.observing(with: suspending.resume) {
            try suspending.suspend(checkingEvery: Self.stopCheck) {
                hasReached = isReached(.zero)
                if hasReached { return true }
                try state.checkStopping()
                return !task.isRunning || ContinuousClock.now >= deadline
            }
        }
        return hasReached
    }

    /// Stops the publisher or follower.
    func stop() {
        task.stop()
        store?.remove(self)
    }

    static let type: LuaClass<ReplicationHandle> = LuaClass(
        name: "replication",
        methods: [
            LuaMethod("stop") { handle, _ in
                handle.stop()
                return .none
            },
            LuaMethod("wait") { handle, call in
                let seconds = call.isNil(2) ? 30 : try call.number(2)
                return call.answer(
                    .boolean(try handle.wait(min(max(seconds, 0), 1e6), call.state)))
            },
        ],
        properties: [
            LuaProperty("role") { $1.set($0.task.role.rawValue) },
            LuaProperty("stream") { $1.set($0.task.stream) },
            LuaProperty("is_running") { $1.set($0.task.isRunning) },
            LuaProperty("is_connected") { $1.set($0.task.status.snapshot.isConnected) },
            LuaProperty("version") { $1.set(Int64(clamping: $0.task.status.snapshot.version)) },
            LuaProperty("position") { $1.set(Int64(clamping: $0.task.status.snapshot.sequence)) },
            LuaProperty("commits") { $1.set(Int64($0.task.status.snapshot.commits)) },
            LuaProperty("lag") { $1.set(Int64(clamping: $0.task.status.snapshot.lag)) },
            LuaProperty("rate") { $1.set($0.task.status.snapshot.rate) },
            LuaProperty("last_error") { handle, result in
                if let text = handle.task.status.snapshot.lastError?.message {
                    result.set(text)
                } else {
                    result.setNil()
                }
            },
        ],
        metamethods: [
            LuaMethod("__close") { handle, _ in
                handle.stop()
                return .none
            },
            LuaMethod("__tostring") { handle, call in
                let state = handle.task.isRunning ? "running" : "stopped"
                return call.answer(
                    .text("\(handle.task.role.rawValue) of '\(handle.task.stream)' (\(state))"))
            },
        ])
}
