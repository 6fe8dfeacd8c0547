import ColumnStorage

/// Delivers pending reports to the observers of one store, in order.
///
/// Most observers rest, because no commit concerns them. When the store moves to another version, an index finds the
/// observers that depend on the changes, at a cost independent of the number of the others; these remember the version
/// they have seen. A delivery visits them - the store's own observers first, then all others in the order of their
/// registration - and moves each to the store's present version. A handler may write, deliver, end a token or close the
/// store; in each case the next observer only compares the version that it has seen. So every observer receives each
/// change exactly once.
///
/// The versions that observers have not left yet are kept readable, and no others.
package final class NotificationDispatcher {
    /// After this many rounds of writes in observers that were caused by writes in observers, a further write in an
    /// observer is refused.
    package static let maximumRounds = 100

    /// Receives the errors of handlers, with the observer's token.
    ///
    /// Without it they are dropped.
    package var errorHandler: ((any Error, NotificationToken?) -> Void)?

    unowned let store: Store
    /// All observers but the store's own, by number.
    var observers: [Int: Observer] = [:]
    var storeObservers: [StoreObserver] = []
    var lastNumber = 0
    /// Called when the first observer was added, and when the last one was removed.
    var isObservingHandler: ((Bool) -> Void)?
    var wasObserving = false
    var isClosed = false

    // The observers with pending reports, and the earlier versions that are kept for them.
    var index = ObserverIndex()
    var filed: [Int: ObserverInterests] = [:]
    var tracked = TrackedObservers()
    var pending = PendingVersions()
    /// The last changes that were read from the history.
    var lastRead: (from: UInt64, to: UInt64, changes: ChangeSet)?
    /// The present version as it was before an open write changed something.
    var cleanView: StoreView?
    var cleanGeneration: UInt64 = 0

    // The state of a delivery.
    var depth = 0
    var isCallingStoreObservers = false
    var owesDidChange = false

    // Rounds of writes that cause each other.
    var current: Observer?
    var pendingRound = 0
    var callRound = 0
    var participants: [String] = []

    init(_ store: Store) {
        self.store = store
    }

    /// Whether a handler of an object's or a collection's observer, or `did_change`, is running.
    package var isDelivering: Bool { depth > 0 }

    /// Whether a delivery would call any observer.
    var hasWork: Bool {
        if tracked.isEmpty { return false }
        let version = store.view.version
        return tracked.contains { $0.base != version && !$0.isWithheld }
    }
}

// What the store tells.
extension NotificationDispatcher {
    /// Throws `limit_exceeded` if observers have set each other off too often; to be asked before a
    /// write transaction begins.
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
                "without_notifying: expected tokens of this store; one observes another store")
        }
    }

    /// The store has moved to another version; `left` still shows the one before.
    func didAdvance(leaving left: StoreView) {
        keep(left)
        owesDidChange = true
        pendingRound = 0
        participants = []
        store.moveHandler?()
    }

    /// Whether some observer may have to leave the present version when a write is committed.
    var needsPresentVersion: Bool { !observers.isEmpty }

    /// The store has committed a write; `left` still shows the version before, if that is needed.
    ///
    /// Calls the store's own observers. The silenced observers move to the new version at once.
    func didCommit(leaving left: StoreView?, silencing tokens: [NotificationToken]) {
        // Another commit in the same moment is received together with this one: the version between them is never seen.
        let isAlone = left.map { store.view.version == $0.version + 1 } ?? true
        let silenced = isAlone ? tokens.map(\.observer) : []
        if let left {
            // One that rests may share an older version that another one has still to leave: not this time.
            for observer in silenced.flatMap({ [$0, $0.delay?.probe] }) {
                if let observer, observer.isActive, !observer.isTracked {
                    observer.stand(at: left.version)
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
        callStoreObservers(.didChange, except: silenced)
        pending.forgetSteps()
        store.moveHandler?()
    }

    /// Moves an observer over the commit that was just made, without a call.
    private func silence(_ observer: Observer, leaving left: StoreView) {
        observer.silencedVersion = store.view.version
        // The probe of a delayed observer is what remembers that this commit was silent.
        if let delay = observer.delay {
            delay.isSilencing = true
            defer { delay.isSilencing = false }
            if let probe = delay.probe {
                passOver(probe, left) { try $0?() }
                // The observed object is gone, and the observer receives no call.
                guard probe.isActive else { return observer.end() }
            }
            guard !delay.isHolding else { return }
        }
        // The returned call is the one that must not be made.
        passOver(observer, left) { _ in }
        observer.makeReason = nil
    }

    private func passOver(
        _ observer: Observer, _ left: StoreView, _ use: (Observer.Call?) throws -> Void
    ) {
        guard observer.isActive, observer.isTracked, observer.base == left.version else { return }
        var call: Observer.Call?
        if let step = step(from: left.version) {
            do { try use(observer.advance(along: step)) } catch {
                // What was given up half-way cannot be followed further.
                call = failure(of: observer, error)
            }
        }
        move(observer)
        if observer.isFinished { observer.end() }
        if let call { run(call, of: observer) }
    }

    /// There is a newer version, and the store does not move by itself.
    func announceRefreshRequired() {
        callStoreObservers(.refreshRequired, except: [])
    }

    /// Ends all observers for good: the store closes.
    func invalidateAll() {
        isClosed = true
        for observer in storeObservers { observer.end() }
        for observer in observers.values.sorted(by: { $0.number < $1.number }) { observer.end() }
        pending.removeAll()
    }

    /// Passes on an error that no caller can be given.
    func report(_ error: any Error, _ observer: Observer? = nil) {
        errorHandler?(error, observer?.token)
    }
}
