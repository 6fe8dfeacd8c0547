import ColumnStorage

/// The subscriber of one read of a store, which is notified when the result can have changed.
package protocol ReadSubscriber: AnyObject {
    /// Called at each read.
    func didRead()
    /// Called once, after a change of the read data.
    func didChange()
    /// Whether the change is still awaited.
    var isWaiting: Bool { get }
}

/// Records reads outside of reactions: each different read has a subscriber that is called once, after the next change.
///
/// This is for a host that runs code again by a mechanism of its own. A commit takes time in proportion to its changes,
/// not to the number of reads. The object is confined to the thread of the store.
package final class ReadSubscriptions: ReadRecorder {
    private enum Key: Hashable {
        case property(TableID, ObjectKey, ColumnID?)
        case column(TableID, ColumnID)
        case existence(ObjectReference)
        case lookup(TableID, Value)
        case node(LiveNodeKey)
    }

    private struct Column: Hashable {
        let table: TableID
        let column: ColumnID
    }

    /// The maximum number of objects of a column with separate subscriptions; further reads subscribe to the whole
    /// column.
    private static let maxObjects = 1_000

    private let isWanted: () -> Bool
    private let makeSubscriber: () -> any ReadSubscriber
    private let scope = ReadScope()
    private var subscriptions: [Key: ReadSubscription] = [:]
    private var objectCounts: [Column: Int] = [:]
    private var limit = 256

    /// Creates subscriptions without any read.
    ///
    /// - Parameters:
    ///   - isWanted: Whether to record the next read.
    ///   - makeSubscriber: Creates the subscriber of a read.
    package init(
        isWanted: @escaping () -> Bool, _ makeSubscriber: @escaping () -> any ReadSubscriber
    ) {
        self.isWanted = isWanted
        self.makeSubscriber = makeSubscriber
    }

    /// The number of reads that have a subscriber.
    package var count: Int { subscriptions.count }

    var areWanted: Bool { isWanted() }

    package override func recordRead(
        of store: Store, _ table: TableID, _ key: ObjectKey, _ column: ColumnID?
    ) {
        if let column {
            let known = subscriptions[.property(table, key, column)] != nil
            if !known, objectCounts[Column(table: table, column: column)] ?? 0 >= Self.maxObjects {
                return subscribe(.column(table, column)) {
                    $0.recordRead(of: store, table, wholeColumn: column)
                }
            }
        }
        subscribe(.property(table, key, column)) { $0.recordRead(of: store, table, key, column) }
    }

    override func recordRead(of store: Store, existenceOf reference: ObjectReference) {
        subscribe(.existence(reference)) { $0.recordRead(of: store, existenceOf: reference) }
    }

    override func recordLookup(of store: Store, _ lookup: StoreReads.Lookup, by value: Value) {
        subscribe(.lookup(lookup.table, value)) { $0.recordLookup(of: store, lookup, by: value) }
    }

    override func recordRead(of store: Store, _ hold: LiveNodeHold, _ key: LiveNodeKey) {
        subscribe(.node(key)) { $0.recordRead(of: store, hold, key) }
    }

    private func subscribe(_ key: Key, _ record: (Reaction) -> Void) {
        if let known = subscriptions[key], !known.isDisposed {
            return known.subscriber.didRead()
        }
        if subscriptions.count >= limit { removeIdle() }
        let subscription = ReadSubscription(scope, makeSubscriber()) { [weak self] ended in
            self?.remove(ended, key)
        }
        subscription.record { record(subscription) }
        add(subscription, key)
        subscription.subscriber.didRead()
    }

    private func add(_ subscription: ReadSubscription, _ key: Key) {
        subscriptions[key] = subscription
        if case .property(let table, _, let column?) = key {
            objectCounts[Column(table: table, column: column), default: 0] += 1
        }
    }

    private func remove(_ subscription: ReadSubscription, _ key: Key) {
        guard subscriptions[key] === subscription else { return }
        subscriptions[key] = nil
        if case .property(let table, _, let column?) = key {
            let column = Column(table: table, column: column)
            assert(objectCounts[column] ?? 0 > 0, "each subscribed object of a column is counted")
            let rest = (objectCounts[column] ?? 1) - 1
            objectCounts[column] = rest == 0 ? nil : rest
        }
    }

    /// Removes the reads that are no longer awaited.
    private func removeIdle() {
        for (key, subscription) in subscriptions where !subscription.subscriber.isWaiting {
            subscription.dispose()
            remove(subscription, key)
        }
        limit = max(256, 2 * subscriptions.count)
    }
}

/// A read that is followed until its next change.
private final class ReadSubscription: Reaction {
    let subscriber: any ReadSubscriber
    private let didEnd: (ReadSubscription) -> Void

    init(
        _ scope: ReadScope, _ subscriber: any ReadSubscriber,
        didEnd: @escaping (ReadSubscription) -> Void
    ) {
        self.subscriber = subscriber
        self.didEnd = didEnd
        super.init(scope)
    }

    private func end() {
        dispose()
        didEnd(self)
    }

    override func didChange() -> Observer.Call? {
        guard !isDisposed else { return nil }
        return { [self] in
            guard !isDisposed else { return }
            end()
            subscriber.didChange()
        }
    }

    /// Ends all subscriptions, because the store is closed.
    override func didLoseDependencies() { end() }
}
