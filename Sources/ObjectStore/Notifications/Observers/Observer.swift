import ColumnStorage

/// The base class of the observers of objects, collections and the store.
///
/// An observer stores the version that it has seen. When the dispatcher moves it to another version, the observer
/// updates its state immediately and returns the call to make, if any.
class Observer {
    /// A pending call of the handler.
    typealias Call = () throws -> Void

    let name: String
    /// The observer's number in the order of registration.
    fileprivate(set) var number = 0
    private(set) var isActive = true
    /// The version that the observer has seen; nil before its first call.
    ///
    /// For an idle observer, it is the version since which no change has affected the observer.
    fileprivate(set) var base: UInt64?
    /// The observer's position in ``TrackedObservers``, which sets it; nil while the observer is idle.
    var trackedIndex: Int?
    /// Whether the pending call is the last one.
    var isFinished = false
    var statistics = ObserverStatistics()
    /// Creates the reason for the last call, when a caller first reads it.
    ///
    /// The closure remains after the end of the observation, so that the reason for the last call can still be read.
    var makeReason: (() -> DeliveryReason)?
    /// Whether the observer is the probe of a delayed observer, which reports the errors of both.
    var isProbe = false
    /// The latest version that was written without notifying the observer.
    private(set) var silencedVersion: UInt64?
    /// The delay of the calls; nil if they are immediate.
    var delay: ObserverDelay?
    /// Whether deliveries skip the observer because its owner fetches the changes with ``NotificationToken/pull()``.
    var isPulled = false
    /// Whether a delivery must not call the observer now.
    var isWithheld: Bool {
        isPulled || delay?.isHolding == true
            || failedVersion != nil && failedVersion == dispatcher?.store.view.version
    }
    /// The version to which the last update failed; the observer waits for another one.
    private var failedVersion: UInt64?
    /// Whether the observer stays at the version that it has seen if an update throws.
    var staysAfterError: Bool { true }
    /// The token, for reports; it has the strong reference to the observer.
    weak var token: NotificationToken?
    private(set) weak var dispatcher: NotificationDispatcher?

    init(name: String, dispatcher: NotificationDispatcher) {
        self.name = name
        self.dispatcher = dispatcher
    }

    /// Whether the observer has pending changes, or may have some; all others are idle.
    var isTracked: Bool { trackedIndex != nil }

    var reason: DeliveryReason? { makeReason?() }

    /// The description of the observer in errors.
    var title: String {
        guard name.isEmpty else { return "'\(name)'" }
        return "an observer of \(subject)" + (location.isEmpty ? "" : " at \(location)")
    }

    /// The source location of the registration, for errors; empty if it is unknown.
    var location = ""

    /// The description of the observed value in messages.
    var subject: String { "the store" }

    /// The observer's dependencies; read at its registration and after a change of schema.
    var interests: ObserverInterests { ObserverInterests() }

    /// A description of the cost of a commit that affects the observer, without a final period.
    func cost(in schema: Schema) -> String { "called after every commit" }

    /// Called once when the observation has ended.
    final var endHandler: (() -> Void)?

    /// Ends the observation, during or outside of a call.
    final func end() {
        guard isActive else { return }
        isActive = false
        delay?.end()
        delay = nil
        release()
        dispatcher?.didEnd(self)
        dispatcher = nil
        let endHandler = endHandler
        self.endHandler = nil
        endHandler?()
    }

    /// Releases the handler and the state of the observation.
    ///
    /// A running call keeps its handler.
    func release() {}

    /// Reads the current collection or object, and returns the first call.
    func begin(in view: StoreView) throws -> Call? { nil }

    /// Updates the state for a step, and returns the call to make.
    ///
    /// Returns nil if there is no change to report.
    ///
    /// After an error, the observer remains at the version before the step: its state is unchanged, or the next step
    /// reads the state again in that version.
    func advance(along step: VersionStep) throws -> Call? { nil }

    /// Whether the observer is also called before the store moves.
    var isEarly: Bool { false }
    /// Whether the observer was called before a move and not yet after it.
    var isAnnounced = false

    /// Returns the call to make before the store moves along a step.
    func prior(to step: VersionStep) throws -> Call? { nil }

    /// Returns the conditions under which the observer is called for an object; nil if they do not depend on one
    /// object.
    func coverage(of object: ObjectReference, in view: StoreView) throws -> ObserverCoverage? {
        nil
    }

    /// Returns the conditions that apply to all kinds of observers.
    final func commonCoverage(keyPaths: [String]) -> ObserverCoverage {
        var coverage = ObserverCoverage()
        coverage.keyPaths = keyPaths
        coverage.silencedVersion = silencedVersion
        coverage.pace = delay?.pace
        coverage.isHolding = delay?.isHolding ?? false
        return coverage
    }

    /// Records a version that was written without notifying the observer.
    final func didSilence(_ version: UInt64) { silencedVersion = version }

    /// Drops the reason of a call that was not made.
    final func forgetReason() { makeReason = nil }

    /// Returns the call for an error; if ``isFinished`` is true, the error ends the observation.
    func failed(_ error: StoreError) -> Call? { nil }
}

// State that only the dispatcher changes.
extension Observer {
    func register(as number: Int) { self.number = number }

    /// Sets the version that the observer has seen; nil for none.
    func setBase(_ version: UInt64?) {
        assert(!isTracked, "the version of a tracked observer is counted")
        base = version
    }

    /// Records that the observer could not be updated to a version.
    func didFail(at version: UInt64) { failedVersion = version }
}

/// An observer that reports one kind of change to a handler.
class ReportingObserver<Report>: Observer {
    typealias Handler = (Report) throws -> Void

    private var handler: Handler?

    init(name: String, dispatcher: NotificationDispatcher, handler: @escaping Handler) {
        self.handler = handler
        super.init(name: name, dispatcher: dispatcher)
    }

    override func release() { handler = nil }

    /// Returns the call with a report; nil after the end of the observation.
    final func call(_ report: Report) -> Call? {
        guard let handler else { return nil }
        return { try handler(report) }
    }
}

/// The limit on how often an observer is called.
public enum ObserverPace: Hashable, Sendable {
    /// A call once no change has occurred for this time.
    case debounce(Duration)
    /// An immediate call, and then at most one call in this time.
    case throttle(Duration)
}

/// Delays the calls of one observer, and determines when they are made.
///
/// The observer stays at the version of its last call, so its next call reports exactly the changes since then. A
/// second observer of the same object or collection, the probe, receives every delivery: it determines whether a commit
/// is relevant, and which changes were made only by silent commits.
final class ObserverDelay {
    let pace: ObserverPace
    private let timer: any SchedulerTimer
    private let requestTurn: () -> Void
    /// Whether a call would be too early.
    private var isClosed: Bool
    // The changes of the commits since the last call: properties of an object, or a sequence.
    private var reported: Set<String> = []
    private var silent: Set<String> = []
    private var changes = CoalescedChanges()
    private var isPending = false

    /// Whether the probe is being moved beyond a silent commit.
    private var isSilencing = false
    /// The probe: the second observer of the same object or collection.
    var probe: Observer? {
        didSet { probe?.isProbe = true }
    }

    init(
        _ pace: ObserverPace, _ scheduler: any TimingScheduler, requestTurn: @escaping () -> Void
    ) {
        self.pace = pace
        self.requestTurn = requestTurn
        if case .debounce = pace { isClosed = true } else { isClosed = false }
        var fire: () -> Void = {}
        timer = scheduler.makeTimer { fire() }
        fire = { [weak self] in self?.timerFired() }
    }

    /// Whether changes are pending, but the call is not due yet.
    var isHolding: Bool { isClosed && isPending }

    /// Returns whether only silent commits changed a property since the last call.
    func isSilent(_ property: String) -> Bool {
        silent.contains(property) && !reported.contains(property)
    }

    /// The changes of a sequence since the last call; nil if none of them was silent.
    var coalescedChanges: CoalescedChanges? { changes.hasSilent ? changes : nil }

    /// The version before the deletion of the observed object, whose call is pending.
    private(set) var viewBeforeEnd: StoreView?

    /// Returns whether a property of an object was changed since the last call, and not only by silent commits.
    func isReported(_ property: String) -> Bool { reported.contains(property) }

    /// Records properties of an object that were reported to the probe, or its deletion.
    func probeDidReceive(properties: [String], viewBeforeEnd: StoreView?) {
        self.viewBeforeEnd = viewBeforeEnd
        record { isSilent in
            if isSilent { silent.formUnion(properties) } else { reported.formUnion(properties) }
        }
    }

    /// Records changes of a sequence that were reported to the probe; see ``CoalescedChanges``.
    func probeDidReceive(
        _ positions: CollectionChangeSet, lost: [ElementDetail], gained: [ElementDetail] = []
    ) {
        record { changes.add(positions, isSilent: $0, lost: lost, gained: gained) }
    }

    private func record(_ change: (_ isSilent: Bool) -> Void) {
        if isSilencing {
            // A pending call must also omit silent changes.
            if isPending { change(true) }
            return
        }
        change(false)
        isPending = true
        if case .debounce(let time) = pace { timer.start(after: time) }
    }

    /// Runs `move`, which moves the probe beyond a silent commit.
    func whileSilencing(_ move: () -> Void) {
        assert(!isSilencing, "the probe is moved once for each silent commit")
        isSilencing = true
        defer { isSilencing = false }
        move()
    }

    /// Records that the observer has seen the current version.
    func wasServed(withCall: Bool) {
        isPending = false
        reported = []
        silent = []
        changes = CoalescedChanges()
        viewBeforeEnd = nil
        switch pace {
        case .debounce:
            isClosed = true
            timer.cancel()
        case .throttle(let time):
            guard withCall else { return }
            isClosed = true
            timer.start(after: time)
        }
    }

    func end() {
        timer.cancel()
        changes = CoalescedChanges()
        probe?.end()
        probe = nil
    }

    private func timerFired() {
        isClosed = false
        if isPending { requestTurn() }
    }
}

/// The calls of a store's own observers.
public enum StoreNotification: String, Sendable {
    /// The store has moved to a new version, or has committed one.
    case didChange = "did_change"
    /// The schema has changed; ``Store/lastSchemaEvent`` describes the change. A call with ``didChange`` follows.
    case schema
    /// A newer version exists, and the store does not advance automatically.
    case refreshRequired = "refresh_required"
}

/// An observer of a store.
final class StoreObserver: ReportingObserver<StoreNotification> {
    /// The version at the last call or, before the first call, at the registration.
    private var seen: UInt64
    private var seenBefore: UInt64?

    override init(name: String, dispatcher: NotificationDispatcher, handler: @escaping Handler) {
        seen = dispatcher.store.view.version
        super.init(name: name, dispatcher: dispatcher, handler: handler)
    }

    override var reason: DeliveryReason? {
        seenBefore.map {
            DeliveryReason(
                previousVersion: $0, version: seen, causes: [], rowCount: 0)
        }
    }

    func call(_ notification: StoreNotification, in store: Store) -> Call? {
        if notification != .schema {
            seenBefore = seen
            seen = store.view.version
        }
        return call(notification)
    }
}

/// Receives every change of a store, step by step.
///
/// The observer is called together with the store's own observers, so a commit is reported before it returns.
final class ChangeStreamObserver: ReportingObserver<VersionChange> {
    /// The token of the store observer that drives this observer; both end together.
    var storeToken: NotificationToken?

    override var subject: String { "all changes" }

    override var interests: ObserverInterests {
        var interests = ObserverInterests()
        for classSchema in dispatcher?.store.schema.classes ?? [] {
            interests.add(membershipOf: classSchema.table)
            interests.add(everythingOf: classSchema.table)
        }
        return interests
    }

    override func release() {
        super.release()
        storeToken = nil
    }

    override func advance(along step: VersionStep) throws -> Call? {
        step.changes.isEmpty ? nil : call(VersionChange(step))
    }
}
