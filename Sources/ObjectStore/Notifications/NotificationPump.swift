import ColumnStorage

/// Delivers to the observers of one store what they are to hear, in order.
///
/// Each observer has its own version that it has seen. A delivery goes through the observers - those
/// of the store first, then all others in the order of their registration - and moves each from its
/// version to the store's present one. Whatever happens in a handler (a write, a nested delivery, a
/// token that ends, the store's closing) therefore leaves a simple question for the next observer:
/// has it seen this version? So nobody hears of a change twice, and nobody
/// misses one.
///
/// Versions that some observer has still to leave are kept readable, and no others.
public final class NotificationPump {
    /// After this many rounds of writes that observers made because of writes that observers made,
    /// a further write in an observer is refused.
    public static let maximumRounds = 100

    /// Receives the errors of handlers, with the observer's token.
    ///
    /// Without it they are dropped.
    public var errorHandler: ((any Error, NotificationToken?) -> Void)?

    unowned let store: Store
    var observers: [Observer] = []
    var storeObservers: [StoreObserver] = []
    private(set) var isClosed = false

    // What is kept of earlier versions.
    private var versions: [UInt64: StoreView] = [:]
    private var seenBy: [UInt64: Int] = [:]
    private var steps: [UInt64: VersionStep] = [:]
    /// The present version as it was before an open write changed something.
    private var cleanView: StoreView?
    private var cleanGeneration: UInt64 = 0

    // Where a delivery stands.
    private var depth = 0
    private var isCallingStoreObservers = false
    private var owesDidChange = false
    private var hasEnded = false

    // Rounds of writes that cause each other.
    private var current: Observer?
    private var pendingRound = 0
    private var callRound = 0
    private var participants: [String] = []

    init(_ store: Store) {
        self.store = store
    }

    /// Whether a handler of an object's or a collection's observer, or `did_change`, is running.
    public var isDelivering: Bool { depth > 0 }

    /// Whether a delivery would call somebody.
    var hasWork: Bool {
        let version = store.view.version
        return observers.contains { $0.isActive && $0.base != version }
    }
}

// What the store tells.
extension NotificationPump {
    /// Throws `limit_exceeded` if observers have set each other off too often; to be asked before a
    /// write transaction begins.
    func checkRounds() throws {
        guard depth > 0, current != nil, callRound >= Self.maximumRounds else { return }
        let who =
            participants.count == 1
            ? "\(participants[0]) keeps setting itself off"
            : "\(participants.joined(separator: " and ")) keep setting each other off"
        throw StoreError(
            .limitExceeded,
            "\(who): \(Self.maximumRounds) rounds of writes in observers; write silently, or only "
                + "when something is left to do")
    }

    /// Throws `invalid_argument` if a token belongs to another store.
    func checkOwn(_ tokens: [NotificationToken]) throws {
        for token in tokens where token.isValid {
            let observer = token.observer
            guard
                observers.contains(where: { $0 === observer })
                    || storeObservers.contains(where: { $0 === observer })
            else {
                throw StoreError(
                    .invalidArgument,
                    "without_notifying takes tokens of this store only; this one observes another")
            }
        }
    }

    /// The store has moved to another version; `left` still shows the one before.
    func didAdvance(leaving left: StoreView) {
        keep(left)
        owesDidChange = true
        pendingRound = 0
        participants = []
    }

    /// Whether some observer has still to leave a version.
    func needs(_ version: UInt64) -> Bool { seenBy[version] != nil }

    /// The store has committed a write; `left` still shows the version before, if that is needed.
    ///
    /// Calls the store's own observers. The silenced observers move to the new version at once.
    func didCommit(leaving left: StoreView?, silencing tokens: [NotificationToken]) {
        if let left { keep(left) } else { forgetSteps() }
        if let current {
            pendingRound = callRound + 1
            if !participants.contains(current.title) { participants.append(current.title) }
        } else {
            pendingRound = 0
            participants = []
        }
        let silenced = tokens.map(\.observer)
        for observer in silenced {
            guard let left, observer.isActive, observer.base == left.version else { continue }
            if let step = step(from: left.version) {
                // The call that comes back is the one that must not be made.
                do { _ = try observer.advance(along: step) } catch { report(error, observer) }
                observer.makeReason = nil
            }
            move(observer, to: store.view.version)
            if observer.isFinished { observer.end() }
        }
        owesDidChange = false
        callStoreObservers(.didChange, except: silenced)
        steps = [:]
    }

    /// There is a newer version, and the store does not move by itself.
    func announceRefreshRequired() {
        callStoreObservers(.refreshRequired, except: [])
    }

    /// Ends all observers for good: the store closes.
    func invalidateAll() {
        isClosed = true
        for observer in storeObservers { observer.end() }
        for observer in observers { observer.end() }
        versions = [:]
        steps = [:]
        if depth == 0 { removeEnded() }
    }

    /// Passes on an error that no caller can be given.
    func report(_ error: any Error, _ observer: Observer? = nil) {
        errorHandler?(error, observer?.token)
    }
}

// Delivery.
extension NotificationPump {
    /// Calls every observer that has not seen the version that is present at the start.
    ///
    /// Observers that are added meanwhile wait for the next delivery.
    func deliver() {
        guard !isClosed else { return }
        cleanGeneration = store.view.generation
        depth += 1
        defer {
            depth -= 1
            if depth == 0 { settle() }
        }
        if owesDidChange {
            owesDidChange = false
            callStoreObservers(.didChange, except: [])
        }
        // What a handler commits from here on is for the next delivery: its begin has served everybody.
        let version = store.view.version
        for observer in observers {
            guard !isClosed else { return }
            if observer.isActive, observer.base.map({ $0 < version }) ?? true { serve(observer) }
        }
    }

    private func serve(_ observer: Observer) {
        let call: Observer.Call?
        do {
            call = try prepare(observer)
        } catch {
            move(observer, to: store.view.version)
            call = observer.failed(
                error as? StoreError ?? StoreError(.invalidQuery, String(describing: error)))
            report(error, observer)
        }
        if observer.isFinished { observer.end() }
        if let call { run(call, of: observer) }
    }

    /// Moves the observer to the present version.
    private func prepare(_ observer: Observer) throws -> Observer.Call? {
        let target = try presentView()
        guard let base = observer.base, let step = step(from: base) else {
            move(observer, to: target.version)
            return try observer.begin(in: target)
        }
        let call = try observer.advance(along: step)
        move(observer, to: target.version)
        if call != nil, target.version > base + 1 {
            observer.statistics.coalescedCommits += Int(target.version - base - 1)
        }
        return call
    }

    private func run(_ call: Observer.Call, of observer: Observer) {
        let outer = (current, callRound)
        let wasInWrite = store.isInWrite
        current = observer
        callRound = pendingRound
        let start = ContinuousClock.now
        do {
            try call()
        } catch {
            // A write that the handler began and did not end would never end.
            if !isClosed, !wasInWrite, store.isInWrite {
                do { try store.cancelWrite() } catch { report(error, observer) }
            }
            report(error, observer)
        }
        let (seconds, attoseconds) = start.duration(to: .now).components
        observer.statistics.add(
            microseconds: Double(seconds) * 1e6 + Double(attoseconds) / 1e12)
        (current, callRound) = outer
    }

    /// Nested calls are swallowed: a handler that writes is not told of its own write.
    private func callStoreObservers(_ notification: StoreNotification, except silenced: [Observer])
    {
        guard !isCallingStoreObservers, !storeObservers.isEmpty, !isClosed else { return }
        isCallingStoreObservers = true
        // `refresh` is allowed where a refresh is required.
        let isDelivery = notification == .didChange
        if isDelivery { depth += 1 }
        defer {
            isCallingStoreObservers = false
            if isDelivery { depth -= 1 }
            if depth == 0 { settle() }
        }
        for observer in storeObservers {
            guard !isClosed else { return }
            guard observer.isActive, !silenced.contains(where: { $0 === observer }),
                let call = observer.call(notification, store)
            else { continue }
            run(call, of: observer)
        }
    }

    /// After the outermost delivery: nothing more is needed of what it was for.
    private func settle() {
        steps = [:]
        cleanView = nil
        removeEnded()
        if !isClosed, !hasWork {
            pendingRound = 0
            participants = []
        }
    }
}

// Observers and versions.
extension NotificationPump {
    func add(_ observer: Observer, seen version: UInt64?) -> NotificationToken {
        observers.append(observer)
        move(observer, to: version)
        let token = NotificationToken(observer)
        observer.token = token
        store.requestTurn()
        return token
    }

    func add(_ observer: StoreObserver) -> NotificationToken {
        storeObservers.append(observer)
        let token = NotificationToken(observer)
        observer.token = token
        return token
    }

    func didEnd(_ observer: Observer) {
        hasEnded = true
        move(observer, to: nil)
        if depth == 0 { removeEnded() }
    }

    private func removeEnded() {
        guard hasEnded else { return }
        hasEnded = false
        observers.removeAll { !$0.isActive }
        storeObservers.removeAll { !$0.isActive }
    }

    private func forgetSteps() {
        steps = [:]
        cleanView = nil
    }

    private func keep(_ left: StoreView) {
        forgetSteps()
        if seenBy[left.version] != nil { versions[left.version] = left }
    }

    private func move(_ observer: Observer, to version: UInt64?) {
        let old = observer.setBase(version)
        if let version { seenBy[version, default: 0] += 1 }
        guard let old, let count = seenBy[old] else { return }
        if count > 1 {
            seenBy[old] = count - 1
        } else {
            seenBy[old] = nil
            versions[old] = nil
            steps[old] = nil
        }
    }

    /// The present version, without what an open write has changed in it so far: a delivery starts
    /// before its write has changed anything, but a handler may have.
    private func presentView() throws -> StoreView {
        let live = store.view
        guard store.isInWrite, live.generation != cleanGeneration else { return live }
        if let cleanView, cleanView.version == live.version { return cleanView }
        let snapshot = try StoreError.wrapping { () throws(StorageError) in
            try live.snapshot.frozen()
        }
        let view = StoreView(schema: live.schema, snapshot: snapshot, isFrozen: true)
        cleanView = view
        return view
    }

    /// From a version that was seen to the present one; nil if the former is no longer known.
    private func step(from base: UInt64) -> VersionStep? {
        if let known = steps[base], known.new.version == store.view.version { return known }
        guard let old = versions[base], let new = try? presentView() else { return nil }
        let recorded = try? store.view.snapshot.changes(from: base, to: new.version)
        let changes = recorded ?? VersionComparison.changes(from: old, to: new)
        let step = VersionStep(from: old, to: new, changes: changes)
        steps[base] = step
        return step
    }
}
