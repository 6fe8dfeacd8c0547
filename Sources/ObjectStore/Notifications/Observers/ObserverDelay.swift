import ColumnStorage

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

    /// Records properties of an object that were reported to the probe.
    func probeDidReceive(properties: [String]) {
        note { isSilent in
            if isSilent { silent.formUnion(properties) } else { reported.formUnion(properties) }
        }
    }

    /// Records changes of a sequence that were reported to the probe; see ``CoalescedChanges``.
    func probeDidReceive(
        _ positions: CollectionChangeSet, lost: [ElementDetail], gained: [ElementDetail] = []
    ) {
        note { changes.add(positions, isSilent: $0, lost: lost, gained: gained) }
    }

    private func note(_ record: (_ isSilent: Bool) -> Void) {
        if isSilencing {
            // A pending call must also omit silent changes.
            if isPending { record(true) }
            return
        }
        record(false)
        isPending = true
        if case .debounce(let time) = pace { timer.start(after: time) }
    }

    /// Runs `move`, which moves the probe beyond a silent commit.
    func whileSilencing(_ move: () -> Void) {
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
