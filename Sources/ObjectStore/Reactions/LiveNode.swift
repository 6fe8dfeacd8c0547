import ColumnStorage

/// The rows of a query, or an aggregate over them, kept up to date after each commit for the reactions that read them.
///
/// Nodes have no handler: reactions check whether a node has changed since they last read it.
final class LiveNode: Observer {
    private var query: Query
    /// The key path of the watched values; nil to watch only the objects and their order.
    private let path: String?
    /// The aggregate; nil for rows.
    private let rule: AggregateRule?
    /// The rows in the version that the node has seen; nil once they can no longer be updated.
    private var rows: ValuedRows?
    private var values: WatchGraph?
    /// The aggregate in that version.
    private var state: AggregateState?
    /// The last version in which the node changed.
    private(set) var changedAt: UInt64 = 0

    init(
        _ query: Query, path: String? = nil, _ rule: AggregateRule? = nil,
        dispatcher: NotificationDispatcher
    ) {
        self.query = query
        self.path = path
        self.rule = rule
        super.init(name: "", dispatcher: dispatcher)
        isProbe = true
    }

    /// The value of an aggregate.
    var value: Value? { state?.value }

    override var subject: String { rule == nil ? "the rows of a query" : "an aggregate" }

    override var interests: ObserverInterests {
        guard let schema = dispatcher?.store.schema else { return ObserverInterests() }
        var interests = ObserverInterests(
            state?.query ?? query, state?.rule ?? rule, schema: schema)
        if let values { interests.add(values) }
        return interests
    }

    override func release() {
        rows = nil
        state = nil
    }

    /// Reads the state in a version, before the node is registered.
    func start(in view: StoreView) throws {
        assert(rows == nil && state == nil, "a node starts once")
        if let rule {
            state = try AggregateState(query, rule, by: nil, in: view)
        } else {
            try watchValues(view.schema)
            rows = try ValuedRows(query, in: view)
        }
    }

    private func watchValues(_ schema: Schema) throws {
        guard let path, let elements = schema.find(table: query.table) else { return }
        let compiled = try ValuePath(path, class: elements, schema: schema)
        values = WatchGraph(compiled.dependencies, of: query.table)
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if try step.removes(query.table, owner: query.owner(in: step.old.schema)) {
            isFinished = true
            changedAt = .max
            return nil
        }
        var isChanged = false
        // Without another copy, the rows and the aggregate are changed in place.
        if var state {
            self.state = nil
            isChanged = try state.advance(along: step) != nil
            self.state = state
        } else if var rows {
            self.rows = nil
            if step.changes.schemaChanged {
                try rows.follow(step)
                query = rows.query
                try watchValues(step.new.schema)
            }
            let touched = try values?.touchedRows(in: step) ?? KeySet()
            isChanged = try !rows.advance(along: step, touched: touched).isEmpty
            self.rows = rows
        }
        if isChanged { changedAt = step.new.version }
        return nil
    }

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

/// A value that is computed on its first read and kept until data that the computation read has changed.
///
/// Reactions that read the value run again only if the value changes. The value is confined to the thread of the
/// stores.
package final class Computed: Reaction {
    private let evaluate: () throws -> Bool
    private var isStale = true
    /// Whether the kept value was computed inside a write that may be rolled back.
    private var isProvisional = false
    private var failure: (any Error)?
    /// The reactions that have read the value, and observe the data that it depends on.
    private var readers: [ObjectIdentifier: Reader] = [:]
    private struct Reader { weak var reaction: Reaction? }
    /// The number of different values so far, including errors.
    private(set) var revision = 0

    /// Creates a value without computing it.
    ///
    /// `evaluate` computes the value, keeps it, and returns whether it differs from the previous one.
    package init(in scope: ReadScope, _ evaluate: @escaping () throws -> Bool) {
        self.evaluate = evaluate
        super.init(scope)
    }

    /// Updates the value that `evaluate` kept, if necessary.
    ///
    /// Throws the errors of `evaluate`, and `invalid_argument` if the computation reads its own value.
    package func update() throws {
        guard !isRunning else {
            throw StoreError(
                .invalidArgument, "this computed value reads itself, so it has no value")
        }
        if stores.contains(where: \.isChanging) {
            isStale = true
            isProvisional = true
            _ = try scope.tracking(nil, evaluate)
            return
        }
        refresh()
        scope.reaction?.recordRead(of: self)
        if let failure { throw failure }
    }

    /// Computes the value again if one of its dependencies has changed.
    func refresh() {
        guard !isRunning else { return }
        if !isStale { catchUp() }
        guard isStale || !hasDependencies else { return }
        let watch = Stopwatch()
        let interests = interestsRevision
        isStale = false
        do {
            let isAnother = try record(evaluate)
            if isAnother || failure != nil || isProvisional { revision += 1 }
            failure = nil
            isProvisional = false
        } catch {
            failure = error
            revision += 1
        }
        // An equal value may depend on other data than before.
        if interestsRevision != interests { updateReaders() }
        statistics.handling.add(watch.microseconds)
    }

    func add(reader: Reaction) {
        readers = readers.filter { $0.value.reaction != nil }
        readers[ObjectIdentifier(reader)] = Reader(reaction: reader)
    }

    func remove(reader: Reaction) { readers[ObjectIdentifier(reader)] = nil }

    private func updateReaders() {
        for reader in readers.values { reader.reaction?.computedDependsOnOtherData() }
    }

    override func computedDependsOnOtherData() {
        super.computedDependsOnOtherData()
        updateReaders()
    }

    override func didChange() -> Observer.Call? {
        isStale = true
        return nil
    }

    override func didLoseDependencies() { isStale = true }
}

extension Store {
    /// Returns a node at the current version; reactions with equal reads share it.
    ///
    /// Creating a node reads all objects of its query; later, a commit takes time in proportion to the touched objects.
    private func node(_ key: LiveNodeKey, _ make: () throws -> LiveNode) throws -> LiveNodeHold {
        if let known = liveNodes.find(key) {
            notifications.serveNow(known.node)
            if known.node.isActive { return known }
        }
        let node = try make()
        try node.start(in: view)
        notifications.enter(node, seen: version)
        let hold = LiveNodeHold(node)
        liveNodes.insert(hold, key)
        return hold
    }

    /// Returns an aggregate and records its read; nil if no reads are tracked.
    func trackedAggregate(
        _ kind: AggregateKind, _ path: String?, of query: Query,
        _ classSchema: () throws -> ClassSchema
    ) throws -> Value? {
        guard let reader else { return nil }
        let key = LiveNodeKey(query: query.identity, kind: .aggregate(kind, path))
        let hold = try node(key) {
            let query = try query.followed(to: view.schema)
            let rule = try AggregateRule(
                kind, path, class: try classSchema(), schema: view.schema)
            return LiveNode(query, rule, dispatcher: notifications)
        }
        reader.recordRead(of: self, hold, key)
        return hold.node.value
    }

    /// If reads are tracked, records a read of the objects of a query and their order, and with a path, of its values.
    func recordRead(of query: Query, path: String? = nil) throws {
        guard let reader else { return }
        let key = LiveNodeKey(query: query.identity, kind: path.map { .values($0) } ?? .rows)
        let hold = try node(key) {
            LiveNode(
                try query.followed(to: view.schema), path: path, dispatcher: notifications)
        }
        reader.recordRead(of: self, hold, key)
    }
}
