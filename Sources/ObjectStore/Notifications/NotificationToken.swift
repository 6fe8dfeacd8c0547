/// The handle of an observation, which ends with the token.
///
/// Releasing the last reference has the effect of ``invalidate()``. A token is confined to the store's thread.
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
    /// The handler is never called again, not even for pending changes; a running call finishes. Another call of this
    /// function has no effect.
    public func invalidate() {
        observer.end()
    }

    /// Makes deliveries skip the observer, so only ``pull()`` calls the handler.
    package func holdDeliveries() { observer.isPulled = true }

    /// Calls the handler now if there are changes since its last call.
    package func pull() { observer.dispatcher?.pull(observer) }

    /// Whether the handler may still be called.
    public var isValid: Bool { observer.isActive }

    /// Called once after the observation has ended.
    ///
    /// The observation ends with the token, with the observed object or collection, or when the store closes.
    package var endHandler: (() -> Void)? {
        get { observer.endHandler }
        set { observer.endHandler = newValue }
    }

    /// The name that reports use; empty if the observer has none.
    public var name: String { observer.name }

    /// The source location of the registration, which errors name if the observer has no name.
    package var location: String {
        get { observer.location }
        set { observer.location = newValue }
    }

    /// The observer's dependencies, with the names of the schema: `Dog` for created and deleted objects, `Dog.age` for
    /// a property of any of them, `Dog.*` for every property, `a Dog` for one object.
    ///
    /// A commit that changes none of them costs nothing for this observer. The array is empty for an observer of the
    /// store and after the observation has ended.
    package var dependencies: [String] {
        guard let dispatcher = observer.dispatcher else { return [] }
        return observer.interests.names(in: dispatcher.store.schema)
    }

    /// A description of the cost of a commit that changes some of ``dependencies``; empty after the observation has
    /// ended.
    package var cost: String {
        observer.dispatcher.map { observer.cost(in: $0.store.schema) } ?? ""
    }

    /// The number and the duration of the handler's calls.
    package var statistics: ObserverStatistics { observer.statistics }

    /// The reason for the last call; nil before the first call that reported a change.
    package var reason: DeliveryReason? { observer.reason }
}

/// Statistics of one observer.
package struct ObserverStatistics: Hashable, Sendable {
    /// The durations of the handler's calls.
    package internal(set) var handling = Durations()
    /// The durations of computing the observed changes, whether or not a call followed.
    package internal(set) var finding = Durations()
    /// The number of commits that were reported together with a later commit.
    package internal(set) var coalescedCommits = 0

    /// The number of the handler's calls.
    package var calls: Int { handling.count }

    /// Creates statistics without calls.
    package init() {}
}

/// Statistics of the durations of a repeated operation, in microseconds.
package struct Durations: Hashable, Sendable {
    /// The number of measurements.
    package private(set) var count = 0
    /// The last duration; 0 before the first measurement.
    package private(set) var last = 0.0
    /// The longest duration.
    package private(set) var maximum = 0.0
    /// The sum of all durations.
    package private(set) var total = 0.0
    /// The average duration; 0 before the first measurement.
    package var mean: Double { count == 0 ? 0 : total / Double(count) }

    mutating func add(_ microseconds: Double) {
        count += 1
        last = microseconds
        maximum = max(maximum, microseconds)
        total += microseconds
    }
}
