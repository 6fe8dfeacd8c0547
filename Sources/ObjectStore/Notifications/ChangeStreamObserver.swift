import ColumnStorage

/// Follows everything that happens in a store, one step after the other.
///
/// Is served where the store's own observers are called, so that a commit has been told when it returns.
final class ChangeStreamObserver: Observer {
    typealias Handler = (VersionChange) throws -> Void

    private var handler: Handler?
    /// The observer of the store that this one follows; ends with it.
    var pace: NotificationToken?

    init(name: String, pump: NotificationPump, handler: @escaping Handler) {
        self.handler = handler
        super.init(name: name, pump: pump)
    }

    override var subject: String { "all changes" }

    override var interests: ObserverInterests {
        var interests = ObserverInterests()
        for classSchema in pump?.store.schema.classes ?? [] {
            interests.add(membershipOf: classSchema.table)
            interests.add(everythingOf: classSchema.table)
        }
        return interests
    }

    override func release() {
        handler = nil
        pace = nil
    }

    override func advance(along step: VersionStep) throws -> Call? {
        guard let handler, !step.changes.isEmpty else { return nil }
        let change = VersionChange(step)
        return { try handler(change) }
    }
}

extension Store {
    /// Calls a handler with everything that happens: with each commit of this store before that returns, and with the
    /// commits of others, perhaps several at once, when the store moves on.
    ///
    /// From the version that the store shows now on. Read-only stores can be followed too: others may write. Throws
    /// `already_in_write`, `closed`, `wrong_thread`, `invalid_argument` (the thread has no event loop).
    public func observeChanges(
        name: String = "", _ handler: @escaping (VersionChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable(isReading: true)
        let pump = notifications
        let observer = ChangeStreamObserver(name: name, pump: pump, handler: handler)
        let token = pump.add(observer, seen: version)
        observer.pace = pump.add(
            StoreObserver(name: name, pump: pump) { [weak observer] notification, _ in
                guard notification == .didChange, let observer else { return }
                observer.pump?.serveNow(observer)
            })
        return token
    }
}
