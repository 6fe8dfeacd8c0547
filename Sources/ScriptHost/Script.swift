import EventLoops
import LuaHost
import MemoryAccounts
import ObjectStore
import Synchronization

// A running script: one Lua state, its stores, observers and timers, on an event loop. The loop and its thread are the
// script's own, or it shares them with other scripts of a host (`ScriptThreads`).
//
// What it is for: `moonpool script.lua`, each script of `moonpool run`, and the session of the prompt.
//
// How it ends: the main part runs first; then the loop runs until nothing keeps it alive (valid tokens, pending timers),
// `moonpool.stop`, `os.exit`, or an interrupt. Then its observers end, open writes are rolled back, its stores and the
// state are closed, in this order, on its own thread.
//
// Threads: `post`, `interrupt`, `finish` and `wait` may be called from anywhere. A `ScriptContext` belongs to the
// script's thread.

/// A script on its thread.
package final class Script: Sendable {
    private enum Place {
        case own(LoopThread)
        case shared(ScriptSeat)

        var loop: EventLoop {
            switch self {
            case .own(let thread): thread.loop
            case .shared(let seat): seat.loop
            }
        }
    }

    /// `<name>-<uuid>`, which is also the name of a thread of its own.
    package let name: String
    private let place: Place
    private var loop: EventLoop { place.loop }
    private let shared: ScriptSignals

    /// Starts the thread and runs `main` on it; its result is the exit code if nothing else decides it.
    ///
    /// An error that `main` throws makes the exit code 1, and 130 if it is an interrupt; showing it is up to `main`.
    /// Throws what the system refuses: threads, file descriptors.
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
                let status = Interruption.$current.withValue(Interruption { interrupt.isDue }) {
                    let status = context.run(main)
                    context.shutDown()
                    return status
                }
                shared.end(status: status)
            }
        }
        place = .own(thread)
        if let limit = configuration.limits.totalTime { try endAfter(limit) }
    }

    /// Creates an interactive script on a thread that others share; `main` is its first job.
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
        let seat = try threads.takeSeat()
        place = .shared(seat)
        let loop = seat.loop
        let account = configuration.account ?? MemoryAccount(of: configuration)
        loop.post {
            MemoryAccount.$current.withValue(account) {
                let context = ScriptContext(
                    configuration: configuration, name: name, loop: loop, signals: shared,
                    seat: seat)
                shared.begin(context.state.makeInterrupt(), LoopBound(context, on: loop))
                context.runShared(main) { status in
                    seat.leave()
                    shared.end(status: status)
                }
            }
        }
        if let limit = configuration.limits.totalTime { try endAfter(limit) }
    }

    /// Ends the script, and its finalizers, when it has lived for that long.
    private func endAfter(_ limit: Duration) throws(LoopError) {
        let loop = try Self.deadlineLoop()
        loop.post { [self] in
            // Again and again: what begins to run later, such as a finalizer, has to stop as well.
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

    /// Runs a job on the script's thread, between its callbacks.
    ///
    /// Any thread; false when the script has ended.
    @discardableResult  // because a script that has ended has no use for a job
    package func post(_ job: @escaping @Sendable (ScriptContext) -> Void) -> Bool {
        let shared = shared
        return loop.post { shared.context.map(job) }
    }

    /// The script as other threads see it.
    var link: ScriptLink { ScriptLink(loop: loop, signals: shared) }

    /// Stops the Lua code that is running, wherever it is.
    ///
    /// Any thread; not in a signal handler.
    ///
    /// The code may catch the error once, to tidy up; if it still runs 200 ms later, nothing keeps it going.
    /// A script that waits for events is ended with exit code 130 instead; an interactive one is left alone. False when
    /// there was nothing to stop.
    @discardableResult  // because the answer only matters to prompts
    package func interrupt() -> Bool {
        let didStop = shared.requestInterrupt(.catchable)
        // A script that sleeps waits for its loop, and one that is idle has to learn of it there.
        post { context in if !didStop { context.interruptedWhileIdle() } }
        return didStop
    }

    /// Stops the running Lua code, even in a loop of `pcall`; the script continues.
    ///
    /// Any thread. False when nothing ran.
    @discardableResult  // because a caller that stops a script need not know whether something ran
    package func stopRunning() -> Bool {
        let didStop = shared.requestInterrupt(.certain)
        post { _ in }  // for code that waits for its loop
        return didStop
    }

    /// Stops the running observer, timer or entry; the stop is reported, and the script continues.
    ///
    /// Any thread. The main part of a script is stopped as well, and with it the script.
    package func stopHandler() {
        shared.spareScript()
        // A stop that found nothing must not spare the script from the next one.
        if !stopRunning() { _ = shared.takeSpared() }
    }

    /// Ends the script as `os.exit` does.
    ///
    /// Any thread.
    package func finish(status: Int32 = 0) {
        post { $0.exit(status: status) }
    }

    /// Ends the script when what is running has ended, and what was posted before.
    ///
    /// Any thread.
    func finishGently() {
        post { $0.exitGently() }
    }

    /// The same; what still runs after `grace` is interrupted for certain.
    ///
    /// Any thread. Uses a thread of its own, because the caller may be busy; throws when the system cannot start one.
    package func finishGently(within grace: Duration) throws(LoopError) {
        finishGently()
        if grace == .zero { kill() }
        let loop = try Self.deadlineLoop()
        loop.post { [self] in
            // Again and again, because a stop that comes before the code has begun to run is lost.
            let timer = loop.timer(after: grace, every: .milliseconds(20)) { [self] in kill() }
            cancelAtEnd(timer, of: loop)
        }
    }

    /// The thread that ends the scripts of a process when their time is over.
    private static let deadlines = Mutex<LoopThread?>(nil)

    private static func deadlineLoop() throws(LoopError) -> EventLoop {
        try deadlines.withLock { (thread) throws(LoopError) in
            if let thread { return thread.loop }
            let made = try LoopThread(name: "script deadlines", stackSize: 256 << 10) { loop in
                _ = loop.wait { false }
            }
            thread = made
            return made.loop
        }
    }

    /// Whether the script has done everything: nothing of it runs any more.
    package var hasEnded: Bool { shared.status != nil }

    /// Ends the script whatever it does: running code is interrupted for certain, nothing that waits is run.
    ///
    /// Any thread. A native function that computes runs to its end first.
    package func kill() {
        if shared.markKilled() { finish() }
        _ = shared.requestInterrupt(.certain)
    }

    /// Waits for the end of a script that is to be killed; its exit code, or nil if it did not end in that time, being
    /// inside a native function.
    ///
    /// Not on its own thread.
    func killAndWait(atMost patience: Duration) -> Int32? {
        let ended = ThreadLatch()
        whenEnded { _ in ended.open() }
        let deadline = ContinuousClock.now + patience
        repeat {
            // Again and again, because a stop that comes before the code has begun to run is lost.
            kill()
            if ended.wait(atMost: .milliseconds(20)) { return wait() }
        } while ContinuousClock.now < deadline
        return nil
    }

    /// Calls the handler, on the script's thread, when it has ended; at once when it has ended already.
    package func whenEnded(_ handler: @escaping @Sendable (Int32) -> Void) {
        shared.whenEnded(handler)
    }

    /// Waits until the script has ended; its exit code.
    ///
    /// Any number of threads may wait, but for its own.
    package func wait() -> Int32 {
        let ended = ThreadLatch()
        whenEnded { _ in ended.open() }
        while !ended.wait(atMost: .seconds(3600)) {}
        // Only one of the waiting threads joins the script's thread, which is about to end.
        if case .own(let thread) = place { thread.join() }
        return shared.status ?? 1
    }
}

extension MemoryAccount {
    /// The account of a script that is not a worker; nil without a limit.
    fileprivate convenience init?(of configuration: ScriptConfiguration) {
        guard let limit = configuration.limits.memory else { return nil }
        // Only a process with a single script can be measured.
        guard configuration.endsProcess else {
            self.init(limit: limit)
            return
        }
        self.init(limit: limit) { ProcessServices.anonymousMemory }
    }
}

/// The state of one script that the threads of a process share.
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

    /// Whether the script is to end whatever it does.
    var isKilled: Bool { state.withLock { $0.isKilled } }

    /// Notes that the script is to end whatever it does; false if that was known.
    func markKilled() -> Bool {
        state.withLock { state in
            defer { state.isKilled = true }
            return !state.isKilled
        }
    }

    /// The script; on its thread, while it runs.
    var context: ScriptContext? { state.withLock { $0.context }?.value }

    func begin(_ interrupt: LuaInterrupt, _ context: LoopBound<ScriptContext>) {
        state.withLock { state in
            state.interrupt = interrupt
            state.context = context
        }
    }

    func end(status: Int32) {
        let handlers = state.withLock { state in
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

    /// Calls the body while interrupts are off; requests made meanwhile are void.
    func withoutInterrupts(_ body: () -> Void) {
        let interrupt = state.withLock { state in
            defer { state.interrupt = nil }
            return state.interrupt
        }
        body()
        state.withLock { $0.interrupt = interrupt }
    }

    /// The next stop is meant for what runs, not for the script.
    func spareScript() { state.withLock { $0.isSpared = true } }

    /// Whether the stop that has come was not meant for the script; once.
    func takeSpared() -> Bool {
        state.withLock { state in
            defer { state.isSpared = false }
            return state.isSpared
        }
    }

    @discardableResult  // because often it does not matter whether there was something to stop
    func requestInterrupt(
        _ force: LuaInterrupt.Force, for reason: LuaInterrupt.Reason = .interrupt
    ) -> Bool {
        state.withLock { $0.interrupt }?.request(force, for: reason) ?? false
    }
}
