/// An observation: it lasts as long as the token.
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

    /// Makes deliveries pass the observer by, so that only ``pull()`` calls the handler.
    package func holdDeliveries() { observer.isPulled = true }

    /// Calls the handler now if something has changed since its last call.
    package func pull() { observer.dispatcher?.pull(observer) }

    /// Whether the handler may still be called.
    public var isValid: Bool { observer.isActive }

    /// Called once when the observation has ended, however it ended: by a token, by the end of what
    /// was observed, or by the store's closing.
    package var endHandler: (() -> Void)? {
        get { observer.endHandler }
        set { observer.endHandler = newValue }
    }

    /// The name for reports; empty if none was given.
    public var name: String { observer.name }

    /// The observer's dependencies, in the names of the schema: `Dog` for created and deleted objects, `Dog.age` for a
    /// property of any of them, `Dog.*` for every property, `a Dog` for one object.
    ///
    /// A commit that changes nothing of it costs the observer nothing. Empty for an observer of the
    /// store, and once the observation has ended.
    package var dependencies: [String] {
        guard let dispatcher = observer.dispatcher else { return [] }
        return observer.interests.names(in: dispatcher.store.schema)
    }

    /// The cost of a commit that changes a part of ``dependencies``, in words; empty before the first call.
    package var cost: String { observer.cost }

    /// How often the handler was called and how long that took.
    package var statistics: ObserverStatistics { observer.statistics }

    /// The reason of the last call; nil before the first one that reported a change.
    package var reason: DeliveryReason? { observer.reason }
}

/// Figures of one observer.
package struct ObserverStatistics: Hashable, Sendable {
    /// The handler's part: what its calls took.
    package internal(set) var handling = Durations()
    /// The store's part: what it took to find out what commits had done to what is observed, whether a call followed or not.
    package internal(set) var finding = Durations()
    /// How many commits were reported together with a later one instead of with a call of their own.
    package internal(set) var coalescedCommits = 0

    /// How often the handler was called.
    package var calls: Int { handling.count }

    /// Figures of an observer that was not called yet.
    package init() {}
}

/// How long something took each time, in microseconds.
package struct Durations: Hashable, Sendable {
    /// How often it was done.
    package private(set) var count = 0
    /// How long it took the last time; 0 before the first.
    package private(set) var last = 0.0
    /// How long it took at most.
    package private(set) var maximum = 0.0
    /// How long it took together.
    package private(set) var total = 0.0
    /// How long it took on average; 0 before the first time.
    package var mean: Double { count == 0 ? 0 : total / Double(count) }

    mutating func add(_ microseconds: Double) {
        count += 1
        last = microseconds
        maximum = max(maximum, microseconds)
        total += microseconds
    }
}

/// The reason of a call of an observer.
package struct DeliveryReason: Sendable {
    /// The version that the observer had seen before.
    package let previousVersion: UInt64
    /// The version that it has seen now.
    package let version: UInt64
    /// The objects of the observed class that made the call necessary.
    package let objects: [ObjectReference]
    /// The properties of those objects that were modified, in schema order.
    package let properties: [String]
    /// The first of the observer's key paths that was hit; nil if it has none, or if the call is
    /// about rows that came or went only.
    package let keyPath: String?
}
