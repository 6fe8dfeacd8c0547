import ColumnStorage
import Synchronization

/// The running reaction of a thread, to which stores report reads.
///
/// All stores of a script share one scope, which is confined to their thread.
package final class ReadScope {
    /// The innermost running reaction; nil while reads are not tracked.
    package private(set) var reaction: Reaction? {
        didSet { tracks.store(reaction != nil, ordering: .relaxed) }
    }
    /// Whether a reaction is running; an atomic, because its loads need no check for exclusive access.
    private let tracks = Atomic(false)

    /// Whether a reaction is running.
    ///
    /// Equals `reaction != nil`, at the cost of one load; used when scripts read properties.
    package var isTracking: Bool { tracks.load(ordering: .relaxed) }

    /// The recorder of reads outside of reactions; nil for none.
    package var subscriptions: ReadSubscriptions?

    /// The recorder of the next read; nil for none.
    fileprivate var recorder: ReadRecorder? {
        if let reaction { return reaction }
        guard let subscriptions, subscriptions.areWanted else { return nil }
        return subscriptions
    }

    /// Creates a scope without a running reaction.
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
    /// The recorder of the next read.
    ///
    /// The value is nil if no reads are tracked, and inside a write transaction with changes, because its reads cannot
    /// be tracked.
    package var reader: ReadRecorder? {
        guard let recorder = readScope?.recorder, notifications.isUnchanged else { return nil }
        return recorder
    }
}

extension Store {
    /// Whether the open write transaction has changed data, so that reads do not see a committed version.
    package var isChanging: Bool { !notifications.isUnchanged }
}

extension NotificationDispatcher {
    /// Whether the store shows a committed version.
    var isUnchanged: Bool {
        !store.isInWrite || (depth > 0 && store.view.generation == cleanGeneration)
    }
}

extension ObjectSource {
    /// The store and the recorder of its reads, if reads are tracked.
    var tracked: (store: Store, reader: ReadRecorder)? {
        guard case .store(let store) = self, let reader = store.reader else { return nil }
        return (store, reader)
    }

    /// Records that a property is read, if reads are tracked; nil for all properties.
    package func noteRead(_ classSchema: ClassSchema, _ key: ObjectKey, _ column: ColumnID?) {
        guard let (store, reader) = tracked else { return }
        reader.noteRead(of: store, classSchema.table, key, column)
    }
}
