import CUV
import Synchronization
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// EventLoops: an event loop for one thread, based on libuv.
//
// Purpose: a script, its stores and its observers belong to one thread. Every external event (a commit of another
// thread or process, a job of the prompt, a timer) becomes a call on that thread, one at a time. The loop does not
// depend on Lua or on stores.
//
// Threads: `post`, `stop`, `LoopWakeup.wake` and `LoopHold.release` may be called on any thread. All other members may
// be called only on the loop's thread, which is the first thread that calls `attach()` or `run()`; they trap on other
// threads.
//
// The order of a turn: jobs that were posted before the turn (in order of arrival), wake-ups (in order of creation),
// embedded loops, due timers (by time, then in order of creation). Then the loop waits for the kernel. libuv's
// callbacks only record events; `turn` calls every handler outside of `uv_run`. Therefore handlers can call
// `wait(until:)` (`uv_run` itself cannot be nested).
//
// Caveats:
// * `run` returns when nothing keeps the loop alive: no queued job, no active timer with `keepsAlive`, no `LoopHold`,
//   no referenced libuv handle of other code. Wake-ups and file watches never keep it alive.
// * A timer is not called again while its handler waits; other handlers are called in the meantime.
// * Waits are nested on the stack of the thread and end in reverse order. Code that must not wait for other code of the
//   loop runs in a `JobGroup`, which has its own stack.
// * `close` must be the last call, on the loop's thread. Jobs that are posted later are dropped.

/// The jobs, timers and wake-ups of one thread, which run one at a time.
package final class EventLoop: @unchecked Sendable {
    // Unchecked because: a mutex protects `shared`, `signal` and `owner` are atomic, and everything else is used only
    // on the loop's thread, which `preconditionOnLoop` checks.

    struct Shared {
        var jobs = JobQueue()
        var holds = 0
        var isClosed = false
    }

    let shared = Mutex(Shared())
    let signal: LoopSignal
    private let owner = Atomic<UInt>(0)
    private let isStopping = Atomic<Bool>(false)

    /// Runs at the end of each turn, before the loop decides whether to continue.
    ///
    /// Hosts can acquire or release a hold in this handler.
    package var didTurn: (() -> Void)?

    /// The clock of timers and deadlines.
    package let clock: any LoopClock

    let handle: UnsafeMutablePointer<uv_loop_t>
    private let alarm: UnsafeMutablePointer<uv_timer_t>
    var wakeups: [LoopWakeup] = []
    var timers = TimerQueue()
    var owned: Set<UnsafeMutableRawPointer> = []
    var embeddedLoops: [EmbeddedLoopPoll] = []
    weak var accessReports: AccessReports?
    private var depth = 0
    private var isPolling = false

    /// Creates a loop that does not belong to a thread yet.
    ///
    /// Jobs can be posted immediately.
    ///
    /// Throws the system's error if no file descriptors are left.
    package init(clock: any LoopClock = SystemClock()) throws(LoopError) {
        self.clock = clock
        try DescriptorReserve.require()
        handle = .allocate(capacity: 1)
        do {
            try LoopError.check(uv_loop_init(handle), "cannot start an event loop")
        } catch {
            handle.deallocate()
            throw error
        }
        do {
            signal = try LoopSignal(loop: handle)
        } catch {
            uv_loop_close(handle)
            handle.deallocate()
            throw error
        }
        alarm = .allocate(capacity: 1)
        uv_timer_init(handle, alarm)
        clock.whenAdvanced { [signal] in signal.send() }
    }

    deinit {
        // No other thread has a reference to the loop, so this thread can do the work of the loop's thread.
        releaseHandles()
    }

    // MARK: - Threads

    /// Makes the calling thread the loop's thread.
    ///
    /// Does nothing if it already is.
    package func attach() {
        let me = ThreadIdentity.current.number
        let (exchanged, original) = owner.compareExchange(
            expected: 0, desired: me, ordering: .acquiringAndReleasing)
        precondition(exchanged || original == me, "an event loop belongs to one thread")
    }

    /// Whether the caller is on the loop's thread.
    package var isOnLoop: Bool { owner.load(ordering: .acquiring) == ThreadIdentity.current.number }

    /// Traps if the caller is not on the loop's thread.
    package func preconditionOnLoop(_ what: StaticString = #function) {
        precondition(isOnLoop, "\(what) belongs to the event loop's thread")
    }

    /// Runs the job on the loop's thread in its next turn; returns false if the loop is closed.
    ///
    /// Usable on any thread.
    @discardableResult  // the caller need not check whether the loop has ended
    package func post(_ job: sending @escaping () -> Void) -> Bool {
        let job = Job(run: job)
        let accepted = shared.withLock { shared in
            if shared.isClosed { return false }
            shared.jobs.append(job)
            return true
        }
        if accepted { signal.send() }
        return accepted
    }

    /// Ends `run` and every `wait` after the current handler.
    ///
    /// Usable on any thread.
    package func stop() {
        isStopping.store(true, ordering: .releasing)
        signal.send()
    }

    /// Whether a stop was requested that has not ended a `run` yet.
    package var isStopped: Bool { isStopping.load(ordering: .acquiring) }

    // MARK: - Running

    /// Runs turns until nothing keeps the loop alive, or until `stop`.
    ///
    /// Attaches the calling thread.
    ///
    /// An earlier `stop` ends this run immediately. The request is cleared when the outermost run returns.
    package func run() {
        attach()
        depth += 1
        defer {
            depth -= 1
            if depth == 0 { isStopping.store(false, ordering: .releasing) }
        }
        while !isStopped {
            turn()
            if isStopped || !isAlive { return }
            poll(until: nil)
        }
    }

    /// Runs turns inside a handler until the condition holds, the time has passed, or `stop` is called.
    ///
    /// Returns whether the condition holds. The condition is checked before the first turn, after each turn, and at
    /// least every `recheck`, because it can depend on state that does not wake the loop. Unless it holds at the start,
    /// at least one turn runs, also without time. Errors of the condition are rethrown; the loop remains usable.
    package func wait<Failure: Error>(
        for timeout: Duration? = nil, recheck: Duration? = nil,
        until condition: () throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        preconditionOnLoop()
        let deadline = timeout.map { clock.now() + $0 }
        depth += 1
        defer { depth -= 1 }
        var hasTurned = false
        while true {
            if try condition() { return true }
            if isStopped { return false }
            let now = clock.now()
            if hasTurned, let deadline, now >= deadline { return false }
            turn()
            hasTurned = true
            if isStopped { return try condition() }
            if try condition() { return true }
            var limit = deadline
            if let recheck { limit = min(limit ?? (now + recheck), now + recheck) }
            poll(until: limit)
        }
    }

    /// Runs one turn without waiting, for tests with a manual clock and for hosts that must not block.
    package func runOnce() {
        attach()
        poll(waiting: false, until: nil)
        turn()
    }

    /// Whether anything keeps `run` from returning.
    package var isAlive: Bool {
        ownsWork || uv_loop_alive(handle) != 0 || embeddedLoops.contains(where: \.isAlive)
    }

    /// The number of `run` and `wait` calls on the stack; 0 outside of the loop.
    package var nesting: Int { depth }

    private var ownsWork: Bool {
        timers.keepingAlive > 0 || shared.withLock { $0.holds > 0 || !$0.jobs.isEmpty }
    }

    private func turn() {
        var remaining = shared.withLock { $0.jobs.count }
        while remaining > 0, let job = shared.withLock({ $0.jobs.popFirst() }) {
            remaining -= 1
            job.run()
            if isStopped { return }
        }
        for wakeup in wakeups where wakeup.takePending() {
            wakeup.handler?()
            if isStopped { return }
        }
        for poll in embeddedLoops {
            poll.runTurn()
            if isStopped { return }
        }
        let now = clock.now()
        timers.settle()
        while !isStopped, let timer = timers.takeDue(at: now) {
            timer.fire(at: now)
        }
        didTurn?()
    }

    private func poll(waiting: Bool = true, until limit: Duration?) {
        // A libuv callback of other code (a C module) may have called this function; kernel events must then wait.
        if isPolling { return }
        isPolling = true
        defer { isPolling = false }
        var mode = UV_RUN_ONCE
        // A `wait` that has ended may have consumed the signal of a wake-up that no turn has processed yet.
        let hasWork =
            shared.withLock { !$0.jobs.isEmpty } || wakeups.contains(where: \.isAwaited)
        if !waiting || hasWork { mode = UV_RUN_NOWAIT }
        signal.reference(true)
        var pause: Duration?
        for poll in embeddedLoops {
            if let longest = poll.prepareToWait() { pause = min(pause ?? longest, longest) }
        }
        if mode == UV_RUN_ONCE {
            var delay: Duration?
            if clock.isReal, let deadline = [timers.nextDeadline, limit].compactMap({ $0 }).min() {
                delay = deadline - clock.now()
            }
            if let pause { delay = min(delay ?? pause, pause) }
            if let delay { arm(after: delay) }
        }
        uv_run(handle, mode)
        uv_timer_stop(alarm)
        signal.reference(false)
        for poll in embeddedLoops { poll.embedded.didWait() }
    }

    private func arm(after delay: Duration) {
        // libuv counts whole milliseconds from the cached time of the loop. The cached time is therefore updated first,
        // and the delay is rounded up so that a timer is due on return.
        uv_update_time(handle)
        let (seconds, attoseconds) = max(delay, .zero).components
        let milliseconds = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1000)
        let rest = UInt64((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
        let total = milliseconds.overflow ? UInt64(Int64.max) : milliseconds.partialValue + rest
        // libuv runs due callbacks before it waits, and would then wait without a timeout; the timer prevents this.
        uv_timer_start(
            alarm, { alarm in if let loop = alarm?.pointee.loop { uv_stop(loop) } }, total, 0)
    }

    // MARK: - The end

    /// Ends the loop: drops jobs, timers and wake-ups, and releases its handles.
    ///
    /// No code runs on the loop afterward.
    package func close() {
        attach()
        precondition(depth == 0, "an event loop cannot be closed while it runs")
        releaseHandles()
    }

    private func releaseHandles() {
        let (alreadyClosed, dropped) = shared.withLock { shared in
            defer {
                shared.isClosed = true
                shared.jobs = JobQueue()
            }
            return (shared.isClosed, shared.jobs)
        }
        if alreadyClosed { return }
        // The jobs are released here, outside of the lock, because the captures of a closure can post jobs in their
        // deinit.
        _ = dropped
        didTurn = nil
        timers.removeAll()
        wakeups = []
        embeddedLoops = []
        signal.close()
        uv_walk(
            handle,
            { handle, _ in
                guard let handle, uv_is_closing(handle) == 0 else { return }
                uv_close(handle, nil)
            }, nil)
        while uv_run(handle, UV_RUN_DEFAULT) != 0 {}
        uv_loop_close(handle)
        alarm.deallocate()
        signal.free()
        for handle in owned { handle.deallocate() }
        owned = []
        handle.deallocate()
    }
}

/// A job that one thread passes to another.
struct Job: @unchecked Sendable {
    // Unchecked because: created from a `sending` closure, so the sender keeps no reference to it.
    let run: () -> Void
}

/// The jobs in order of arrival; a nested run also removes the oldest job first.
struct JobQueue {
    private var jobs: [Job?] = []
    private var head = 0

    var count: Int { jobs.count - head }
    var isEmpty: Bool { head == jobs.count }

    mutating func append(_ job: Job) { jobs.append(job) }

    mutating func popFirst() -> Job? {
        guard head < jobs.count else { return nil }
        assert(jobs[head] != nil, "a job is taken once")
        defer {
            jobs[head] = nil
            head += 1
            if head == jobs.count {
                jobs.removeAll(keepingCapacity: jobs.capacity <= 256)
                head = 0
            }
        }
        return jobs[head]
    }
}

extension EventLoop {
    /// Takes over the memory of a handle that other code created.
    ///
    /// The loop frees it in `closeHandle` or when the loop ends.
    func own<Handle>(_ handle: UnsafeMutablePointer<Handle>) {
        owned.insert(UnsafeMutableRawPointer(handle))
    }

    /// Closes and frees an owned handle whose data is no longer used.
    ///
    /// Has no effect if the loop has already closed the handle.
    func closeHandle<Handle>(_ handle: UnsafeMutablePointer<Handle>) {
        preconditionOnLoop()
        guard owned.remove(UnsafeMutableRawPointer(handle)) != nil else { return }
        let closing = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        closing.pointee.data = nil
        // libuv releases a handle in a later turn, so its memory is freed then.
        uv_close(closing, { UnsafeMutableRawPointer($0)?.deallocate() })
    }
}

/// Checks that an event loop can open its file descriptors.
enum DescriptorReserve {
    /// The number of descriptors to check, which is higher than the number that the first loop of a process opens.
    private static let count = 6

    /// Throws if the process cannot open these descriptors, because libuv aborts the process if its first loop cannot
    /// open them.
    static func require() throws(LoopError) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<count {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else {
                // Standard error is closed, so this check is impossible; the loop reports the error itself.
                if errno == EBADF { return }
                throw LoopError(number: errno, call: "cannot start an event loop", path: nil)
            }
            opened.append(descriptor)
        }
    }
}

/// A system call that failed in an event loop.
package struct LoopError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system's error number (`errno`).
    package let number: Int32
    /// The call that failed.
    package let call: String
    /// The file of the failed call; nil if there is none.
    package let path: String?

    /// One sentence with the call, the file and the system's message.
    package var description: String {
        let reason = String(cString: uv_strerror(-number))
        return "\(call)\(path.map { " '\($0)'" } ?? ""): \(reason)"
    }

    /// The ``number`` of the error for a socket without a listening process.
    package static let refused = ECONNREFUSED
    /// The ``number`` of the error for a missing file.
    package static let missing = ENOENT
    /// The ``number`` of the error for a socket of another user.
    package static let notPermitted = EPERM

    /// Whether another program listens on the port.
    package var isAddressInUse: Bool { number == EADDRINUSE }

    static func check(_ status: Int32, _ call: String, path: String? = nil) throws(LoopError) {
        if status < 0 { throw LoopError(number: -status, call: call, path: path) }
    }
}
