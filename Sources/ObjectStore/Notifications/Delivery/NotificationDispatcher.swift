import ColumnStorage

/// Delivers pending changes to the observers of one store, in order.
///
/// Most observers are idle, because no commit affects them. When the store moves to another version, an index finds the
/// observers that depend on the changes; the number of other observers does not matter. The found observers record the
/// version that they have seen. A delivery visits them and moves each to the store's current version: the store's own
/// observers first, then all others in the order of their registration. A handler may write, deliver, invalidate a
/// token or close the store, because each observer only compares the version that it has seen with the current one.
/// This ensures that every observer receives each change exactly once.
///
/// Only the versions that observers still need are kept readable.
package final class NotificationDispatcher {
    /// Receives the errors of handlers, with the observer's token.
    ///
    /// If it is nil, errors are ignored.
    package var errorHandler: ((any Error, NotificationToken?) -> Void)?

    unowned let store: Store
    /// All observers except the store's own, by number.
    var observers: [Int: Observer] = [:]
    var storeObservers: [StoreObserver] = []
    /// The observers that are also called before the store moves, in the order of registration.
    var earlyObservers: [Observer] = []
    var lastNumber = 0
    /// Called with true after the first observer was added, and with false after the last one was removed.
    var isObservingHandler: ((Bool) -> Void)?
    var wasObserving = false
    var isClosed = false

    // The observers with pending changes, and the earlier versions that are kept for them.
    var index = ObserverIndex()
    var tracked = TrackedObservers()
    var pending = PendingVersions()
    /// The changes that were last read from the history.
    var lastRead: (from: UInt64, to: UInt64, changes: ChangeSet)?
    /// The current version before an open write changed it.
    var cleanView: StoreView?
    var cleanGeneration: UInt64 = 0

    // The state of a delivery.
    var depth = 0
    /// Whether the running handler was called at the beginning of a write.
    var isDeliveringInWrite = false
    var isCallingStoreObservers = false
    var owesDidChange = false
    /// The changes of the schema of which observers of the store do not know yet.
    var owedSchemas: [SchemaEvent] = []
    /// The change of the schema that the running call reports.
    package internal(set) var deliveredSchema: SchemaEvent?

    private var rounds = WriteRounds()

    init(_ store: Store) {
        self.store = store
    }

    /// Whether a handler of an object or a collection, or of `did_change`, is running.
    package var isDelivering: Bool { depth > 0 }

    /// Whether a delivery would call any observer.
    var hasWork: Bool {
        if tracked.isEmpty { return false }
        let version = store.view.version
        return tracked.contains { $0.base != version && !$0.isWithheld }
    }
}

// Notifications from the store.
extension NotificationDispatcher {
    /// Throws `limit_exceeded` if observers have caused each other's calls too often; called before a write begins.
    func checkRounds() throws {
        if depth > 0 { try rounds.check() }
    }

    /// Throws `invalid_argument` if a token belongs to another store.
    func checkOwn(_ tokens: [NotificationToken]) throws {
        for token in tokens where token.isValid && token.observer.dispatcher !== self {
            throw StoreError(
                .invalidArgument,
                "a token of another store cannot be silenced",
                program: "pass tokens of this store to withoutNotifying",
                script: "pass tokens of this store to without_notifying")
        }
    }

    /// Calls the early observers that a move to another version affects, before the store moves.
    ///
    /// Without recorded changes, the versions are compared. The handlers can read the store, which still shows the old
    /// version, and cannot change it.
    func willMove(
        from old: StoreView, to new: StoreView, _ changes: ChangeSet?,
        silencing tokens: [NotificationToken] = []
    ) throws {
        let step = try VersionStep(
            from: old, to: new,
            changes: changes.map { visible($0, from: old.schema, to: new.schema) }
                ?? VersionComparison.changes(from: old, to: new))
        for observer in earlyObservers
        where observer.isActive && !observer.isAnnounced
            && !tokens.contains(where: { $0.observer === observer })
        {
            do {
                guard let call = try observer.prior(to: step) else { continue }
                observer.isAnnounced = true
                ReadOnlySection.run("\(observer.title), called before a change,") {
                    run(call, of: observer)
                }
            } catch {
                report(error, observer)
            }
        }
    }

    /// Records that the store has moved to another version; `left` still shows the previous one.
    func didAdvance(leaving left: StoreView) {
        keep(left)
        if !isInvisible(left) { owesDidChange = true }
        rounds.end()
        store.moveHandler?()
    }

    /// Whether the current version may have to stay readable for some observer when a write is committed.
    var needsPresentVersion: Bool {
        !observers.isEmpty || (!storeObservers.isEmpty && store.fileSchema.transition != nil)
    }

    /// Notifies observers after a commit of the store; `left` still shows the previous version, if that is needed.
    ///
    /// Calls the store's own observers. The silenced observers advance to the new version immediately.
    func didCommit(leaving left: StoreView?, silencing tokens: [NotificationToken]) {
        // If another commit happened at the same time, both are received together; the version between them is never
        // seen.
        let isAlone = left.map { store.view.version == $0.version + 1 } ?? true
        let silenced = isAlone ? tokens.map(\.observer) : []
        if let left {
            // An idle observer may use an older version that other observers need; a silenced one must start at this
            // one.
            for observer in silenced.flatMap({ [$0, $0.delay?.probe] }) {
                if let observer, observer.isActive, !observer.isTracked {
                    observer.setBase(left.version)
                }
            }
            keep(left)
        } else {
            forgetSteps()
        }
        rounds.didCommit()
        if let left {
            for observer in silenced { silence(observer, leaving: left) }
        }
        owesDidChange = false
        // A handler does not receive its own commits.
        if isCallingStoreObservers { owedSchemas = [] }
        if left.map(isInvisible) != true { callStoreObservers(.didChange, except: silenced) }
        pending.forgetSteps()
        store.moveHandler?()
    }

    /// Moves an observer beyond the last commit without calling it.
    private func silence(_ observer: Observer, leaving left: StoreView) {
        observer.didSilence(store.view.version)
        // The probe of a delayed observer records that this commit was silent.
        if let delay = observer.delay {
            if let probe = delay.probe {
                delay.whileSilencing { advance(probe, left) { try $0?() } }
                // The observed object was deleted, and the observer receives no call.
                guard probe.isActive else { return observer.end() }
            }
            guard !delay.isHolding else { return }
        }
        // The returned call is dropped, because the commit is silent.
        advance(observer, left) { _ in }
        observer.forgetReason()
    }

    private func advance(
        _ observer: Observer, _ left: StoreView, _ use: (Observer.Call?) throws -> Void
    ) {
        guard observer.isActive, observer.isTracked, observer.base == left.version else { return }
        var call: Observer.Call?
        do {
            if let step = try step(from: left.version) { try use(observer.advance(along: step)) }
        } catch {
            // After an error, the observer reads its state again in the version to which it is moved here.
            let last = failure(of: observer, error)
            if observer.isFinished { call = last }
        }
        move(observer)
        if observer.isFinished { observer.end() }
        if let call { run(call, of: observer) }
    }

    /// Notifies observers that a newer version exists and that the store does not advance automatically.
    func announceRefreshRequired() {
        callStoreObservers(.refreshRequired, except: [])
    }

    /// Ends all observers permanently because the store closes.
    func invalidateAll() {
        isClosed = true
        for observer in storeObservers { observer.end() }
        for observer in observers.values.sorted(by: { $0.number < $1.number }) { observer.end() }
        pending.removeAll()
    }

    /// Passes an error that has no caller to the error handler.
    func report(_ error: any Error, _ observer: Observer? = nil) {
        errorHandler?(error, observer?.token)
    }
}

extension NotificationDispatcher {
    /// Calls every observer that has not seen the version that is current at the start.
    ///
    /// Observers added in the meantime wait for the next delivery.
    func deliver() {
        guard !isClosed else { return }
        cleanGeneration = store.view.generation
        depth += 1
        let wasInWrite = isDeliveringInWrite
        isDeliveringInWrite = store.isInWrite
        defer {
            isDeliveringInWrite = wasInWrite
            depth -= 1
            if depth == 0 { settle() }
        }
        if owesDidChange {
            owesDidChange = false
            callStoreObservers(.didChange, except: [])
        }
        guard !tracked.isEmpty else { return }
        // Commits of a handler belong to the next delivery: a write delivers pending changes to all observers when it
        // begins.
        let version = store.view.version
        for observer in tracked.inOrder {
            guard !isClosed else { return }
            if observer.isActive, observer.isTracked, observer.base.map({ $0 < version }) ?? true,
                !observer.isWithheld
            {
                serve(observer)
            }
        }
    }

    /// Ends all observers with an error, because the store can no longer be read.
    func fail(_ error: any Error) {
        for observer in observers.values.sorted(by: { $0.number < $1.number })
        where observer.isActive && !isClosed {
            let call = failure(of: observer, error)
            observer.end()
            if let call { run(call, of: observer) }
        }
    }

    /// Moves an observer that deliveries skip to the current version.
    ///
    /// All changes since its last call are reported as one change.
    func pull(_ observer: Observer) {
        guard !isClosed else { return }
        if depth == 0 { cleanGeneration = store.view.generation }
        depth += 1
        defer {
            depth -= 1
            if depth == 0 { settle() }
        }
        serveNow(observer)
    }

    /// Moves one observer to the current version, before the other observers.
    func serveNow(_ observer: Observer) {
        let version = store.view.version
        guard !isClosed, observer.isActive, observer.isTracked,
            observer.base.map({ $0 < version }) ?? true
        else { return }
        serve(observer)
    }

    private func serve(_ observer: Observer) {
        // Releasing the previous reason can wait until after the call.
        let lastReason = observer.makeReason
        defer { withExtendedLifetime(lastReason) {} }
        let outer = deliveredSchema
        deliveredSchema = nil
        defer { deliveredSchema = outer }
        let call: Observer.Call?
        do {
            call = try prepare(observer)
        } catch {
            call = failure(of: observer, error)
        }
        if observer.isFinished { observer.end() }
        if let call { run(call, of: observer) }
    }

    /// Returns the call of an observer that cannot be updated to the current version.
    ///
    /// If the evaluation could not be done, the observer stays at the version that it has seen, and the next version is
    /// compared with that one. If the observed data no longer exists, the observation ends.
    func failure(of observer: Observer, _ error: any Error) -> Observer.Call? {
        var error = StoreError(error)
        if deliveredSchema != nil, [.unknownClass, .unknownProperty].contains(error.code) {
            error = StoreError(.schemaChanged, error.message)
        }
        if !observer.isProbe { report(error, observer) }
        if !error.isOfEvaluation { observer.isFinished = true }
        if observer.isFinished || !observer.staysAfterError {
            move(observer)
        } else {
            observer.didFail(at: store.view.version)
        }
        return observer.failed(error)
    }

    /// Moves the observer to the current version, and returns the call to make.
    private func prepare(_ observer: Observer) throws -> Observer.Call? {
        assert(observer.isActive && !observer.isFinished, "no call follows the last one")
        let target = try presentView()
        guard let base = observer.base, let step = try step(from: base) else {
            // After an error, the observer still waits for its first call.
            let call = try observer.begin(in: target)
            move(observer)
            return call
        }
        if step.changes.schemaChanged { deliveredSchema = store.lastSchemaEvent }
        let watch = Stopwatch()
        let call = try observer.advance(along: step)
        observer.statistics.finding.add(watch.microseconds)
        move(observer)
        if step.changes.schemaChanged { file(observer) }
        if call != nil, target.version > base + 1 {
            observer.statistics.coalescedCommits += Int(clamping: target.version - base - 1)
        }
        observer.delay?.wasServed(withCall: call != nil)
        return call
    }

    func run(_ call: Observer.Call, of observer: Observer) {
        let outer = rounds.begin(observer)
        let wasInWrite = store.isInWrite
        let watch = Stopwatch()
        do {
            // The reads of a handler are not dependencies of a reaction that waits for the handler.
            if let scope = store.readScope, scope.reaction != nil {
                try scope.tracking(nil, call)
            } else {
                try call()
            }
        } catch {
            // The handler began a write and did not end it; no other code would end it.
            if !isClosed, !wasInWrite, store.isInWrite {
                do { try store.cancelWrite() } catch { report(error, observer) }
            }
            report(error, observer)
        }
        observer.statistics.handling.add(watch.microseconds)
        rounds.resume(outer)
    }

    /// Calls the store's own observers, except the silenced ones.
    ///
    /// Nested calls are ignored: a handler that writes does not receive its own write.
    func callStoreObservers(_ notification: StoreNotification, except silenced: [Observer]) {
        guard !isCallingStoreObservers, !isClosed else { return }
        if notification == .didChange, !owedSchemas.isEmpty {
            let owed = owedSchemas
            owedSchemas = []
            for event in owed {
                store.lastSchemaEvent = event
                callStoreObservers(.schema, except: silenced)
            }
        }
        guard !storeObservers.isEmpty else { return }
        isCallingStoreObservers = true
        // Handlers of `refresh_required` may call `refresh`.
        let isDelivery = notification != .refreshRequired
        if isDelivery { depth += 1 }
        defer {
            isCallingStoreObservers = false
            if isDelivery { depth -= 1 }
            if depth == 0 { settle() }
        }
        for observer in storeObservers {
            guard !isClosed else { return }
            guard observer.isActive, !silenced.contains(where: { $0 === observer }),
                let call = observer.call(notification, in: store)
            else { continue }
            run(call, of: observer)
        }
    }

    /// Releases the data of the outermost delivery after its end.
    private func settle() {
        pending.forgetSteps()
        lastRead = nil
        cleanView = nil
        store.requestMissedTurn()
        if !isClosed, !hasWork { rounds.end() }
    }
}

// Observers and the versions that they have seen.
extension NotificationDispatcher {
    /// Adds an observer that has seen a version; if the version is nil, its first call is pending.
    func add(_ observer: Observer, seen version: UInt64?) -> NotificationToken {
        enter(observer, seen: version)
        let token = NotificationToken(observer)
        observer.token = token
        return token
    }

    /// Adds an observer without a token.
    func enter(_ observer: Observer, seen version: UInt64?) {
        assert(observer.number == 0, "an observer is registered once")
        assert(observer.dispatcher === self, "the observer is of this dispatcher")
        lastNumber += 1
        observer.register(as: lastNumber)
        observers[observer.number] = observer
        if observer.isEarly { earlyObservers.append(observer) }
        recordObservers()
        file(observer)
        if let version {
            observer.setBase(version)
        } else {
            tracked.insert(observer)
            store.requestTurn()
        }
    }

    func add(_ observer: StoreObserver) -> NotificationToken {
        storeObservers.append(observer)
        recordObservers()
        let token = NotificationToken(observer)
        observer.token = token
        return token
    }

    private func recordObservers() {
        let isObserving = !observers.isEmpty || !storeObservers.isEmpty
        guard isObserving != wasObserving else { return }
        wasObserving = isObserving
        isObservingHandler?(isObserving)
    }

    /// Registers an observer in the index under its dependencies, and removes earlier entries of the observer.
    func file(_ observer: Observer) {
        guard observer.isActive else { return }
        assert(observers[observer.number] === observer, "the observer is registered")
        index.file(observer)
    }

    func didEnd(_ observer: Observer) {
        defer { recordObservers() }
        if observer is StoreObserver { return storeObservers.removeAll { $0 === observer } }
        if observer.isTracked { forget(observer) }
        observers[observer.number] = nil
        if !earlyObservers.isEmpty { earlyObservers.removeAll { $0 === observer } }
        index.remove(observer)
    }

    /// Finds the observers that a change affects, and keeps the previous version of the store for them.
    func keep(_ left: StoreView) {
        forgetSteps()
        guard !observers.isEmpty else { return }
        func track(_ observer: Observer) {
            guard !observer.isTracked, observer.isActive else { return }
            // No change affected the idle observer, so any version since its last one can be its base.
            let base = pending.firstReadable(from: observer.base ?? 0) ?? left.version
            observer.setBase(base)
            tracked.insert(observer)
            pending.enter(base)
        }
        if let changes = recorded(from: left), !changes.schemaChanged {
            index.forEachConcerned(by: changes, track)
        } else {
            observers.values.forEach(track)
        }
        pending.keep(left)
    }

    /// Removes the cached steps to the previous version of the store.
    func forgetSteps() {
        pending.forgetSteps()
        cleanView = nil
    }

    /// Records that the observer has seen the current version.
    func move(_ observer: Observer) {
        if observer.isTracked { forget(observer) }
        observer.isAnnounced = false
        observer.setBase(store.view.version)
    }

    private func forget(_ observer: Observer) {
        tracked.remove(observer)
        if let base = observer.base { pending.leave(base) }
    }

    /// Returns the current version without the uncommitted changes of an open write.
    ///
    /// A delivery starts before its write changes any data, but handlers may have written since.
    func presentView() throws -> StoreView {
        let live = store.view
        guard store.isInWrite, live.generation != cleanGeneration else { return live }
        if let cleanView, cleanView.version == live.version { return cleanView }
        let snapshot = try StoreError.wrapping(live.snapshot.frozen())
        let view = StoreView(schema: store.committedSchema, snapshot: snapshot, isFrozen: true)
        cleanView = view
        return view
    }

    /// Returns the step from a seen version to the current one; nil if the seen version is no longer readable.
    func step(from base: UInt64) throws -> VersionStep? {
        guard let old = pending.view(of: base) else { return nil }
        let new = try presentView()
        // The cached step may end in a view that a handler has changed since.
        if let known = pending.step(from: base), known.new === new { return known }
        let changes = try recorded(from: old) ?? VersionComparison.changes(from: old, to: new)
        let step = VersionStep(from: old, to: new, changes: changes)
        pending.keep(step)
        return step
    }

    /// Returns whether only columns and classes have changed since a version that the store's schema does not have.
    func isInvisible(_ left: StoreView) -> Bool {
        store.fileSchema.transition != nil && owedSchemas.isEmpty
            && recorded(from: left)?.isEmpty == true
    }

    /// Returns the changes of the store's own classes and properties.
    ///
    /// While a migration is started, the file also has those of another schema.
    func visible(_ changes: ChangeSet, from old: Schema, to new: Schema) -> ChangeSet {
        guard store.fileSchema.transition != nil || changes.schemaChanged else { return changes }
        var result = changes
        if result.schemaChanged {
            guard new.isSame(as: old) else { return changes }
            result.schemaChanged = false
        }
        for (table, changed) in changes.tables {
            guard let classSchema = new.find(table: table) else {
                result.tables.removeValue(forKey: table)
                continue
            }
            func isOwn(_ column: ColumnID) -> Bool { classSchema.property(in: column) != nil }
            var own = changed
            own.modified = changed.modified.filter { isOwn($0.key) }
            own.edits = changed.edits.filter { isOwn($0.key) }
            result.tables[table] = own.isEmpty ? nil : own
        }
        return result
    }

    /// Returns the recorded changes since a version; nil if the history does not reach back.
    private func recorded(from old: StoreView) -> ChangeSet? {
        let (base, version) = (old.version, store.view.version)
        if let lastRead, lastRead.from == base, lastRead.to == version { return lastRead.changes }
        // because: if the history cannot be read, a comparison of the versions finds the same changes.
        let found = (try? store.view.snapshot.changes(from: base, to: version)) ?? nil
        let read = found.map { visible($0, from: old.schema, to: store.committedSchema) }
        lastRead = read.map { (base, version, $0) }
        return read
    }
}

/// The rounds of writes that observers trigger in each other.
///
/// In each round, the writes of observers cause the calls of the next round. A write in a further round is refused.
package struct WriteRounds {
    /// The maximum number of consecutive rounds.
    package static let maximum = 100

    /// A running call of an observer, and the round to which it belongs.
    struct Call {
        fileprivate let observer: Observer
        fileprivate let round: Int
    }

    private var running: Call?
    /// The round to which the next calls belong.
    private var next = 0
    /// The titles of the observers that have written in these rounds.
    private var writers: [String] = []

    /// Throws `limit_exceeded` for a write of a call in the last round.
    func check() throws {
        guard let running, running.round >= Self.maximum else { return }
        let who =
            writers.count == 1
            ? "\(writers[0]) keeps triggering itself"
            : "\(writers.joined(separator: " and ")) keep triggering each other"
        throw StoreError(
            .limitExceeded,
            "\(who): \(Self.maximum) rounds of writes in observers; write without notifying, or only if the value "
                + "differs")
    }

    /// Records the call of an observer; returns the call that it interrupts.
    mutating func begin(_ observer: Observer) -> Call? {
        defer { running = Call(observer: observer, round: next) }
        return running
    }

    /// Ends the running call; the interrupted call continues.
    mutating func resume(_ interrupted: Call?) { running = interrupted }

    /// Records a commit, which begins the next round if an observer has made it.
    mutating func didCommit() {
        guard let running else { return end() }
        next = running.round + 1
        if !writers.contains(running.observer.title) { writers.append(running.observer.title) }
    }

    /// Begins to count again.
    mutating func end() {
        next = 0
        writers = []
    }
}
