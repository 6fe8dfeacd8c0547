import EventLoops
import LuaHost
import MemoryAccounts
import ObjectStore
import Synchronization
import SystemCalls

// A running script: one Lua state, its stores, observers and timers, on an event loop. The loop and its thread belong
// to the script, or are shared with other scripts of a host (`ScriptThreads`).
//
// Used for `moonpool script.lua`, for each script of `moonpool run`, and for the session of the prompt.
//
// Life: the main part runs first. Then the loop runs until nothing keeps it alive (valid tokens, pending timers), or
// until `moonpool.stop`, `os.exit` or an interrupt. Finally the observers end, open writes are rolled back, and the
// stores and the state are closed, in this order, on the script's thread.
//
// Threads: `post`, `interrupt`, `finish` and `wait` are usable on any thread. A `ScriptContext` belongs to the script's
// thread.

/// A script on its thread.
package final class Script: Sendable {
    private enum ThreadKind {
        case own(LoopThread)
        case shared(SharedThreadLease)

        var loop: EventLoop {
            switch self {
            case .own(let thread): thread.loop
            case .shared(let lease): lease.loop
            }
        }
    }

    /// The unique name `<name>-<uuid>`, which is also the name of the script's own thread.
    package let name: String
    private let thread: ThreadKind
    private var loop: EventLoop { thread.loop }
    private let shared: ScriptSignals

    /// Starts the thread and runs `main` on it; its result is the default exit code.
    ///
    /// If `main` throws an error, the exit code is 1, or 130 for an interrupt; `main` itself must print the error.
    /// Throws errors of the system: no threads or file descriptors left.
    package init(
        _ configuration: ScriptConfiguration,
        main: @escaping @Sendable (ScriptContext) throws -> Int32
    ) throws(LoopError) {
        let name = "\(configuration.name)-\(UUIDValue.random())"
        let shared = ScriptSignals()
        self.name = name
        self.shared = shared
        let account = configuration.account ?? MemoryAccount(of: configuration)
        let thread = try LoopThread(name: name, clock: configuration.clock) { loop in
            MemoryAccount.$current.withValue(account) {
                let context = ScriptContext(
                    configuration: configuration, name: name, loop: loop, signals: shared)
                let interrupt = context.state.makeInterrupt()
                shared.begin(interrupt, LoopBound(context, on: loop))
                let interruption = Interruption { interrupt.isDue }
                let status = Interruption.$current.withValue(interruption) {
                    let status = context.run(main)
                    return context.shutDown(status)
                }
                shared.end(status: status)
            }
        }
        self.thread = .own(thread)
        if let limit = configuration.limits.totalTime { try endAfter(limit) }
    }

    /// Creates an interactive script on a shared thread; `main` is its first job.
    ///
    /// Throws if the system cannot start the thread.
    package init(
        _ configuration: ScriptConfiguration, on threads: ScriptThreads,
        main: @escaping @Sendable (ScriptContext) throws -> Int32
    ) throws(LoopError) {
        let name = "\(configuration.name)-\(UUIDValue.random())"
        let shared = ScriptSignals()
        self.name = name
        self.shared = shared
        let lease = try threads.lease()
        thread = .shared(lease)
        let loop = lease.loop
        let account = configuration.account ?? MemoryAccount(of: configuration)
        loop.post {
            MemoryAccount.$current.withValue(account) {
                let context = ScriptContext(
                    configuration: configuration, name: name, loop: loop, signals: shared,
                    lease: lease)
                shared.begin(context.state.makeInterrupt(), LoopBound(context, on: loop))
                context.dispatch {
                    context.runShared(main) { status in
                        lease.end()
                        shared.end(status: status)
                    }
                }
            }
        }
        if let limit = configuration.limits.totalTime { try endAfter(limit) }
    }

    /// Ends the script and its finalizers after its total time limit.
    private func endAfter(_ limit: Duration) throws(LoopError) {
        let loop = try Self.deadlineLoop()
        loop.post { [self] in
            // The stop is repeated, because code that starts later, such as a finalizer, must stop too.
            let timer = loop.timer(after: limit, every: .milliseconds(20)) { [self] in
                shared.requestInterrupt(.certain, for: .totalTime)
                post { $0.totalTimeIsOver(limit) }
            }
            cancelAtEnd(timer, of: loop)
        }
    }

    private func cancelAtEnd(_ timer: LoopTimer, of loop: EventLoop) {
        let bound = LoopBound(timer, on: loop)
        whenEnded { _ in loop.post { bound.value.cancel() } }
    }

    /// Runs a job on the script's thread, between its callbacks; returns false if the script has ended.
    ///
    /// Usable on any thread.
    @discardableResult  // because a job of an ended script is not needed
    package func post(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        link.postToScript(job)
    }

    /// The script's handle for other threads.
    var link: ScriptLink { ScriptLink(loop: loop, signals: shared) }

    /// Stops the running Lua code, and returns false if no code was running.
    ///
    /// The code can catch the error once for cleanup; code that still runs 200 ms later is stopped again and cannot
    /// catch that error. A script that waits for events ends with the exit code 130 instead, unless it is interactive.
    /// Usable on any thread, but not in a signal handler.
    @discardableResult  // because only prompts use the result
    package func interrupt() -> Bool {
        let didStop = shared.requestInterrupt(.catchable)
        // The job wakes a waiting script; an idle script must be interrupted on its own thread.
        post { context in if !didStop { context.interruptedWhileIdle() } }
        return didStop
    }

    /// Stops the running Lua code, even in a loop of `pcall`; the script continues.
    ///
    /// Returns false if no code was running. Usable on any thread.
    @discardableResult  // because many callers do not need to know whether code was running
    package func stopRunning() -> Bool {
        let didStop = shared.requestInterrupt(.certain)
        post { _ in }  // for code that waits for its loop
        return didStop
    }

    /// Stops the running observer, timer or entry; the stop is reported, and the script continues.
    ///
    /// The main part of a script is stopped too, which ends the script. Usable on any thread.
    package func stopHandler() {
        shared.spareScript()
        // A stop without an effect must not protect the script from the next stop.
        if !stopRunning() { _ = shared.takeSpared() }
    }

    /// Ends the script as `os.exit` does.
    ///
    /// Usable on any thread.
    package func finish(status: Int32 = 0) {
        post { $0.exit(status: status) }
    }

    /// Ends the script after the running code and all earlier jobs have ended.
    ///
    /// Usable on any thread.
    func finishGently() {
        post { $0.exitGently() }
    }

    /// Ends the script after the running code and all earlier jobs have ended, but at the latest after `grace`.
    ///
    /// Code that runs longer is interrupted and cannot catch the interrupt. Usable on any thread. Uses a separate
    /// thread, because the caller can be busy; throws if the system cannot start it.
    package func finishGently(within grace: Duration) throws(LoopError) {
        // Without a grace, running code is stopped first, because a wait that merely ends would let the code continue.
        if grace == .zero { kill() } else { finishGently() }
        let loop = try Self.deadlineLoop()
        loop.post { [self] in
            // The stop is repeated, because a stop has no effect before the code has started to run.
            let timer = loop.timer(after: grace, every: .milliseconds(20)) { [self] in kill() }
            cancelAtEnd(timer, of: loop)
        }
    }

    /// The thread that ends the scripts of a process after their time limits.
    private static let deadlines = Mutex<LoopThread?>(nil)

    private static func deadlineLoop() throws(LoopError) -> EventLoop {
        try deadlines.withLock { (thread) throws(LoopError) in
            if let thread { return thread.loop }
            let created = try LoopThread(name: "script deadlines", stackSize: 256 << 10) { loop in
                _ = loop.wait { false }
            }
            thread = created
            return created.loop
        }
    }

    /// Whether the script has ended.
    package var hasEnded: Bool { shared.status != nil }

    /// Ends the script immediately: running code is interrupted and cannot catch the interrupt, and pending calls do
    /// not run.
    ///
    /// Usable on any thread. A running native function returns first.
    package func kill() {
        if shared.markKilled() { finish() }
        _ = shared.requestInterrupt(.certain)
        post { _ in }  // for code that waits for its loop
    }

    /// Ends a script immediately and waits for its end.
    ///
    /// Returns its exit code, or nil if it has not ended in time because it is inside a native function. Do not call it
    /// on the script's own thread.
    func killAndWait(atMost patience: Duration) -> Int32? {
        let ended = ThreadLatch()
        whenEnded { _ in ended.open() }
        let deadline = ContinuousClock.now + patience
        repeat {
            // The stop is repeated, because a stop has no effect before the code has started to run.
            kill()
            if ended.wait(atMost: .milliseconds(20)) { return wait() }
        } while ContinuousClock.now < deadline
        return nil
    }

    /// Calls the handler on the script's thread when the script has ended, or immediately if it has already ended.
    package func whenEnded(_ handler: @escaping @Sendable (Int32) -> Void) {
        shared.whenEnded(handler)
    }

    /// Waits until the script has ended, and returns its exit code.
    ///
    /// Usable on any number of threads, except on the script's own.
    package func wait() -> Int32 {
        let ended = ThreadLatch()
        whenEnded { _ in ended.open() }
        while !ended.wait(atMost: .seconds(3600)) {}
        // The script's thread is about to end; only one of the waiting threads joins it.
        if case .own(let thread) = thread { thread.join() }
        return shared.status ?? 1
    }
}

extension MemoryAccount {
    /// Creates the account of a script that is not a worker; returns nil without a limit.
    fileprivate convenience init?(of configuration: ScriptConfiguration) {
        guard let limit = configuration.limits.memory else { return nil }
        // The memory of the process can be measured only if it runs a single script.
        guard configuration.endsProcess else {
            self.init(limit: limit)
            return
        }
        LuaMemory.mapLargeBlocks()
        let memory = ResidentMemory()
        self.init(
            limit: limit,
            measure: {
                memory.anonymous.map { $0 + Self.storesInMemory.load(ordering: .relaxed) }
            },
            trim: LuaMemory.trimHeap)
    }
}

/// The state of a script that other threads of the process use too.
final class ScriptSignals: Sendable {
    private struct State {
        var interrupt: LuaInterrupt?
        var context: LoopBound<ScriptContext>?
        var status: Int32?
        var isKilled = false
        var handlers: [@Sendable (Int32) -> Void] = []
        var isSpared = false
    }

    private let state = Mutex(State())

    var status: Int32? { state.withLock { $0.status } }

    /// Whether the script must end immediately.
    var isKilled: Bool { state.withLock { $0.isKilled } }

    /// Records that the script must end immediately; returns false if this was already recorded.
    func markKilled() -> Bool {
        state.withLock { state in
            defer { state.isKilled = true }
            return !state.isKilled
        }
    }

    /// The context of the script, on its thread, while it runs.
    var context: ScriptContext? { state.withLock { $0.context }?.value }

    func begin(_ interrupt: LuaInterrupt, _ context: LoopBound<ScriptContext>) {
        state.withLock { state in
            assert(state.context == nil && state.status == nil, "a script begins once")
            state.interrupt = interrupt
            state.context = context
        }
    }

    func end(status: Int32) {
        let handlers = state.withLock { state in
            assert(state.status == nil, "a script ends once")
            defer { state.handlers = [] }
            state.interrupt = nil
            state.context = nil
            state.status = status
            return state.handlers
        }
        for handler in handlers { handler(status) }
    }

    func whenEnded(_ handler: @escaping @Sendable (Int32) -> Void) {
        let status = state.withLock { state in
            if state.status == nil { state.handlers.append(handler) }
            return state.status
        }
        if let status { handler(status) }
    }

    /// Calls the body without interrupts; requests during the call have no effect.
    func withoutInterrupts(_ body: () -> Void) {
        let interrupt = state.withLock { state in
            defer { state.interrupt = nil }
            return state.interrupt
        }
        body()
        state.withLock { $0.interrupt = interrupt }
    }

    /// Makes the next stop end only the running code, not the script.
    func spareScript() { state.withLock { $0.isSpared = true } }

    /// Returns whether the stop should end only the running code, and clears this setting.
    func takeSpared() -> Bool {
        state.withLock { state in
            defer { state.isSpared = false }
            return state.isSpared
        }
    }

    @discardableResult  // because many callers do not need to know whether code was running
    func requestInterrupt(
        _ force: LuaInterrupt.Force, for reason: LuaInterrupt.Reason = .interrupt
    ) -> Bool {
        state.withLock { $0.interrupt }?.request(force, for: reason) ?? false
    }
}
