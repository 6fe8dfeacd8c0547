/// An observation: it lasts as long as somebody holds the token.
///
/// Dropping the last reference is the same as ``invalidate()``. Confined to the store's thread.
public final class NotificationToken {
    let observer: Observer

    init(_ observer: Observer) {
        self.observer = observer
    }

    deinit {
        observer.end()
    }

    /// Ends the observation.
    ///
    /// The handler is never called again, not even for changes that are already known; one that is
    /// running finishes. Calling it again does nothing.
    public func invalidate() {
        observer.end()
    }

    /// Whether the handler may still be called.
    public var isValid: Bool { observer.isActive }

    /// Called once when the observation has ended, however it ended: by a token, by the end of what
    /// was observed, or by the store's closing.
    public var endHandler: (() -> Void)? {
        get { observer.endHandler }
        set { observer.endHandler = newValue }
    }

    /// The name for reports; empty if none was given.
    public var name: String { observer.name }

    /// What the observer depends on, in the names of the schema: `Dog` for objects that come and go,
    /// `Dog.age` for a property of any of them, `Dog.*` for every property, `a Dog` for one object.
    ///
    /// A commit that changes nothing of it costs the observer nothing. Empty for an observer of the
    /// store, and once the observation has ended.
    public var dependencies: [String] {
        guard let pump = observer.pump else { return [] }
        return observer.interests.names(in: pump.store.schema)
    }

    /// What a commit that changes something of ``dependencies`` costs, in words; empty before the first call.
    public var cost: String { observer.cost }

    /// How often the handler was called and how long that took.
    public var statistics: ObserverStatistics { observer.statistics }

    /// What the last call was for; nil before the first one that reported a change.
    public var reason: DeliveryReason? { observer.reason }
}

/// Figures of one observer.
public struct ObserverStatistics: Hashable, Sendable {
    // Finding out what has changed is the store's part, a call the handler's.

    /// How often the handler was called.
    public internal(set) var calls = 0
    /// How many commits were reported together with a later one instead of with a call of their own.
    public internal(set) var coalescedCommits = 0
    /// How long the last call took, in microseconds.
    public internal(set) var lastMicroseconds = 0.0
    /// How long the longest call took, in microseconds.
    public internal(set) var maximumMicroseconds = 0.0
    /// How long all calls took together, in microseconds.
    public internal(set) var totalMicroseconds = 0.0
    /// How long a call took on average, in microseconds; 0 before the first.
    public var meanMicroseconds: Double {
        calls == 0 ? 0 : totalMicroseconds / Double(calls)
    }

    /// How often the store found out what commits had done to what is observed, whether a call followed or not.
    public internal(set) var findings = 0
    /// How long it took to find that out the last time, in microseconds.
    public internal(set) var lastFindingMicroseconds = 0.0
    /// How long it took at most, in microseconds.
    public internal(set) var maximumFindingMicroseconds = 0.0
    /// How long it took together, in microseconds.
    public internal(set) var totalFindingMicroseconds = 0.0
    /// How long it took on average, in microseconds; 0 before the first time.
    public var meanFindingMicroseconds: Double {
        findings == 0 ? 0 : totalFindingMicroseconds / Double(findings)
    }

    /// Figures of an observer that was not called yet.
    public init() {}

    mutating func add(findingMicroseconds microseconds: Double) {
        findings += 1
        lastFindingMicroseconds = microseconds
        totalFindingMicroseconds += microseconds
        maximumFindingMicroseconds = max(maximumFindingMicroseconds, microseconds)
    }

    mutating func add(microseconds: Double) {
        calls += 1
        lastMicroseconds = microseconds
        totalMicroseconds += microseconds
        maximumMicroseconds = max(maximumMicroseconds, microseconds)
    }
}

/// What a call of an observer was for.
public struct DeliveryReason: Sendable {
    /// The version that the observer had seen before.
    public let previousVersion: UInt64
    /// The version that it has seen now.
    public let version: UInt64
    /// The objects of the observed class that made the call necessary.
    public let objects: [ObjectReference]
    /// The properties of those objects that were modified, in schema order.
    public let properties: [String]
    /// The first of the observer's key paths that was hit; nil if it has none, or if the call is
    /// about rows that came or went only.
    public let keyPath: String?
}
