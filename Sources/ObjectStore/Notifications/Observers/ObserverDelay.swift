import ColumnStorage

/// How often an observer may be called.
public enum ObserverPace: Hashable, Sendable {
    /// As soon as nothing has changed for this time.
    case debounce(Duration)
    /// At once, but not again before this time has passed since the last call.
    case throttle(Duration)
}

/// Holds the calls of one observer back, and says when they may be made.
///
/// The observer itself stays at the version that it was last called for, so that its next call tells
/// exactly what has changed since. A second observer of the same thing, the probe, is served with
/// every delivery: it finds whether a commit is of interest at all, and what only silent commits
/// have changed.
final class ObserverDelay {
    let pace: ObserverPace
    private let timer: any SchedulerTimer
    private let requestTurn: () -> Void
    /// Whether a call would come too early.
    private var isClosed: Bool
    // What the commits since the last call have changed: properties of an object, or a sequence.
    private var told: Set<String> = []
    private var silent: Set<String> = []
    private var changes = CoalescedChanges()
    private var isPending = false

    /// Whether the probe is being moved over a silent commit.
    var isSilencing = false
    /// The second observer.
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

    /// Whether a report is pending, but not due.
    var isHolding: Bool { isClosed && isPending }

    /// Whether a property was changed by silent commits only since the last call.
    func isSilent(_ property: String) -> Bool {
        silent.contains(property) && !told.contains(property)
    }

    /// The changes of a sequence since the last call; nil if none of them was silent.
    var coalescedChanges: CoalescedChanges? { changes.hasSilent ? changes : nil }

    /// Properties of an object were reported to the probe.
    func probeWasTold(of properties: [String]) {
        note { isSilent in
            if isSilent { silent.formUnion(properties) } else { told.formUnion(properties) }
        }
    }

    /// Changes of a sequence were reported to the probe; see ``CoalescedChanges``.
    func probeWasTold(
        of positions: CollectionChangeSet, lost: [ElementDetail], gained: [ElementDetail] = []
    ) {
        note { changes.add(positions, isSilent: $0, lost: lost, gained: gained) }
    }

    private func note(_ record: (_ isSilent: Bool) -> Void) {
        if isSilencing {
            // The next call leaves out what was never to be reported, too.
            if isPending { record(true) }
            return
        }
        record(false)
        isPending = true
        if case .debounce(let time) = pace { timer.start(after: time) }
    }

    /// The observer has seen the present version.
    func wasServed(withCall: Bool) {
        isPending = false
        told = []
        silent = []
        changes = CoalescedChanges()
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
        probe?.end()
        probe = nil
    }

    private func timerFired() {
        isClosed = false
        if isPending { requestTurn() }
    }
}
