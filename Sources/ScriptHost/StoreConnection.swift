import EventLoops
import Logging
import LuaHost
import ObjectStore
import StoreBindings
import SystemCalls

/// Connects the stores of a script to its loop: the scheduler, holds that keep the script alive, and file watches.
final class StoreConnection: BindingHost {
    private let loop: EventLoop
    private var watches: [ObjectIdentifier: CommitWatch] = [:]
    private var module: StoreModule?
    /// Receives the errors of observers and queued writes.
    var onError: (_ error: any Error, _ source: String, _ token: LuaValue) -> Void = { _, _, _ in }

    /// Receives hints for the author of the script.
    var onHint: (_ text: String) -> Void = { _ in }

    let scriptName: String
    private let signals: ScriptSignals
    private let logger: Logger
    private let surroundings: ScriptSurroundings?
    private let commitPause: Duration

    init(
        loop: EventLoop, signals: ScriptSignals, scriptName: String, logger: Logger,
        surroundings: ScriptSurroundings?, commitPause: Duration
    ) {
        self.surroundings = surroundings
        self.commitPause = commitPause
        self.loop = loop
        self.signals = signals
        self.logger = logger
        self.scriptName = scriptName
    }

    /// Installs the module in a Lua state.
    func connect(_ state: LuaState) -> StoreModule {
        let module = StoreModule(state: state, host: self)
        self.module = module
        return module
    }

    var scheduler: any Scheduler { LoopScheduler(loop: loop, surroundings: surroundings) }

    func hold() -> any BindingHold { loop.hold() }

    func report(_ error: any Error, from observer: String, token: LuaValue) {
        onError(error, observer, token)
    }

    func hint(_ text: String) { onHint(text) }

    var link: (any RemoteScript)? { ScriptLink(loop: loop, signals: signals) }

    func remoteScript(_ value: LuaValue) -> (any RemoteScript)? {
        value.userdata?.object(as: Worker.type)?.script.link
    }

    func inspect(_ value: LuaUserdata) -> (text: String, members: [LuaMember])? {
        if let worker = value.object(as: Worker.type) {
            return (worker.description, Worker.type.members)
        }
        if let service = value.object(as: Service.type) {
            return (service.description, Service.type.members)
        }
        if let timer = value.object(as: timerClass) {
            return ("timer (\(timer.isActive ? "active" : "done"))", timerClass.members)
        }
        return nil
    }

    func run(
        on script: any RemoteScript, _ job: @escaping @Sendable (StoreModule) -> Void
    ) throws {
        let done = ThreadLatch()
        let suspending = scheduler.suspending
        let resume = suspending?.resume
        let isAccepted = script.post { module in
            job(module)
            done.open()
            resume?()
        }
        let interval = Duration.milliseconds(20)
        func isOver(afterWaiting time: Duration) throws -> Bool {
            if !isAccepted || done.wait(atMost: time) { return true }
            try module?.state.checkStopping()
            return (script as? ScriptLink)?.hasEnded == true
        }
        if let suspending {
            try suspending.suspend(checkingEvery: interval) { try isOver(afterWaiting: .zero) }
        } else {
            while try !isOver(afterWaiting: interval) {}
        }
        // The script can have ended directly after the job.
        guard isAccepted, done.wait(atMost: .zero) else {
            throw StoreError(
                .closed,
                "the worker has ended; a worker runs while it has an on_message handler, a token or a timer"
            )
        }
    }

    func didOpen(_ store: Store) {
        logger.debug(
            "store is open",
            metadata: ["script": "\(scriptName)", "store": "\(store.path ?? "in memory")"])
        watches[ObjectIdentifier(store)] = CommitWatch(
            store, on: loop, surroundings, pause: commitPause)
    }

    func didClose(_ store: Store) {
        logger.debug(
            "store is closed",
            metadata: ["script": "\(scriptName)", "store": "\(store.path ?? "in memory")"])
        watches.removeValue(forKey: ObjectIdentifier(store))?.cancel()
    }

    /// The stores with an open write transaction.
    var writing: [Store] { module?.openStores.filter(\.isInWrite) ?? [] }

    /// Rolls back open writes, except those of the given stores.
    func cancelWrites(except earlier: [Store]) {
        for store in writing where !earlier.contains(where: { $0 === store }) {
            // If the rollback fails, the store was closed in the meantime, and there is nothing to roll back.
            try? store.cancelWrite()
        }
    }

    /// Ends observers, rolls back open writes, and closes the stores.
    func close() {
        module?.close()
        module = nil
        for watch in watches.values { watch.cancel() }
        watches = [:]
    }
}

extension LoopHold: BindingHold {}

/// Detects commits of other processes in a store's file.
///
/// A committing process signals others by reading a byte of the lock file, and the system closes the lock file of a
/// process that dies; the watch reports both events. If the system has no file watches left, the watch checks for
/// commits ten times a second. A check costs a few loads if there are no commits. The watch does not keep the loop
/// alive.
final class CommitWatch {
    private let loop: EventLoop
    private let path: String
    private let pause: Duration
    private let check: () -> Void
    private var watch: AccessWatch?
    private var timer: LoopTimer?

    /// Starts watching; returns nil if the store has no file.
    ///
    /// With `surroundings`, each check runs as a job of that script on its shared thread. After a signal, the watch
    /// checks again after `pause`, and not for each commit until then: signals that no process waits for cost the writers
    /// nothing.
    init?(
        _ store: Store, on loop: EventLoop, _ surroundings: ScriptSurroundings? = nil,
        pause: Duration = .zero
    ) {
        guard let path = store.commitSignalPath else { return nil }
        self.loop = loop
        self.path = path
        self.pause = pause
        let check = { [weak store] () -> Void in store?.fileMayHaveChanged() }
        self.check = surroundings?.job(check) ?? check
        start()
    }

    deinit { cancel() }

    func cancel() {
        watch?.cancel()
        timer?.cancel()
    }

    private func start() {
        watch = try? AccessWatch(path: path, on: loop) { [weak self] in self?.didSignal() }
        if watch == nil {
            let interval = Duration.milliseconds(100)
            timer = loop.timer(after: interval, every: interval, keepsAlive: false, check)
        }
        // Commits before this point have sent no signal.
        check()
    }

    private func didSignal() {
        if pause > .zero {
            watch?.cancel()
            timer = loop.timer(after: pause, keepsAlive: false) { [weak self] in self?.start() }
        }
        check()
    }
}

/// A store on an event loop that also receives the commits of other processes.
///
/// Used by programs that observe a store without a script. Confined to the loop's thread.
package final class FollowedStore {
    /// The store.
    package let store: Store
    private let watch: CommitWatch?

    /// Opens a store on the loop of the calling thread, and watches for commits from then on.
    ///
    /// If the system cannot watch the file, the store checks for commits ten times a second. After a commit, the store
    /// checks for the next ones after `pause`. The store does not keep the loop alive. Throws the errors of opening a
    /// store.
    package init(
        _ configuration: StoreConfiguration, on loop: EventLoop, pause: Duration = .zero
    ) throws {
        var configuration = configuration
        configuration.conversions = ScriptConversions()
        store = try Store(configuration, scheduler: LoopScheduler(loop: loop, surroundings: nil))
        watch = CommitWatch(store, on: loop, pause: pause)
    }

    /// Closes the store.
    package func close() {
        watch?.cancel()
        store.close()
    }
}
