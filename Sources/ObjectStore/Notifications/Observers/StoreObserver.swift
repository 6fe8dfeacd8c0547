/// Calls of a store's own observers.
public enum StoreNotification: String, Sendable {
    /// The store has moved to a new version, or has committed one.
    case didChange = "did_change"
    /// There is a newer version, and the store does not move by itself.
    case refreshRequired = "refresh_required"
}

/// An observer of a store.
final class StoreObserver: Observer {
    typealias Handler = (StoreNotification, Store) throws -> Void
    private var handler: Handler?

    init(name: String, pump: NotificationPump, handler: @escaping Handler) {
        self.handler = handler
        super.init(name: name, pump: pump)
    }

    override func release() { handler = nil }

    func call(_ notification: StoreNotification, _ store: Store) -> Call? {
        handler.map { handler in { try handler(notification, store) } }
    }
}
