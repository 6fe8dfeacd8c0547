import ColumnStorage

/// The rows of an observed collection as its observer last saw them, updated step by step.
protocol ObservedRows {
    /// The number of rows.
    var count: Int { get }

    /// Updates the rows for a step and returns the changes.
    ///
    /// `modified` are the rows whose changes the observer receives.
    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet

    /// The plain values that the last step removed or moved, in the order of its deletions.
    ///
    /// Empty if these values can be read at their positions in the collection itself.
    var lostDetails: [ElementDetail] { get }

    /// Returns the plain values at some positions; nil if these are positions in the collection itself.
    func values(at positions: [Int]) throws -> [Value]?

    /// Returns the keys of the map entries at some positions; nil if these are positions in the collection itself.
    func mapKeys(at positions: [Int]) throws -> [String]?

    /// Whether the last step removed the collection, although its owner still exists.
    var isRemoved: Bool { get }
}

extension ObservedRows {
    var lostDetails: [ElementDetail] { [] }
    func values(at positions: [Int]) throws -> [Value]? { nil }
    func mapKeys(at positions: [Int]) throws -> [String]? { nil }
    var isRemoved: Bool { false }
}

/// Rows that can be read by position.
protocol OrderedRows: ObservedRows {
    /// Returns the row at a position below `count`.
    func key(at position: Int) -> ObjectKey
}

/// The rows that a step added, removed or touched, in any order.
struct RowDelta {
    /// The rows that are no longer members.
    var left: [ObjectKey] = []
    /// The rows that became members.
    var entered: [ObjectKey] = []
    /// The members before and after the step whose position may have changed.
    var stayed: [ObjectKey] = []

    /// All these rows.
    var rows: KeySet {
        var rows = KeySet(unordered: left)
        rows.formUnion(KeySet(unordered: entered))
        rows.formUnion(KeySet(unordered: stayed))
        return rows
    }

    var isEmpty: Bool { left.isEmpty && entered.isEmpty && stayed.isEmpty }

    /// Adds a touched row by its membership before and after the step.
    mutating func add(_ row: ObjectKey, was wasMember: Bool, is isMember: Bool) {
        switch (wasMember, isMember) {
        case (true, false): left.append(row)
        case (false, true): entered.append(row)
        case (true, true): stayed.append(row)
        case (false, false): break
        }
    }
}

/// The rows of an unsorted query, in the order of their keys.
struct UnsortedRows: OrderedRows {
    private let rules: RowRules
    private var keys: KeyBitmap

    /// Creates the rows from the keys of the query, which ascend.
    init(_ rules: RowRules, _ keys: ResultKeys) {
        self.rules = rules
        self.keys = KeyBitmap(keys)
    }

    var count: Int { keys.count }

    func key(at position: Int) -> ObjectKey { keys.key(at: position) }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        var delta = try rules.delta(along: step) { keys.contains($0) }
        var result = CollectionChangeSet()
        if delta.left.count > 1 { delta.left.sort() }
        result.deletedKeys = delta.left
        for key in delta.left { result.deletions.append(keys.rank(key)) }
        let removed = KeySet(unordered: delta.left)
        for key in modified where keys.contains(key) && !removed.contains(key) {
            result.modifiedKeys.append(key)
            result.modifications.append(keys.rank(key))
        }
        for key in delta.left { keys.remove(key) }
        if delta.entered.count > 1 { delta.entered.sort() }
        for key in delta.entered { keys.insert(key) }
        result.insertedKeys = delta.entered
        for key in delta.entered { result.insertions.append(keys.rank(key)) }
        for key in result.modifiedKeys { result.modificationsNew.append(keys.rank(key)) }
        return result
    }
}

/// The rows of a query that is sorted or distinct.
struct SortedRows: OrderedRows {
    private let rules: RowRules
    private var arranged: ArrangedRows

    init(_ rules: RowRules, in view: StoreView) throws {
        self.rules = rules
        let members = try QueryEvaluator.keys(of: rules.members, in: view)
        let reader = RowReader(view)
        let rows: [CodedKey]
        if rules.firstOrder.isEmpty || members.count == 0 {
            rows = try members.map(CodedOrder.byKey.coded)
        } else {
            rows = try QuerySorter(rules.firstOrder, table: rules.table, in: view).coded(members)
        }
        arranged = try ArrangedRows(rules, KeyBitmap(members), inOrder: rows, reader)
    }

    var count: Int { arranged.count }

    func key(at position: Int) -> ObjectKey { arranged.row(at: position) }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        let delta = try rules.delta(along: step, isMember: { arranged.isMember($0) })
        return try arranged.change(
            delta, modified: modified, before: RowReader(step.old), after: RowReader(step.new))
    }
}

/// The first rows of another sequence of rows.
struct LimitedRows<Rows: OrderedRows>: OrderedRows {
    private var rows: Rows
    private let limit: Int

    init(_ rows: Rows, _ limit: Int) {
        self.rows = rows
        self.limit = limit
    }

    var count: Int { min(limit, rows.count) }

    func key(at position: Int) -> ObjectKey { rows.key(at: position) }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        let oldCount = rows.count
        let changes = try rows.advance(along: step, modified: modified)
        return changes.limited(
            to: limit, oldCount: oldCount, newCount: rows.count, keyAtNew: rows.key)
    }
}

/// The empty rows of a query whose class, list or links are not in the schema.
struct EmptyRows: ObservedRows {
    var count: Int { 0 }

    mutating func advance(along step: VersionStep, modified: KeySet) -> CollectionChangeSet {
        CollectionChangeSet()
    }
}
