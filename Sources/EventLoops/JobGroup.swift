import CFibers

/// The fibers of the job groups of one loop.
///
/// Unused fibers are kept for the next groups. Confined to the loop's thread.
package final class FiberPool: @unchecked Sendable {
    // Unchecked because: it is used only on the loop's thread, which the groups check.
    private let size: Int
    private var unused: [Fiber] = []
    private static let maxUnused = 8
    /// The group on whose fiber the thread is; nil on the thread's own stack.
    fileprivate var current: JobGroup?
    /// The number of groups that run or wait.
    package fileprivate(set) var used = 0

    /// Creates a pool of fibers with stacks of this size in bytes; the system provides memory only for what is used.
    package init(size: Int = LoopThread.defaultStackSize) { self.size = size }

    fileprivate func take() -> Fiber? {
        guard let fiber = unused.popLast() ?? Fiber(stackSize: size) else { return nil }
        used += 1
        return fiber
    }

    fileprivate func putBack(_ fiber: Fiber) {
        assert(used > 0, "a fiber is returned once")
        used -= 1
        if unused.count < Self.maxUnused, !fiber.isCanceled { unused.append(fiber) }
    }
}

/// A group of jobs of a loop, such as those of one script, that waits independently of the loop's other groups.
///
/// A job runs on the group's fiber. When the job waits, the thread returns to the loop and serves the other
/// groups. The job continues when its condition holds, even if other groups still wait. Jobs of the same group that
/// arrive in the meantime run on top of the waiting job, as handlers do in ``EventLoop/wait(for:recheck:until:)``: the
/// waiting job continues after the jobs that began to wait later have ended. A job that waits in the middle of an
/// operation suspends its group instead (``suspend(recheck:until:)``). Later jobs of the group are then delayed until
/// the suspended job ends, or waits without suspending the group.
///
/// Each job has its own task-local values, also after a wait. It does not inherit those of the code that calls
/// ``run(_:)``: `bind` binds the values that all jobs of the group need. Other values of the thread must be the same
/// whenever the group's code runs: `surround` sets them around each part of a job.
package final class JobGroup: @unchecked Sendable {
    // Unchecked because: it is used only on the loop's thread, which `run` checks.
    private let loop: EventLoop
    private let fibers: FiberPool
    /// Runs a job with the task-local values that it needs.
    private let bind: (_ job: () -> Void) -> Void
    /// Runs a part of a job, with the other values of the thread that the job needs.
    private let surround: (_ part: () -> Void) -> Void
    private var fiber: Fiber?
    /// The job that the parked code runs before it checks its condition again.
    private var next: (() -> Void)?
    /// Whether a part of a job is on the thread's stack, as the running code or as its caller.
    private var isActive = false
    /// Whether the parked code has suspended the group.
    private var isSuspended = false
    /// The jobs that have arrived while the group was suspended.
    private var delayed: [() -> Void] = []

    /// Creates a group without jobs.
    package init(
        on loop: EventLoop, _ fibers: FiberPool,
        bind: @escaping (() -> Void) -> Void = { $0() },
        surround: @escaping (() -> Void) -> Void
    ) {
        self.bind = bind
        self.loop = loop
        self.fibers = fibers
        self.surround = surround
    }

    /// Whether no job runs or waits.
    package var isIdle: Bool { fiber == nil && !isActive && delayed.isEmpty }

    /// Whether the calling code is a job of the group.
    package var isCurrent: Bool { isActive }

    /// Whether the calling code runs on the group's stack, so that other groups can run while it waits.
    package var canPark: Bool { fiber != nil && fibers.current === self }

    /// Runs a job until it ends or waits; if the group's own code calls this function, the job runs to its end.
    ///
    /// While the group is suspended, the job is delayed, and the suspended code checks its condition.
    ///
    /// Without memory for a stack, the job runs on the thread's own stack, where it waits as in
    /// ``EventLoop/wait(for:recheck:until:)``.
    package func run(_ job: @escaping () -> Void) {
        loop.preconditionOnLoop()
        if isActive { return job() }
        if isSuspended {
            delayed.append(job)
            return continueParked()
        }
        begin(job)
        runDelayed()
    }

    /// Makes waiting code check its condition again; call it on the loop's thread.
    package func recheck() {
        loop.preconditionOnLoop()
        continueParked()
    }

    private func begin(_ job: @escaping () -> Void) {
        if fiber != nil {
            assert(next == nil, "the waiting code runs one job at a time")
            next = job
            resumeParked()
        } else if let fiber = fibers.take() {
            self.fiber = fiber
            onStack { fiber.start { [bind] in bind(job) } }
        } else {
            isActive = true
            surround { bind(job) }
            isActive = false
        }
    }

    /// Runs the delayed jobs in the order of their arrival, until one of them suspends the group.
    private func runDelayed() {
        while !isSuspended, !delayed.isEmpty {
            let jobs = delayed
            delayed = []
            // If a job suspends the group, `run` delays the remaining ones again.
            for job in jobs { run(job) }
        }
    }

    private func continueParked() {
        guard !isActive else { return }
        resumeParked()
        runDelayed()
    }

    private func resumeParked() {
        guard let fiber else { return }
        onStack { fiber.resume() }
    }

    /// Switches to the group's stack until its code has ended or parks.
    private func onStack(_ part: () -> Bool) {
        let below = fibers.current
        fibers.current = self
        isActive = true
        var hasEnded = false
        surround { hasEnded = part() }
        assert(fibers.current === self, "the groups leave their fibers in reverse order")
        isActive = false
        fibers.current = below
        guard hasEnded, let fiber else { return }
        self.fiber = nil
        fibers.putBack(fiber)
    }

    /// Waits inside of a job until the condition holds or the time has passed; returns whether the condition holds.
    ///
    /// The condition is checked at once, after each job of the group, and after the interval that `recheck` returns
    /// before each pause. Unless it holds at the start, the loop runs at least once, also without time. Errors of the
    /// condition are rethrown.
    package func wait<Failure: Error>(
        for timeout: Duration? = nil, recheck: () -> Duration? = { nil },
        until condition: () throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard canPark, let fiber else {
            return try loop.wait(for: timeout, recheck: recheck(), until: condition)
        }
        let deadline = timeout.map { loop.clock.now() + $0 }
        var hasParked = false
        while true {
            if try condition() { return true }
            let rest = deadline.map { max($0 - loop.clock.now(), .zero) }
            if hasParked, rest == .zero { return false }
            park(fiber, atMost: [rest, recheck()].compactMap { $0 }.min())
            hasParked = true
            next.take()?()
        }
    }

    /// Waits in the middle of an operation until the condition holds; the loop serves the other groups in the
    /// meantime.
    ///
    /// Call it only if ``canPark``. No other job of the group runs in the meantime, so the state of the operation does
    /// not change. The condition is checked at once, after ``recheck()``, when a job arrives, and after the interval
    /// that the argument `recheck` returns before each pause. Errors of the condition are rethrown.
    package func suspend<Failure: Error>(
        recheck: () -> Duration? = { nil }, until condition: () throws(Failure) -> Bool
    ) throws(Failure) {
        guard canPark, let fiber else {
            preconditionFailure("code can be suspended only on the stack of its group")
        }
        while try !condition() {
            isSuspended = true
            park(fiber, atMost: recheck())
            isSuspended = false
        }
    }

    /// Returns to the loop until the group's code must check its condition again.
    private func park(_ fiber: Fiber, atMost pause: Duration?) {
        let alarm = pause.map { pause in
            loop.timer(after: pause, keepsAlive: false) { [weak self] in self?.continueParked() }
        }
        fiber.park()
        alarm?.cancel()
    }
}

/// A stack on which code can stop in the middle and continue later, on the same thread.
///
/// The stack is used for one body after the other. The stack takes address space; the system provides memory only for
/// the part that is used. Starting or continuing a body takes one or two microseconds. The body has its own task-local
/// values.
final class Fiber {
    private let handle: OpaquePointer
    private var body: (() -> Void)?
    private let values = TaskLocalStorage()

    /// Reserves a stack; returns nil if the system has no memory or address space left, or does not support fibers.
    init?(stackSize: Int) {
        guard let handle = fiber_create(stackSize) else { return nil }
        self.handle = handle
    }

    deinit {
        values.close()
        fiber_destroy(handle)
    }

    /// Whether a body has canceled the task of the stack, which later bodies would notice.
    var isCanceled: Bool { values.isCanceled }

    /// Calls the body on the fiber's stack until it returns or parks; returns whether it has returned.
    func start(_ body: @escaping () -> Void) -> Bool {
        precondition(self.body == nil, "a fiber runs one body at a time")
        self.body = body
        return run {
            fiber_start(
                handle,
                { argument in
                    // Because: the owner of the fiber keeps it while a body runs.
                    guard let argument else { return }
                    Unmanaged<Fiber>.fromOpaque(argument).takeUnretainedValue().body?()
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    /// Continues the parked body until it returns or parks again; returns whether it has returned.
    func resume() -> Bool {
        precondition(body != nil, "a fiber without a body cannot continue")
        return run { fiber_resume(handle) }
    }

    /// Returns to the caller of ``start(_:)`` or ``resume()``; called by the body, which continues with the next
    /// ``resume()``.
    func park() { fiber_park(handle) }

    private func run(_ part: () -> Bool) -> Bool {
        var hasReturned = false
        values.run { hasReturned = part() }
        if hasReturned { body = nil }
        return hasReturned
    }
}

#if os(Linux)

    /// The storage of the task-local values that the code on one stack binds.
    ///
    /// Outside of tasks, Swift keeps task-local values in the thread, where the innermost binding has to end first. The
    /// bindings of code on several stacks of a thread can end in any order. Therefore a task runs the code of each
    /// stack, and is suspended between the parts of the code. The task inherits no values.
    ///
    /// Running a part in the task takes half a microsecond longer.
    final class TaskLocalStorage: TaskExecutor, @unchecked Sendable {
        // Unchecked because: the stack belongs to one thread, on which all members are called. The task runs only on
        // this thread, because its executor is this object.
        private var task: Task<Void, Never>?
        private var job: UnownedJob?
        private var continuation: UnsafeContinuation<Void, Never>?
        private var part: (() -> Void)?
        private var isClosed = false

        init() {
            task = Task.detached(executorPreference: self) { await self.runParts() }
            runJob()
        }

        /// Runs a part of the code.
        func run(_ part: () -> Void) {
            withoutActuallyEscaping(part) { part in
                self.part = part
                resume()
                assert(self.part == nil, "a part has run when its stack is left")
            }
        }

        /// Whether the code has canceled its task, which affects only the code itself.
        var isCanceled: Bool { task?.isCancelled == true }

        /// Ends the task, which would otherwise keep the storage forever.
        func close() {
            isClosed = true
            resume()
        }

        func enqueue(_ job: consuming ExecutorJob) { self.job = UnownedJob(job) }

        private func runParts() async {
            while !isClosed {
                part?()
                part = nil
                await withUnsafeContinuation { continuation = $0 }
            }
        }

        private func resume() {
            continuation.take()?.resume()
            runJob()
        }

        private func runJob() {
            guard let job = job.take() else {
                preconditionFailure("only `run` and `close` resume the task of a stack")
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

#else

    /// Without fibers, code runs on the thread's own stack only, and binds its values in the thread.
    final class TaskLocalStorage {
        func run(_ part: () -> Void) { part() }
        var isCanceled: Bool { false }
        func close() {}
    }

#endif
