import EventLoops
import Logging
import LuaHost
import MemoryAccounts
import ObjectStore
import OptionalProducts
import Reference
import StoreBindings
import SystemCalls

/// A running script on its own thread: its state, its loop, and the functions that call its code.
package final class ScriptContext {
    /// The configuration of the script.
    package let configuration: ScriptConfiguration
    /// The unique name `<name>-<uuid>`.
    package let name: String
    /// The event loop of the script.
    package let loop: EventLoop
    /// The Lua state of the script.
    package let state: LuaState
    /// The stores and tokens of the script, and the table `moonpool`.
    package let storeModule: StoreModule
    /// The table `moonpool`.
    package var module: LuaTable { storeModule.table }

    /// Lua's own `loadfile`, which the script cannot replace.
    let loadFile: LuaFunction
    private let modules: ScriptModules
    /// Receives the output of the script; nil for the standard streams.
    let output: ScriptOutput?
    var streams: [LuaStream] = []
    private var timers: [ScriptTimer] = []
    private var timersToPrune = 64
    /// The state that other modules keep for the script, by type.
    package var attachments: [ObjectIdentifier: AnyObject] = [:]
    /// Wraps each call from the loop into the script, such as the call of a timer, except calls of observers.
    ///
    /// Used by hosts that label output. The function must run the call and rethrow its errors.
    package var aroundCallbacks: ((_ source: String, _ call: () throws -> Void) throws -> Void)?
    /// Runs at the end of each turn of the loop.
    package var onTurn: (() -> Void)?
    let signals: ScriptSignals
    /// The lease of a shared thread; nil if the script has its own thread and loop.
    private let lease: SharedThreadLease?
    private let surroundings: ScriptSurroundings?
    /// Runs after the end of a script on a shared thread.
    private var whenShutDown: ((Int32) -> Void)?
    private var isShutDownPlanned = false
    let stores: StoreConnection
    /// The status of `os.exit` or of an interrupt; nil while the script runs.
    private(set) var exitStatus: Int32?
    /// Whether the script ends when the running code returns.
    private(set) var isEnding = false
    /// The number of waits of the running code since ``isEnding`` became true.
    private var waitsWhileEnding = 0
    private static let maxWaitsWhileEnding = 100
    /// The exit code because of errors that observers, timers or workers have raised and `moonpool.on_error` did not
    /// handle; 0 without any.
    private var failureStatus: Int32 = 0
    private var isShuttingDown = false
    private var entries = 0
    private var openWritesBefore: [Store] = []
    private var collector: IdleCollector?
    /// The messages from workers, and from the parent of a worker.
    private(set) lazy var messages = MessageBox(self)
    /// The services and requests of the script.
    private(set) lazy var services = Services(self)
    /// The workers that have not ended, by number.
    var workers: [Int: Worker] = [:]
    /// The number of the last started worker.
    var lastWorker = 0
    /// The loop of the module luv; nil until the script requires it.
    var luv: LuvLoop?
    /// Whether `print` writes the output of each call in one piece.
    var printsInOnePiece = false

    init(
        configuration: ScriptConfiguration, name: String, loop: EventLoop, signals: ScriptSignals,
        lease: SharedThreadLease? = nil
    ) {
        OptionalProducts.register()
        self.lease = lease
        self.configuration = configuration
        self.name = name
        self.loop = loop
        self.signals = signals
        let state = LuaState(
            libraries: configuration.rights.libraries,
            isConfined: configuration.rights.isConfined,
            ignoresEnvironment: !configuration.usesEnvironment, account: MemoryAccount.current)
        self.state = state
        state.usage = HelpCatalog.usage
        state.memberOfOtherLibraries = HelpCatalog.memberOfOtherLibraries
        loadFile = state.globals["loadfile"].function ?? Self.makeLoadFile(state)
        surroundings = lease.map { ScriptSurroundings($0, state, signals) }
        stores = StoreConnection(
            loop: loop, signals: signals, scriptName: configuration.name,
            logger: configuration.logger, surroundings: surroundings,
            commitPause: configuration.commitPause)
        storeModule = stores.connect(state)
        modules = ScriptModules(
            state, files: configuration.rights.files, isConfined: configuration.rights.isConfined,
            moonpool: storeModule.table)
        output = configuration.output.map(ScriptOutput.init)
        let report = configuration.report
        state.onWarning = { report(ScriptReport(warning: $0)) }
        stores.onHint = { report(ScriptReport(hint: $0, program: configuration.programName)) }
        storeModule.keepsMainChunk = !configuration.isInteractive
        stores.onError = { [weak self] error, source, token in
            self?.failed(error, in: source, token: token)
        }
        if lease == nil { loop.didTurn = { [weak self] in self?.didTurn() } }
        installTimers()
        installProcessFunctions()
        installWorkers()
        installRequests()
        installStudio()
        // luv supports only one loop per thread.
        if !configuration.rights.isConfined, lease == nil { installLuv() }
        // Functions that read folders and run scripts require the corresponding rights.
        if !configuration.rights.isConfined, configuration.rights.files == .all,
            !configuration.rights.opensStoresReadOnly
        {
            MigrationModule.install(in: self)
        }
        module["version"] = .text(ProductVersion.text)
        state.globals["moonpool"] = .table(module)
        state.host = self
        confine()
        configuration.prepare?(self)
        captureModule()
    }

    /// Adds `studio.panel` to the module.
    ///
    /// A studio that shows the script reads the same list of panels.
    private func installStudio() {
        let studio = state.makeTable(fields: 1)
        studio["panel"] = .function(
            state.makeFunction("panel", of: "moonpool.studio") { call in
                let name = try call.text(1)
                let body = call.isNil(2) ? LuaValue.nil : .function(try call.function(2))
                let registry = try call.state.runtimeFile("studio/registry").table
                _ = try registry?["set"].function?.call([.text(name), body])
                return .none
            })
        module["studio"] = .table(studio)
    }

    /// Makes a copy of the module available to the program's own Lua files, so that no script can change what they call.
    private func captureModule() {
        func copy(_ table: LuaTable) -> LuaTable {
            let result = state.makeTable(fields: 80)
            for (key, value) in table.pairs {
                result.setRaw(key, value.table.map { .table(copy($0)) } ?? value)
            }
            return result
        }
        state.runtime["moonpool"] = .table(copy(module))
    }

    // MARK: - Modules

    /// Defines a module for `require`; if the module is loaded, its table gets the new contents.
    ///
    /// Throws the error of source that does not compile or that fails; the old module then remains.
    package func defineModule(_ name: String, source: String) throws {
        try entry { () throws in try modules.define(name, source: source) }
    }

    /// Loads a module again; its existing table gets the new contents.
    ///
    /// Throws the error of a module that is not found, does not compile or fails; the old module then remains.
    package func reloadModule(_ name: String) throws {
        try entry { () throws in try modules.reload(name) }
    }

    // MARK: - Life

    func run(_ main: (ScriptContext) throws -> Int32) -> Int32 {
        configuration.logger.debug("script begins", metadata: ["script": "\(name)"])
        var status: Int32 = 0
        if !signals.isKilled {
            do {
                status = try enter { () throws in try main(self) }
            } catch let error as LuaError where error.kind == .interrupted {
                status = exitStatus(ofStopped: error)
            } catch {
                status = 1
            }
            if !isExiting { runLoop(afterMain: status) }
            status = exitStatus ?? max(status, failureStatus)
        }
        configuration.logger.debug(
            "script has ended", metadata: ["script": "\(name)", "status": "\(status)"])
        return status
    }

    /// Runs the loop until nothing keeps it alive; the loop of an interactive script runs until `exit`.
    private func runLoop(afterMain status: Int32) {
        if configuration.isInteractive {
            let hold = loop.hold()
            while exitStatus == nil { loop.run() }
            hold.release()
        } else if status == 0 {
            storeModule.keepObservers()
            storeModule.keepsMainChunk = false
            collector = IdleCollector(self)
            loop.run()
            collector?.stop()
            collector = nil
            if exitStatus == nil, !isEnding { hintAtUnreadMessages() }
        }
    }

    /// Runs the first code on a shared thread.
    ///
    /// The script continues until `exit`. It is shut down before `end` is called.
    func runShared(_ main: (ScriptContext) throws -> Int32, end: @escaping (Int32) -> Void) {
        assert(whenShutDown == nil, "a script on a shared thread begins once")
        whenShutDown = end
        if signals.isKilled { return exit(status: 0) }
        configuration.logger.debug("script begins", metadata: ["script": "\(name)"])
        // As on the script's own thread, `main` itself prints its errors.
        _ = try? entry { () throws in try main(self) }
    }

    /// Ends the loop of the script; on a shared thread, ends only the script, when none of its code runs.
    private func endLoop() {
        guard lease != nil else { return loop.stop() }
        guard isExiting, !isShutDownPlanned else { return }
        isShutDownPlanned = true
        shutDownWhenIdle(after: .zero)
    }

    private func shutDownWhenIdle(after delay: Duration) {
        // Code that waits ends at its next check.
        loop.timer(after: delay, keepsAlive: false) { [self] in
            guard !state.isRunning, entries == 0, surroundings?.jobs.isIdle != false else {
                return shutDownWhenIdle(after: .milliseconds(2))
            }
            for timer in activeTimers { timer.cancel() }
            let status = shutDown(exitStatus ?? 0)
            configuration.logger.debug("script has ended", metadata: ["script": "\(name)"])
            let end = whenShutDown.take()
            end?(status)
        }
    }

    /// Stops the loop, as `moonpool.stop` requests; on a shared thread, the loop continues for the other scripts.
    func stopLoop() { if lease == nil { loop.stop() } }

    /// Ends everything that the script has started, in an order in which no ended part is called.
    ///
    /// Returns the exit code of the script: `status`, unless a finalizer is stopped by a limit.
    func shutDown(_ status: Int32) -> Int32 {
        assert(!isShuttingDown, "a script is shut down once")
        isShuttingDown = true
        endWhatRuns()
        let final = self.status(status, after: state.close())
        output?.endLines()
        return final
    }

    /// Reports the limit that has stopped a finalizer at the end, unless a limit has already ended the script.
    ///
    /// Returns the exit code.
    private func status(_ status: Int32, after limit: LuaLimitExceeded?) -> Int32 {
        guard let limit, status != Self.limitStatus else { return status }
        reportUnhandled(limit, in: "")
        return Self.limitStatus
    }

    /// The exit code of a script that a limit has stopped, as `timeout` uses it.
    private static let limitStatus: Int32 = 124

    /// Ends everything that the script has started, while its code is running, and then the process.
    func exitProcess(_ status: Int32) {
        if isShuttingDown { return }
        isShuttingDown = true
        endWhatRuns()
        // During a callback of luv the state cannot be closed, because luv would return into freed memory.
        let limit = luv?.isRunning == true ? nil : state.closeBeforeExit()
        ProcessServices.exit(self.status(status, after: limit))
    }

    private func endWhatRuns() {
        messages.close()
        services.close()
        // A worker that waits for the write lock needs the lock to end.
        stores.cancelWrites(except: [])
        endWorkers()
        stores.close()
        luv?.end()
    }

    /// Ends the script as `os.exit` does: running Lua code is stopped, and no other code runs.
    ///
    /// The status of the first call counts.
    package func exit(status: Int32) {
        if exitStatus == nil { exitStatus = status }
        storeModule.endObservers()
        endLoop()
        if state.isRunning { _ = signals.requestInterrupt(.certain) }
    }

    /// Ends the script when the running code has returned and earlier messages have been handled.
    ///
    /// Until then, waits return immediately, and the loop calls no other code.
    func exitGently() {
        guard state.isRunning, !isExiting else { return exit(status: 0) }
        isEnding = true
        endLoop()
    }

    /// Runs a job of the script, such as a posted call or a timer; call it on the loop's thread, outside of other jobs.
    ///
    /// On a shared thread the function returns when the job has ended or waits.
    func dispatch(_ job: @escaping () -> Void) {
        guard let jobs = surroundings?.jobs else { return job() }
        jobs.run(job)
    }

    /// Waits inside of running code until the condition holds, the time has passed, or the code should end.
    ///
    /// Observers, timers and other jobs of the script run in the meantime, and on a shared thread those of other
    /// scripts. The condition is checked after each of the script's jobs, and at least every `recheck`, because it can
    /// depend on state that does not wake the loop. Errors of the condition are rethrown. Throws the error of a stop,
    /// and `limit_exceeded` if too many scripts of a shared thread wait.
    package func wait(
        for timeout: Duration? = nil, recheck: Duration? = nil,
        until condition: () throws -> Bool = { false }
    ) throws {
        try checkMayWait()
        recordWait()
        let isOver = { () throws -> Bool in
            if self.mustNotWait { return true }
            return try condition()
        }
        if let surroundings {
            _ = try surroundings.jobs.wait(
                for: timeout, recheck: { surroundings.pause(atMost: recheck) }, until: isOver)
        } else {
            let limitCheck: Duration? =
                configuration.limits.time == nil ? nil : ScriptSurroundings.stopCheck
            let pause = [recheck, limitCheck].compactMap { $0 }.min()
            _ = try loop.wait(for: timeout, recheck: pause, until: isOver)
        }
        if !isExiting { try state.takeStop() }
    }

    /// Throws if running code may not wait: `already_in_write` in the middle of a store operation, and `limit_exceeded`
    /// if too many scripts of a shared thread wait.
    package func checkMayWait() throws {
        try ReadOnlySection.check()
        try lease?.checkWaits()
    }

    /// Stops code that should end but waits repeatedly.
    private func recordWait() {
        guard isEnding else { return }
        waitsWhileEnding += 1
        if waitsWhileEnding > Self.maxWaitsWhileEnding { exit(status: 0) }
    }

    /// Whether the script is ending.
    package var isExiting: Bool { exitStatus != nil }

    /// Returns the exit code of a stopped script: 130 for Ctrl-C, and 124 for a limit.
    ///
    /// The exit code of a worker that was stopped by its parent is 0.
    private func exitStatus(ofStopped error: LuaError) -> Int32 {
        error.limit == nil ? (signals.isKilled ? 0 : 130) : Self.limitStatus
    }

    func interruptedWhileIdle() {
        if !configuration.isInteractive, !state.isRunning { exit(status: 130) }
    }

    /// Ends a script that waits for events when its total time limit has passed; running code is stopped elsewhere.
    func totalTimeIsOver(_ limit: Duration) {
        guard !isExiting, !state.isRunning else { return }
        reportUnhandled(LuaLimitExceeded(totalTime: limit), in: "")
        exit(status: Self.limitStatus)
    }

    // MARK: - Running code

    /// The active timers, in the order of creation.
    package var activeTimers: [ScriptTimer] { timers.filter(\.isActive) }

    func remember(_ timer: ScriptTimer) {
        timers.append(timer)
        guard timers.count >= timersToPrune else { return }
        timers = activeTimers
        timersToPrune = max(64, timers.count * 2)
    }

    /// The memory of the script in bytes: the memory that its limit counts, or without a limit, its Lua values.
    package var memoryInUse: Int { state.account?.bytes ?? state.memory.used }

    /// The open stores, in the order of opening.
    package var openStores: [Store] { storeModule.openStores }

    /// Runs code as one entry: if it is interrupted, its open writes are rolled back.
    ///
    /// A write that was open before the entry stays open. Errors are rethrown.
    package func entry<Result>(_ body: () throws -> Result) throws -> Result {
        guard let surroundings else { return try enter(body) }
        return try surroundings.run { try enter(body) }
    }

    private func enter<Result>(_ body: () throws -> Result) throws -> Result {
        let before = stores.writing
        entries += 1
        defer {
            entries -= 1
            recordOpenWrites()
            if entries == 0 { output?.endLines() }
        }
        do {
            return try body()
        } catch let error as LuaError where error.kind == .interrupted {
            logStop(error)
            stores.cancelWrites(except: before)
            throw error
        }
    }

    /// Calls the body through Lua, so that tracebacks end in `[C]: in ?` as in `lua`, whose main part is written in C.
    ///
    /// Throws if the run was stopped; the body must handle its own errors.
    package func belowNativeFrame(_ body: @escaping () -> Void) throws(LuaError) {
        try state.makeFunction("main") { _ in
            body()
            return .none
        }.call([])
    }

    private func didTurn() {
        recordOpenWrites()
        collector?.recordTurn()
        onTurn?()
    }

    /// Records the open writes between entries, because interrupting an observer must not roll back writes of earlier
    /// entries.
    private func recordOpenWrites() {
        if entries == 0 { openWritesBefore = stores.writing }
    }

    /// Calls a function of the script from the loop, such as a timer or an observer.
    ///
    /// Passes errors to `failed`.
    package func callback(_ source: String, _ function: LuaFunction, _ arguments: [LuaValue] = []) {
        if isExiting { return }
        do {
            _ = try results(of: function, arguments, in: source)
        } catch {
            failed(error, in: source, token: .nil)
        }
    }

    /// Calls a function of the script from the loop and returns its results.
    func results(
        of function: LuaFunction, _ arguments: [LuaValue], in source: String
    ) throws -> [LuaValue] {
        waitsWhileEnding = 0
        return try entry { () throws in
            guard let aroundCallbacks else { return try function.call(arguments) }
            var results: [LuaValue] = []
            try aroundCallbacks(source) { () throws in results = try function.call(arguments) }
            return results
        }
    }

    /// Handles an error of an observer or a timer with `moonpool.on_error`, otherwise with a report.
    func failed(_ error: any Error, in source: String, token: LuaValue) {
        if isExiting { return }
        if let error = error as? LuaError, error.kind == .interrupted {
            // Inside a waiting entry, the entry is stopped too, and rolls back its own writes.
            if entries == 0 { stores.cancelWrites(except: openWritesBefore) }
            if configuration.isInteractive || signals.takeSpared() {
                return report(error, in: source)
            }
            if error.limit != nil { reportUnhandled(error, in: source) }
            return exit(status: exitStatus(ofStopped: error))
        }
        let policy = module["on_error"]
        guard let handler = policy.function else {
            reportFailure(error, in: source)
            guard policy != .nil else { return }
            return reportUnhandled(
                StoreError(
                    .typeMismatch,
                    "expected a function(err, token) or nil, got a \(policy.typeName)"),
                in: "moonpool.on_error")
        }
        do {
            _ = try entry { () throws in try handler.call([state.value(of: error), token]) }
        } catch let second as LuaError where second.kind == .interrupted {
            failed(second, in: source, token: token)
        } catch let second {
            if isExiting { return }
            reportFailure(error, in: source)
            reportUnhandled(second, in: "moonpool.on_error")
        }
    }

    /// Reports an unhandled error, which determines the exit code if the main part does not.
    private func reportFailure(_ error: any Error, in source: String) {
        // The limit of a worker, because the script's own limit ends the script.
        let isLimit = (error as? LuaError)?.limit != nil
        failureStatus = max(failureStatus, isLimit ? Self.limitStatus : 1)
        reportUnhandled(error, in: source)
    }

    /// Reports an unhandled error: of a worker to its parent, of any other script to its user.
    private func reportUnhandled(_ error: any Error, in source: String) {
        if !sendToParent(error, from: source) { report(error, in: source) }
    }

    private func logStop(_ error: LuaError) {
        configuration.logger.log(
            level: error.limit == nil ? .info : .warning, "run was stopped",
            metadata: ["script": "\(name)", "reason": "\(error.message)"])
    }

    private func report(_ error: any Error, in source: String) {
        let lua = error as? LuaError
        let message = lua?.message ?? "\(error)"
        configuration.logger.error(
            "error in \(source)", metadata: ["script": "\(name)", "message": "\(message)"])
        configuration.report(
            ScriptReport(
                program: configuration.programName, source: source, message: message,
                traceback: lua?.traceback,
                // A message can contain any path, and a confined script can choose its messages.
                excerpt: configuration.rights.isConfined ? nil : SourceExcerpt.of(message)))
    }
}
