import ColumnStorage

/// Something of a store that is kept up to date with each commit and that reactions read: an aggregate or rows.
///
/// Nodes have no handler. Reactions ask whether a node has changed since they last read it.
class LiveNode: Observer {
    /// The version in which the node changed last.
    private(set) var changedAt: UInt64 = 0

    /// Creates a node; `start` gives it the state of a version.
    init(dispatcher: NotificationDispatcher) {
        super.init(name: "", dispatcher: dispatcher)
        isProbe = true
    }

    /// Takes the state of a version, before the node is registered.
    func start(in view: StoreView) throws {}

    func noteChange(in version: UInt64) { changedAt = version }

    /// A node that cannot be followed any further counts as changed: its readers read the store instead.
    override func failed(_ error: StoreError) -> Call? {
        isFinished = true
        changedAt = .max
        return nil
    }
}

/// Holds a node for the reactions that read it; the node ends with the last reference.
final class LiveNodeHold {
    let node: LiveNode

    init(_ node: LiveNode) { self.node = node }

    deinit { node.end() }
}

/// The identity of a store's node.
struct LiveNodeKey: Hashable {
    enum Kind: Hashable {
        /// Which objects there are, and in which order.
        case rows
        /// The same, and the values of a key path.
        case values(String)
        case aggregate(AggregateKind, String?)
    }

    let query: Query.Identity
    let kind: Kind
}

/// The nodes of a store that have readers.
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
