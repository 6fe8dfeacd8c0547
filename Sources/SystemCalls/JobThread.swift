import Synchronization

/// Runs jobs one after the other on one thread.
///
/// After ``shutdown()``, the thread ends when its queue is empty. A later job starts a new thread, so that every job
/// runs.
package final class JobThread: Sendable {
    private struct State {
        var queue: [UnownedJob] = []
        var isThreadAlive = false
        var isShutDown = false
    }

    private let name: String
    private let state = Mutex(State())
    private let work = Signal()
    /// The number of the running thread; 0 if no thread is running.
    private let thread = Atomic<UInt>(0)

    /// Creates the runner; its thread starts with the first job.
    package init(name: String) { self.name = name }

    /// Whether the calling thread is the runner's.
    package var isCurrent: Bool {
        thread.load(ordering: .relaxed) == ThreadIdentity.current.number
    }

    /// Queues a job of a serial executor.
    package func enqueue(_ job: consuming ExecutorJob, of executor: some SerialExecutor) {
        enqueue(UnownedJob(job)) { [unowned executor] job in
            job.runSynchronously(on: executor.asUnownedSerialExecutor())
        }
    }

    private func enqueue(_ job: UnownedJob, run: @escaping @Sendable (UnownedJob) -> Void) {
        let isStarting = state.withLock { state in
            state.queue.append(job)
            defer { state.isThreadAlive = true }
            return !state.isThreadAlive
        }
        if isStarting { start(run) } else { work.notify() }
    }

    /// Ends the thread when its queue is empty.
    package func shutdown() {
        state.withLock { $0.isShutDown = true }
        work.notify()
    }

    private func start(_ run: @escaping @Sendable (UnownedJob) -> Void) {
        let code = DetachedThread.start { [self] in loop(run) }
        // An executor must run all its jobs, so this failure is fatal.
        guard code == 0 else {
            fatalError("the system cannot start a thread for '\(name)': error \(code)")
        }
    }

    private func loop(_ run: (UnownedJob) -> Void) {
        ThreadIdentity.nameCurrent(name)
        assert(thread.load(ordering: .relaxed) == 0, "a runner has one thread at a time")
        thread.store(ThreadIdentity.current.number, ordering: .relaxed)
        while true {
            let count = work.count
            let (jobs, isEnd) = state.withLock { state -> ([UnownedJob], Bool) in
                assert(state.isThreadAlive, "a thread of the runner is alive until its end")
                let jobs = state.queue
                state.queue = []
                let isEnd = jobs.isEmpty && state.isShutDown
                if isEnd {
                    thread.store(0, ordering: .relaxed)
                    state.isThreadAlive = false
                }
                return (jobs, isEnd)
            }
            if isEnd { return }
            for job in jobs { run(job) }
            if jobs.isEmpty { work.wait(after: count) }
        }
    }
}

/// Counts notifications, and blocks a thread until the count has changed.
private final class Signal: @unchecked Sendable {
    // Unchecked because the monitor protects the count.
    private let monitor = Monitor()
    private var current: UInt64 = 0

    var count: UInt64 { monitor.withLock { current } }

    func notify() {
        monitor.withLock {
            current += 1
            monitor.broadcast()
        }
    }

    func wait(after count: UInt64) {
        monitor.withLock { while current == count { monitor.wait() } }
    }
}
