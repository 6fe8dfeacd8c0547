import ObjectStore
import Synchronization
import SystemCalls

/// The actor of a store, and the tasks that wait for commits.
final class StoreScheduling {
    /// Wakes the store, from any thread.
    let signal = StoreSignal()
    /// The waiting writes, in order.
    var writers = WriterQueue()

    /// Reports the commits of other processes; nil for an in-memory store.
    var commitWatch: CommitWatch?

    /// The actor; nil for a store of a task.
    var actor: (any Actor)? { signal.actor }

    /// Uses the isolation of the first call that has one.
    func adopt(_ isolation: (any Actor)?) {
        guard let isolation, signal.actor == nil else { return }
        signal.setActor(isolation)
    }
}

/// Reports commits of other stores and processes to one store: runs the store's turn on its actor, and resumes the
/// waiting tasks.
final class StoreSignal: Sendable {
    private struct State {
        weak var actor: (any Actor)?
        weak var executor: (any SerialExecutor)?
        var handler: Unchecked<() -> Void>?
        var isPending = false
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiting = 0
        /// Counts the calls of ``fire()``.
        var count: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    /// The number of the thread on which the main actor's code first ran.
    ///
    /// 0 if it can be any thread, 1 if the executor checks the thread.
    private let thread = Atomic<UInt>(0)

    var actor: (any Actor)? { state.withLock { $0.actor } }

    /// Sets the actor, in code that runs on it.
    func setActor(_ actor: any Actor) {
        let executor = actor === MainActor.shared ? nil : actor.customExecutor
        state.withLock { state in
            state.actor = actor
            state.executor = executor
        }
        let number: UInt =
            actor === MainActor.shared ? ThreadIdentity.current.number : executor == nil ? 0 : 1
        thread.store(number, ordering: .relaxed)
    }

    /// Returns false if the calling code certainly does not run on the store's actor.
    var isIsolated: Bool {
        switch thread.load(ordering: .relaxed) {
        case 0: return true
        case 1:
            let executor = state.withLock { $0.actor == nil ? nil : $0.executor }
            return executor?.isIsolatingCurrentContext() ?? true
        // The main actor changes its thread: on Linux, the main queue runs on worker threads after the program
        // suspends.
        case let number: return number == ThreadIdentity.current.number || MainQueue.isCurrent
        }
    }

    func setHandler(_ handler: @escaping () -> Void) {
        let boxed = Unchecked(handler)
        state.withLock { $0.handler = boxed }
    }

    func removeHandler() {
        // Released outside the lock, because the handler can have the last reference to the store.
        let old = state.withLock { state in
            state.isClosed = true
            return state.handler.take()
        }
        withExtendedLifetime(old) {}
        resumeAll()
    }

    /// The number of signals so far; pass it to ``wait(after:)``.
    var count: UInt64 { state.withLock { $0.count } }

    /// Requests a turn of the store on its actor, and resumes the waiting tasks.
    ///
    /// Usable on any thread.
    func fire() {
        let actor: (any Actor)? = state.withLock { state in
            guard let actor = state.actor, state.handler != nil, !state.isPending else {
                return nil
            }
            state.isPending = true
            return actor
        }
        if let actor { Task { await self.run(on: actor) } }
        resumeAll()
    }

    /// Resumes the waiting tasks without a turn of the store.
    func resumeAll() {
        let waiting = state.withLock { state in
            state.count += 1
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    private func run(on actor: isolated any Actor) {
        let handler = state.withLock { state in
            state.isPending = false
            return state.handler
        }
        handler?.value()
    }

    /// Waits until ``fire()`` has been called more than `count` times, or the task is canceled.
    nonisolated(nonsending) func wait(after count: UInt64) async {
        let number = state.withLock { state in
            state.nextWaiting += 1
            return state.nextWaiting
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.count != count || state.isClosed || Task.isCancelled { return true }
                    assert(state.waiting[number] == nil, "each waiting task has its own number")
                    state.waiting[number] = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
        }
    }
}

/// The scheduler of a store that belongs to an actor or a task.
///
/// The compiler checks the isolation. Code of Swift 5 modules can bypass this check. On the main actor, and on an actor
/// with its own executor such as ``ThreadExecutor``, calls on other threads throw `wrong_thread`.
struct IsolationScheduler: Scheduler {
    let signal: StoreSignal

    var isOnThread: Bool { signal.isIsolated }
    var canDeliver: Bool { true }
    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        signal.setHandler(handler)
        return SignalWakeup(signal: signal)
    }
}

private struct SignalWakeup: Wakeup {
    let signal: StoreSignal
    func wake() { signal.fire() }
    func cancel() { signal.removeHandler() }
}
