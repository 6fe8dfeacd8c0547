import ColumnStorage

/// An aggregate or rows that are updated after each commit and that reactions read.
///
/// Nodes have no handler: reactions check whether a node has changed since they last read it.
class LiveNode: Observer {
    /// The last version in which the node changed.
    private(set) var changedAt: UInt64 = 0

    /// Creates a node; `start` then reads its state in a version.
    init(dispatcher: NotificationDispatcher) {
        super.init(name: "", dispatcher: dispatcher)
        isProbe = true
    }

    /// Reads the state in a version, before the node is registered.
    func start(in view: StoreView) throws {}

    func noteChange(in version: UInt64) { changedAt = version }

    /// Treats a node that cannot be updated further as changed, so that its readers read the store instead.
    override func failed(_ error: StoreError) -> Call? {
        isFinished = true
        changedAt = .max
        return nil
    }
}

/// A reference-counted handle of a node, shared by the reactions that read it; the node ends with the last reference.
final class LiveNodeHold {
    let node: LiveNode

    init(_ node: LiveNode) { self.node = node }

    deinit { node.end() }
}

/// The key that identifies a node of a store.
struct LiveNodeKey: Hashable {
    enum Kind: Hashable {
        /// The objects of a query and their order.
        case rows
        /// The objects, their order, and the values of a key path.
        case values(String)
        case aggregate(AggregateKind, String?)
    }

    let query: Query.Identity
    let kind: Kind
}

/// The nodes of a store that reactions read.
struct LiveNodes {
    private struct Entry {
        weak var hold: LiveNodeHold?
    }

    private var entries: [LiveNodeKey: Entry] = [:]
    private var limit = 64

    func find(_ key: LiveNodeKey) -> LiveNodeHold? {
        guard let hold = entries[key]?.hold, hold.node.isActive else { return nil }
        return hold
    }

    mutating func insert(_ hold: LiveNodeHold, _ key: LiveNodeKey) {
        if entries.count >= limit {
            entries = entries.filter { $0.value.hold != nil }
            limit = max(64, 2 * entries.count)
        }
        entries[key] = Entry(hold: hold)
    }
}
