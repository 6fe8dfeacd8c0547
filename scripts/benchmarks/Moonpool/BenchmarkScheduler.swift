import Glibc
import ObjectStore
import Synchronization

/// The smallest event loop for a store: handlers run when the thread that created the scheduler calls `turn`.
final class BenchmarkScheduler: Scheduler {
    private let thread = pthread_self()
    private let signal = Signal()
    private let pending = Mutex<[BenchmarkWakeup]>([])

    var isOnThread: Bool { pthread_equal(pthread_self(), thread) != 0 }
    var canDeliver: Bool { true }

    func isSame(as other: any Scheduler) -> Bool { (other as? BenchmarkScheduler) === self }

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup {
        BenchmarkWakeup(self, handler)
    }

    /// Waits for work and does it.
    ///
    /// Returns false when the scheduler has ended.
    func turn() -> Bool {
        guard signal.wait() else { return false }
        let due = pending.withLock { wakeups in
            defer { wakeups = [] }
            return wakeups
        }
        for wakeup in due { wakeup.run() }
        return true
    }

    func end() { signal.close() }

    fileprivate func add(_ wakeup: BenchmarkWakeup) {
        pending.withLock { wakeups in
            if !wakeups.contains(where: { $0 === wakeup }) { wakeups.append(wakeup) }
        }
        signal.raise()
    }
}

private final class BenchmarkWakeup: Wakeup, @unchecked Sendable {
    // because only the scheduler's thread uses the handler
    private var handler: (() -> Void)?
    private let scheduler: BenchmarkScheduler

    init(_ scheduler: BenchmarkScheduler, _ handler: @escaping () -> Void) {
        self.scheduler = scheduler
        self.handler = handler
    }

    func wake() { scheduler.add(self) }
    func cancel() { handler = nil }
    func run() { handler?() }
}
