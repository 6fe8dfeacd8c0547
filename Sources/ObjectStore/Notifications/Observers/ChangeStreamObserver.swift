import ColumnStorage

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
