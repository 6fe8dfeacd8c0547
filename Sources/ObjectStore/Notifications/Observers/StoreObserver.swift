import ColumnStorage

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
final class StoreObserver: Observer {
    typealias Handler = (StoreNotification, Store) throws -> Void
    private var handler: Handler?
    /// The version at the last call or, before the first call, at the registration.
    private var seen: UInt64
    private var seenBefore: UInt64?

    init(name: String, dispatcher: NotificationDispatcher, handler: @escaping Handler) {
        self.handler = handler
        seen = dispatcher.store.view.version
        super.init(name: name, dispatcher: dispatcher)
    }

    override func release() { handler = nil }

    override var reason: DeliveryReason? {
        seenBefore.map {
            DeliveryReason(
                previousVersion: $0, version: seen, causes: [], rowCount: 0)
        }
    }

    func call(_ notification: StoreNotification, _ store: Store) -> Call? {
        guard let handler else { return nil }
        if notification != .schema {
            seenBefore = seen
            seen = store.view.version
        }
        return { try handler(notification, store) }
    }
}

/// Receives every change of a store, step by step.
///
/// The observer is called together with the store's own observers, so a commit is reported before it returns.
final class ChangeStreamObserver: Observer {
    typealias Handler = (VersionChange) throws -> Void

    private var handler: Handler?
    /// The token of the store observer that drives this observer; both end together.
    var storeToken: NotificationToken?

    init(name: String, dispatcher: NotificationDispatcher, handler: @escaping Handler) {
        self.handler = handler
        super.init(name: name, dispatcher: dispatcher)
    }

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
        handler = nil
        storeToken = nil
    }

    override func advance(along step: VersionStep) throws -> Call? {
        guard let handler, !step.changes.isEmpty else { return nil }
        let change = VersionChange(step)
        return { try handler(change) }
    }
}
