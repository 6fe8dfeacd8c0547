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
    /// The maximum number of consecutive rounds of writes in observers.
    ///
    /// In each round, the writes of observers cause the calls of the next round. A write in a further round is refused.
    package static let maximumRounds = 100

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
    var filed: [Int: ObserverInterests] = [:]
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
    var owesSchema = false
    /// The change of the schema that the running call reports.
    package internal(set) var deliveredSchema: SchemaEvent?

    // The rounds of writes that observers trigger in each other.
    var current: Observer?
    var pendingRound = 0
    var callRound = 0
    var participants: [String] = []

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
        guard depth > 0, current != nil, callRound >= Self.maximumRounds else { return }
        let who =
            participants.count == 1
            ? "\(participants[0]) keeps triggering itself"
            : "\(participants.joined(separator: " and ")) keep triggering each other"
        throw StoreError(
            .limitExceeded,
            "\(who): \(Self.maximumRounds) rounds of writes in observers; write without notifying, or only "
                + "if the value differs")
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
        pendingRound = 0
        participants = []
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
        if let current {
            pendingRound = callRound + 1
            if !participants.contains(current.title) { participants.append(current.title) }
        } else {
            pendingRound = 0
            participants = []
        }
        if let left {
            for observer in silenced { silence(observer, leaving: left) }
        }
        owesDidChange = false
        // A handler does not receive its own commits.
        if isCallingStoreObservers { owesSchema = false }
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
