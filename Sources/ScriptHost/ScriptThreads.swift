import EventLoops
import LuaHost
import MemoryAccounts
import ObjectStore
import Synchronization

/// Threads that many script engines share.
///
/// By default, an engine has its own thread and event loop. Engines that share threads do not need these, so a program
/// can have thousands of them. The limits apply to each engine; while one of them computes, the other engines of its
/// thread wait.
///
/// A script that waits (in `moonpool.sleep`, for an async function, or for another writer of its file) lets the other
/// engines run. It continues when its own wait is over, even if the others still wait. Its stack takes 10 KiB or more
/// of memory until its run ends. At most 10,000 scripts of a thread can wait at the same time; the next one gets the
/// error `limit_exceeded`.
///
/// ```swift
/// let threads = ScriptThreads(count: 4)
/// let engines = try tenants.map { _ in try ScriptEngine(.sandboxed, on: threads) }
/// ```
///
/// Usable on any thread. The threads end when the last engine on them has ended and the last reference was released.
public final class ScriptThreads: Sendable {
    private struct Slot {
        var thread: LoopThread?
        let fibers = FiberPool()
        var engines = 0
    }

    private let slots: Mutex<[Slot]>
    private let maxWaits: Int
    /// The maximum number of scripts of a thread that wait at once.
    ///
    /// Each waiting script has a memory mapping for its stack, and a process can have about 65,000 mappings.
    private static let maxWaits = 10_000

    /// Creates the threads lazily, when engines need them.
    ///
    /// `count` is at least 1.
    public init(count: Int = 2) {
        maxWaits = Self.maxWaits
        slots = Self.slots(count)
    }

    /// Creates threads, on each of which `maxWaits` scripts can wait at the same time.
    package init(count: Int, maxWaits: Int) {
        self.maxWaits = min(maxWaits, Self.maxWaits)
        slots = Self.slots(count)
    }

    private static func slots(_ count: Int) -> Mutex<[Slot]> {
        Mutex((0..<max(1, count)).map { _ in Slot() })
    }

    deinit {
        slots.withLock { for slot in $0 { slot.thread?.loop.stop() } }
    }

    /// The number of engines that have not ended.
    public var engineCount: Int { slots.withLock { $0.reduce(0) { $0 + $1.engines } } }

    /// Assigns a script to the thread with the fewest engines.
    ///
    /// Throws if the system cannot start a thread.
    func lease() throws(LoopError) -> SharedThreadLease {
        try slots.withLock { (slots) throws(LoopError) in
            let index = slots.indices.min { slots[$0].engines < slots[$1].engines } ?? 0
            let thread: LoopThread
            if let known = slots[index].thread {
                thread = known
            } else {
                thread = try Self.start(number: index + 1)
                slots[index].thread = thread
            }
            slots[index].engines += 1
            return SharedThreadLease(
                loop: thread.loop, fibers: slots[index].fibers, maxWaits: maxWaits,
                threads: self, index: index)
        }
    }

    fileprivate func leave(_ index: Int) {
        slots.withLock { slots in
            assert(slots[index].engines > 0, "a lease ends once")
            slots[index].engines -= 1
        }
    }

    private static func start(number: Int) throws(LoopError) -> LoopThread {
        try LoopThread(name: "scripts-\(number)") { loop in _ = loop.wait { false } }
    }
}

/// The place of one script on a shared thread.
struct SharedThreadLease: Sendable {
    let loop: EventLoop
    let fibers: FiberPool
    /// Keeps the threads running while the script exists.
    fileprivate let threads: ScriptThreads
    fileprivate let index: Int
    private let maxWaits: Int
    /// The maximum depth of waits on the thread's own stack, which scripts without their own stack use.
    private static let maxNestedWaits = 50

    fileprivate init(
        loop: EventLoop, fibers: FiberPool, maxWaits: Int, threads: ScriptThreads, index: Int
    ) {
        self.loop = loop
        self.fibers = fibers
        self.maxWaits = maxWaits
        self.threads = threads
        self.index = index
    }

    /// Throws `limit_exceeded` if too many scripts are waiting already.
    func checkWaits() throws {
        guard fibers.used > maxWaits || loop.nesting > Self.maxNestedWaits else { return }
        throw StoreError(
            .limitExceeded,
            "too many scripts wait on this thread at once; use more threads, or timers")
    }

    /// Ends the lease.
    func end() { threads.leave(index) }
}

/// The code of one script on a shared thread, and the context that the thread runs it in.
struct ScriptSurroundings: Sendable {
    private let lease: SharedThreadLease
    private let interruption: Interruption
    private let account: MemoryAccount?
    private let signals: ScriptSignals
    private let timeLeft: LoopBound<() -> Duration?>
    /// The jobs of the script: its runs, callbacks and waits.
    let jobs: JobGroup

    init(_ lease: SharedThreadLease, _ state: LuaState, _ signals: ScriptSignals) {
        let interrupt = state.makeInterrupt()
        let interruption = Interruption { interrupt.isDue }
        let account = state.account
        self.lease = lease
        self.interruption = interruption
        self.account = account
        self.signals = signals
        timeLeft = LoopBound({ [weak state] in state?.timeLeft }, on: lease.loop)
        var states = LuaRunningStates()
        jobs = JobGroup(
            on: lease.loop, lease.fibers, bind: { job in Self.run(interruption, account, job) },
            surround: { part in
                states.exchange()
                part()
                states.exchange()
            })
    }

    /// Runs the body in the context of the script, on the current stack.
    func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        if jobs.isCurrent { return try body() }
        return try Self.run(interruption, account, body)
    }

    private static func run<Result>(
        _ interruption: Interruption, _ account: MemoryAccount?, _ body: () throws -> Result
    ) rethrows -> Result {
        try Interruption.$current.withValue(interruption) {
            try MemoryAccount.$current.withValue(account) { try body() }
        }
    }

    /// Returns a function that runs the handler as a job of the script.
    ///
    /// Calls that arrive before a delayed job begins are combined, because the script can be suspended for long.
    func job(_ handler: @escaping () -> Void) -> () -> Void {
        let jobs = jobs
        var isPending = false
        return {
            if isPending { return }
            isPending = true
            jobs.run {
                isPending = false
                handler()
            }
        }
    }

    // MARK: - Waiting

    /// The interval at which a wait checks whether its run has reached its time limit; other stops wake it.
    static let stopCheck = Duration.milliseconds(20)

    /// Returns the time until a wait should check its condition again; nil if only events can change it.
    ///
    /// Thousands of scripts can wait on a shared thread, so no script checks its time limit before the limit is
    /// reached.
    func pause(atMost recheck: Duration?) -> Duration? {
        guard let left = timeLeft.value() else { return recheck }
        let limitCheck = max(left, Self.stopCheck)
        return recheck.map { min($0, limitCheck) } ?? limitCheck
    }

    /// Suspends the running code of the script until the condition holds, while the other scripts of the thread run.
    ///
    /// Other code of the script is delayed. Rethrows the errors of the condition. Throws the error of a stop, and
    /// `limit_exceeded` if too many scripts of the thread wait.
    func suspend(checkingEvery interval: Duration?, until condition: () throws -> Bool) throws {
        try lease.checkWaits()
        try jobs.suspend(recheck: { pause(atMost: interval) }) { () throws in
            // No Lua code runs during the wait, so the stop is checked here.
            if signals.isKilled { throw LuaInterrupted() }
            return try condition()
        }
    }

    /// A function that makes suspended code of the script check its condition, on any thread.
    var resume: @Sendable () -> Void {
        { [loop = lease.loop, jobs] in loop.post { jobs.recheck() } }
    }
}
