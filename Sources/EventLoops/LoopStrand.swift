/// The stacks of the strands of one loop.
///
/// Unused stacks are kept for the next strands. Confined to the loop's thread.
package final class StrandStacks: @unchecked Sendable {
    // Unchecked because: it is used only on the loop's thread, which the strands check.
    private let size: Int
    private var unused: [Fiber] = []
    private static let mostUnused = 8
    /// The strand whose stack the thread is on; nil on the thread's own stack.
    fileprivate var current: LoopStrand?
    /// The number of strands that run or wait.
    package fileprivate(set) var used = 0

    /// Creates stacks of this size in bytes; the system provides memory only for what is used.
    package init(size: Int = LoopThread.defaultStackSize) { self.size = size }

    fileprivate func take() -> Fiber? {
        guard let fiber = unused.popLast() ?? Fiber(stackSize: size) else { return nil }
        used += 1
        return fiber
    }

    fileprivate func giveBack(_ fiber: Fiber) {
        used -= 1
        if unused.count < Self.mostUnused, !fiber.isCanceled { unused.append(fiber) }
    }
}

/// A group of jobs of a loop, such as those of one script, that waits independently of the loop's other groups.
///
/// A job runs on a stack of the strand. When the job waits, the thread returns to the loop and serves the other
/// strands. The job continues when its condition holds, even if other strands still wait. Jobs of the same strand that
/// arrive in the meantime run on top of the waiting job, as handlers do in ``EventLoop/wait(for:recheck:until:)``: the
/// waiting job continues after the jobs that began to wait later have ended. A job that waits in the middle of an
/// operation suspends its strand instead (``suspend(recheck:until:)``). Later jobs of the strand are then delayed until
/// the suspended job ends, or waits without suspending the strand.
///
/// Each job has its own task-local values, also after a wait. It does not inherit those of the code that calls
/// ``run(_:)``: `bind` binds the values that all jobs of the strand need. Other values of the thread must be the same
/// whenever the strand's code runs: `surround` sets them around each part of a job.
package final class LoopStrand: @unchecked Sendable {
    // Unchecked because: it is used only on the loop's thread, which `run` checks.
    private let loop: EventLoop
    private let stacks: StrandStacks
    /// Runs a job with the task-local values that it needs.
    private let bind: (_ job: () -> Void) -> Void
    /// Runs a part of a job, with the other values of the thread that the job needs.
    private let surround: (_ part: () -> Void) -> Void
    private var fiber: Fiber?
    /// The job that the parked code runs before it checks its condition again.
    private var next: (() -> Void)?
    /// Whether a part of a job is on the thread's stack, as the running code or as its caller.
    private var isActive = false
    /// Whether the parked code has suspended the strand.
    private var isSuspended = false
    /// The jobs that have arrived while the strand was suspended.
    private var delayed: [() -> Void] = []

    /// Creates a strand without jobs.
    package init(
        on loop: EventLoop, _ stacks: StrandStacks,
        bind: @escaping (() -> Void) -> Void = { $0() },
        surround: @escaping (() -> Void) -> Void
    ) {
        self.bind = bind
        self.loop = loop
        self.stacks = stacks
        self.surround = surround
    }

    /// Whether no job runs or waits.
    package var isIdle: Bool { fiber == nil && !isActive && delayed.isEmpty }

    /// Whether the calling code is a job of the strand.
    package var isCurrent: Bool { isActive }

    /// Whether the calling code runs on the strand's stack, so that other strands can run while it waits.
    package var canPark: Bool { fiber != nil && stacks.current === self }

    /// Runs a job until it ends or waits; if the strand's own code calls this function, the job runs to its end.
    ///
    /// While the strand is suspended, the job is delayed, and the suspended code checks its condition.
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
            next = job
            resumeParked()
        } else if let fiber = stacks.take() {
            self.fiber = fiber
            onStack { fiber.start { [bind] in bind(job) } }
        } else {
            isActive = true
            surround { bind(job) }
            isActive = false
        }
    }

    /// Runs the delayed jobs in the order of their arrival, until one of them suspends the strand.
    private func runDelayed() {
        while !isSuspended, !delayed.isEmpty {
            let jobs = delayed
            delayed = []
            // If a job suspends the strand, `run` delays the remaining ones again.
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

    /// Switches to the strand's stack until its code has ended or parks.
    private func onStack(_ part: () -> Bool) {
        let below = stacks.current
        stacks.current = self
        isActive = true
        var hasEnded = false
        surround { hasEnded = part() }
        isActive = false
        stacks.current = below
        guard hasEnded, let fiber else { return }
        self.fiber = nil
        stacks.giveBack(fiber)
    }

    /// Waits inside of a job until the condition holds or the time has passed; returns whether the condition holds.
    ///
    /// The condition is checked at once, after each job of the strand, and after the interval that `recheck` returns
    /// before each pause. Errors of the condition are rethrown.
    package func wait<Failure: Error>(
        for timeout: Duration? = nil, recheck: () -> Duration? = { nil },
        until condition: () throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        guard canPark, let fiber else {
            return try loop.wait(for: timeout, recheck: recheck(), until: condition)
        }
        let deadline = timeout.map { loop.clock.now() + $0 }
        while true {
            if try condition() { return true }
            let rest = deadline.map { $0 - loop.clock.now() }
            if let rest, rest <= .zero { return false }
            park(fiber, atMost: [rest, recheck()].compactMap { $0 }.min())
            next.take()?()
        }
    }

    /// Waits in the middle of an operation until the condition holds; the loop serves the other strands in the
    /// meantime.
    ///
    /// Call it only if ``canPark``. No other job of the strand runs in the meantime, so the state of the operation does
    /// not change. The condition is checked at once, after ``recheck()``, when a job arrives, and after the interval
    /// that the argument `recheck` returns before each pause. Errors of the condition are rethrown.
    package func suspend<Failure: Error>(
        recheck: () -> Duration? = { nil }, until condition: () throws(Failure) -> Bool
    ) throws(Failure) {
        guard canPark, let fiber else {
            preconditionFailure("code can be suspended only on the stack of its strand")
        }
        while try !condition() {
            isSuspended = true
            park(fiber, atMost: recheck())
            isSuspended = false
        }
    }

    /// Returns to the loop until the strand's code must check its condition again.
    private func park(_ fiber: Fiber, atMost pause: Duration?) {
        let alarm = pause.map { pause in
            loop.timer(after: pause, keepsAlive: false) { [weak self] in self?.continueParked() }
        }
        fiber.park()
        alarm?.cancel()
    }
}
