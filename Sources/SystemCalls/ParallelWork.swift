import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// Computations on several processors.
//
// The calling thread always works itself, and only shares its work: threads of the pool take parts of it as soon as they
// are free. A computation therefore never waits for a thread to start, and a busy pool makes it no slower than one thread
// would be. The parts do not depend on the threads, and are returned in order, so a caller that merges them in this order
// has the same result for any number of threads.

/// The threads of this process that share computations.
///
/// A thread starts when it is first used, and then waits for the next computation.
package final class WorkerPool: @unchecked Sendable {
    // Unchecked because: the monitor guards all properties.
    package static let shared = WorkerPool()

    /// The number of processors that this process may use.
    package static let processors = ProcessorCount.allowed
    /// The maximum number of threads that a computation can use.
    package static let maxThreads = 64

    private let monitor = Monitor()
    private var jobs: [@Sendable () -> Void] = []
    private var threads = 0
    private var idle = 0

    /// Runs a job on a thread of the pool, or never if the system cannot start one.
    fileprivate func run(_ job: @escaping @Sendable () -> Void) {
        monitor.withLock {
            jobs.append(job)
            if idle < jobs.count, threads < Self.maxThreads, start() { threads += 1 }
            monitor.broadcast()
            if threads == 0 { jobs = [] }
        }
    }

    private func start() -> Bool {
        // Signals are for the thread of a script, except those for a fault of this thread, such as a lost page.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        for fault in [SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&all, fault) }
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        // Conditions that the main thread can evaluate must not be too deep for a thread of the pool.
        return DetachedThread.start(stackSize: 16 << 20) { [self] in loop() } == 0
    }

    private func loop() {
        ThreadIdentity.nameCurrent("moonpool-worker")
        monitor.lock()
        while true {
            if jobs.isEmpty {
                idle += 1
                assert(idle <= threads, "only threads of the pool are idle")
                monitor.wait()
                idle -= 1
            } else {
                let job = jobs.removeFirst()
                monitor.withoutLock(job)
            }
        }
    }
}

/// A computation in numbered parts, which several threads share.
package final class ParallelWork<Part>: @unchecked Sendable {
    // Unchecked because: the monitor guards all properties that change, and one thread at a time uses each function.
    private let monitor = Monitor()
    /// The functions that compute a part, one for each thread.
    private var functions: [(Int) throws -> Part]
    /// The next parts of each thread, which begins with neighboring ones, and then takes those of other threads.
    private var rest: [Range<Int>]
    private var parts: [Part?]
    private var failure: (any Error)?
    /// The number of threads of the pool that are computing.
    private var active = 0

    /// Creates a computation of `count` parts; the first function is for the calling thread.
    package init(count: Int, _ functions: [(Int) throws -> Part]) {
        assert(!functions.isEmpty, "the calling thread has a function")
        self.functions = functions
        let threads = functions.count
        rest = (0..<threads).map { $0 * count / threads..<($0 + 1) * count / threads }
        parts = Array(repeating: nil, count: count)
    }

    /// Returns all parts, in order.
    ///
    /// After an error, all threads stop and the first error is thrown. `whileWaiting` is called from time to time
    /// while other threads compute the last parts; its error ends the computation, too.
    package func results(
        stop: StopFlag, whileWaiting: () throws -> Void
    ) throws -> [Part] {
        assert(!functions.isEmpty, "a computation runs once")
        for thread in 1..<functions.count {
            WorkerPool.shared.run { [self] in
                guard begin() else { return }
                compute(thread, stop)
                end()
            }
        }
        compute(0, stop)
        monitor.lock()
        while active > 0 {
            monitor.wait(atMost: 2_000_000) { active > 0 }
            monitor.withoutLock {
                do { try whileWaiting() } catch { fail(error, stop) }
            }
        }
        // A job that has not begun yet must not keep the functions and the results.
        functions = []
        let (found, failure) = (parts, failure)
        parts = []
        monitor.unlock()
        if let failure { throw failure }
        // because: no thread has failed, so all parts were computed.
        return found.map { $0! }
    }

    private func begin() -> Bool {
        monitor.withLock {
            if functions.isEmpty { return false }
            active += 1
            return true
        }
    }

    private func end() {
        monitor.withLock {
            assert(active > 0, "a thread ends its work once")
            active -= 1
            monitor.broadcast()
        }
    }

    private func compute(_ thread: Int, _ stop: StopFlag) {
        let function = monitor.withLock { functions[thread] }
        while let part = take(thread) {
            do {
                let result = try function(part)
                monitor.withLock {
                    assert(parts[part] == nil, "a part is computed once")
                    parts[part] = result
                }
            } catch {
                fail(error, stop)
            }
        }
    }

    private func take(_ thread: Int) -> Int? {
        monitor.withLock {
            if failure != nil { return nil }
            // because: there is a range for each thread.
            let longest = rest.indices.max { rest[$0].count < rest[$1].count }!
            let source = rest[thread].isEmpty ? longest : thread
            return rest[source].popFirst()
        }
    }

    private func fail(_ error: any Error, _ stop: StopFlag) {
        monitor.withLock { if failure == nil { failure = error } }
        stop.raise()
    }
}

/// A flag that tells the threads of a computation to stop.
package final class StopFlag: Sendable {
    private let raised = Atomic(false)

    package init() {}

    /// Whether the computation should stop.
    package var isRaised: Bool { raised.load(ordering: .relaxed) }

    fileprivate func raise() { raised.store(true, ordering: .relaxed) }
}
