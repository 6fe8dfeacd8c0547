import ColumnStorage
import Synchronization

/// Knows which reaction is running on a thread, so that stores can report what it reads.
///
/// One scope serves all stores of a script. Confined to the thread of those stores.
package final class ReadScope {
    /// The innermost reaction that is running; nil while nothing is tracked.
    package private(set) var reaction: Reaction? {
        didSet { tracks.store(reaction != nil, ordering: .relaxed) }
    }
    /// An atomic, although only one thread uses it, because its loads need no check for exclusive access.
    private let tracks = Atomic(false)

    /// Whether a reaction is running.
    ///
    /// The same as `reaction != nil`, for reads of properties by scripts. Costs one load.
    package var isTracking: Bool { tracks.load(ordering: .relaxed) }

    /// Creates a scope in which nothing runs.
    package init() {}

    /// Runs a body with a reaction as the innermost one; with nil, its reads are not tracked.
    package func tracking<Result>(
        _ reaction: Reaction?, _ body: () throws -> Result
    ) rethrows -> Result {
        let outer = self.reaction
        self.reaction = reaction
        defer { self.reaction = outer }
        return try body()
    }
}

extension Store {
    /// The reaction that is to learn of reads; nil if none is running, and inside a write transaction that has changed
    /// something, whose reads nothing could follow.
    package var reader: Reaction? {
        guard let reaction = readScope?.reaction, notifications.isUnchanged else { return nil }
        return reaction
    }
}

extension Store {
    /// Whether the open write transaction is past its beginning, so that what it reads is not a committed version.
    package var isChanging: Bool { !notifications.isUnchanged }
}

extension NotificationDispatcher {
    /// Whether the store shows a committed version.
    var isUnchanged: Bool {
        !store.isInWrite || (depth > 0 && store.view.generation == cleanGeneration)
    }
}

extension ObjectSource {
    /// The store and the reaction that reads it, if reads are tracked.
    var tracked: (store: Store, reaction: Reaction)? {
        guard case .store(let store) = self, let reaction = store.reader else { return nil }
        return (store, reaction)
    }

    /// Records a property as a dependency of the running reaction, if there is one.
    package func noteRead(_ classSchema: ClassSchema, _ key: ObjectKey, _ column: ColumnID?) {
        guard let (store, reaction) = tracked else { return }
        reaction.noteRead(of: store, classSchema.table, key, column)
    }
}
