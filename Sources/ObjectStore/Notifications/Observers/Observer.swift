import ColumnStorage

/// The dispatcher's view of an observer of an object, a collection or the store.
///
/// An observer remembers the version it has seen. The dispatcher asks it to move to another one; it
/// moves its state at once, and answers with the call that is to be made, if any.
class Observer {
    /// A call that is due.
    typealias Call = () throws -> Void

    let name: String
    /// The place in the order of registration.
    fileprivate(set) var number = 0
    private(set) var isActive = true
    /// The version that the observer has seen, nil before its first call; of a resting one the
    /// version since when nothing has concerned it.
    fileprivate(set) var base: UInt64?
    /// The observer's position in ``TrackedObservers``, which alone changes it; nil while it rests.
    var place: Int?
    /// Whether the call that is due is the last one.
    var isFinished = false
    var statistics = ObserverStatistics()
    /// Made on first use: most calls are never questioned.
    ///
    /// Stays after the end: the last call may be questioned as well.
    var makeReason: (() -> DeliveryReason)?
    /// Whether it only looks for another one, which reports what is wrong with both.
    var isProbe = false
    /// The latest version that was written without notifying the observer.
    var silencedVersion: UInt64?
    /// When calls are made that are not to be made at once.
    var delay: ObserverDelay?
    /// Whether deliveries pass the observer by: its owner fetches the changes with ``NotificationToken/pull()``.
    var isPulled = false
    /// Whether a delivery must not serve the observer now.
    var isWithheld: Bool { isPulled || delay?.isHolding == true }
    /// The token, for reports; it holds the observer, not the other way round.
    weak var token: NotificationToken?
    private(set) weak var dispatcher: NotificationDispatcher?

    init(name: String, dispatcher: NotificationDispatcher) {
        self.name = name
        self.dispatcher = dispatcher
    }

    /// Whether the observer has a pending report, or may have one; the others rest.
    var isTracked: Bool { place != nil }

    var reason: DeliveryReason? { makeReason?() }

    /// How errors name the observer.
    var title: String { name.isEmpty ? "an observer of \(subject)" : "'\(name)'" }

    /// The observed value, for messages.
    var subject: String { "the store" }

    /// The observer's dependencies; read at its registration and after a change of schema.
    var interests: ObserverInterests { ObserverInterests() }

    /// The cost of a commit that concerns the observer, in a sentence without its end.
    var cost: String { "called after every commit" }

    /// Called once when the observation has ended.
    final var endHandler: (() -> Void)?

    /// Ends the observation, from inside or outside a call.
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

    /// Releases the handler and what was kept for it.
    ///
    /// A running handler is held by its call.
    func release() {}

    /// Takes the collection or object as it is; the first call.
    func begin(in view: StoreView) throws -> Call? { nil }

    /// Moves along a step.
    ///
    /// Nil if there is nothing to report.
    func advance(along step: VersionStep) throws -> Call? { nil }

    /// The conditions under which the observer is called for an object; nil if they do not depend on one object.
    func coverage(of object: ObjectReference, in view: StoreView) -> ObserverCoverage? { nil }

    /// The conditions that all observers share.
    final func commonCoverage(keyPaths: [String]) -> ObserverCoverage {
        var coverage = ObserverCoverage()
        coverage.keyPaths = keyPaths
        coverage.silencedVersion = silencedVersion
        coverage.pace = delay?.pace
        coverage.isHolding = delay?.isHolding ?? false
        return coverage
    }

    /// The call for an error that ends the observation.
    func failed(_ error: StoreError) -> Call? { nil }
}

// What only the dispatcher changes.
extension Observer {
    func register(as number: Int) { self.number = number }

    /// The observer has seen a version, or none.
    func stand(at version: UInt64?) { base = version }
}
