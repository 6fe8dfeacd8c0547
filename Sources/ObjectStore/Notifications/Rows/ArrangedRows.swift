import ColumnStorage

/// The members of an observed query in its order; with `distinct`, only the first of each combination of values.
struct ArrangedRows {
    private let rules: RowRules
    private var members: KeyBitmap
    private var distincts: [DistinctRows]
    private var ordered: SortedKeys

    /// Creates the rows from the members as a set, and as a sequence in the order of ``RowRules/membersInFirstOrder``.
    init(_ rules: RowRules, _ members: KeyBitmap, inOrder rows: [CodedKey], _ reader: RowReader)
        throws
    {
        self.rules = rules
        self.members = members
        distincts = []
        var rows = rows
        for (index, distinct) in rules.distincts.enumerated() {
            if index > 0 { rows = try reader.order(distinct.order).sorted(rows.map(\.key)) }
            let remembered = try DistinctRows(distinct, inOrder: rows, reader)
            rows = try remembered.first(of: rows, reader)
            distincts.append(remembered)
        }
        if !rules.distincts.isEmpty { rows = try reader.order(rules.order).sorted(rows.map(\.key)) }
        ordered = SortedKeys(inOrder: rows)
    }

    var count: Int { ordered.count }

    /// Returns the row at a position below `count`.
    func row(at position: Int) -> ObjectKey { ordered.key(at: position) }

    /// Returns all rows in order.
    func rows() -> [ObjectKey] { ordered.keys() }

    func isMember(_ row: ObjectKey) -> Bool { members.contains(row) }

    /// Updates the rows for a step.
    ///
    /// `delta` is the effect of the step on the members; rows in `modified` are reported.
    mutating func change(
        _ delta: RowDelta, modified: KeySet, before: RowReader, after: RowReader
    ) throws -> CollectionChangeSet {
        var delta = delta
        for row in delta.left { members.remove(row) }
        for row in delta.entered { members.insert(row) }
        for index in distincts.indices {
            delta = try distincts[index].advance(delta, before: before, after: after)
        }
        if delta.isEmpty, modified.isEmpty { return CollectionChangeSet() }
        return try ordered.change(
            delta, modified: modified, before: before.order(rules.order),
            after: after.order(rules.order))
    }
}

/// The first row of each combination of values, updated row by row.
///
/// All rows of each combination are kept in order, so the next row is known when the first one leaves.
struct DistinctRows {
    private let distinct: RowRules.Distinct
    private var groups: [[Scalar]: SortedKeys]

    /// Creates the state from all rows in order.
    init(_ distinct: RowRules.Distinct, inOrder rows: [CodedKey], _ reader: RowReader) throws {
        self.distinct = distinct
        let values = try reader.values(distinct.keys)
        var lists: [[Scalar]: [CodedKey]] = [:]
        for row in rows { lists[try values(row.key), default: []].append(row) }
        groups = lists.mapValues(SortedKeys.init(inOrder:))
    }

    /// Returns the rows that are the first of their values; `rows` are all rows in order.
    func first(of rows: [CodedKey], _ reader: RowReader) throws -> [CodedKey] {
        let values = try reader.values(distinct.keys)
        return try rows.filter { try groups[values($0.key)]?.first == $0.key }
    }

    /// Converts changes of all rows to changes of the first rows.
    mutating func advance(
        _ delta: RowDelta, before old: RowReader, after new: RowReader
    ) throws -> RowDelta {
        guard !delta.isEmpty else { return delta }
        let oldValues = try old.values(distinct.keys)
        let newValues = try new.values(distinct.keys)
        let before = try old.order(distinct.order)
        let after = try new.order(distinct.order)
        var firstBefore: [[Scalar]: ObjectKey?] = [:]
        func record(_ values: [Scalar]) {
            if firstBefore[values] == nil { firstBefore[values] = .some(groups[values]?.first) }
        }
        for key in delta.left + delta.stayed {
            let values = try oldValues(key)
            record(values)
            guard let position = try groups[values]?.position(of: key, by: before) else { continue }
            groups[values]?.remove(at: position)
        }
        for key in delta.stayed + delta.entered {
            let values = try newValues(key)
            record(values)
            try groups[values, default: SortedKeys()].insert(key, by: after)
        }
        var left: Set<ObjectKey> = []
        var entered: Set<ObjectKey> = []
        var stayed: Set<ObjectKey> = []
        let touched = Set(delta.stayed)
        for (values, old) in firstBefore {
            if groups[values]?.count == 0 { groups[values] = nil }
            let new = groups[values]?.first
            if old == new {
                if let new, touched.contains(new) { stayed.insert(new) }
            } else {
                if let old { left.insert(old) }
                if let new { entered.insert(new) }
            }
        }
        // A row that was the first of its old values may also be the first of its new values.
        stayed.formUnion(left.intersection(entered))
        return RowDelta(
            left: left.subtracting(stayed).sorted(), entered: entered.subtracting(stayed).sorted(),
            stayed: stayed.sorted())
    }
}

/// The first rows of a sorted query, kept with a reserve of some more rows.
///
/// Rows of the reserve replace rows that leave. When the reserve is empty, the query runs again, at the earliest after
/// as many rows have left as the full reserve contains.
struct TopKRows: OrderedRows {
    private let rules: RowRules
    private let limit: Int
    private let maximum: Int
    private var ordered: SortedKeys
    /// Whether the rows and the reserve include all members.
    private var isWhole: Bool

    init(_ rules: RowRules, _ limit: Int, in view: StoreView) throws {
        self.rules = rules
        self.limit = limit
        maximum = limit + Self.reserve(limit)
        (ordered, isWhole) = try Self.run(rules, maximum, in: view)
    }

    private static func run(
        _ rules: RowRules, _ maximum: Int, in view: StoreView
    ) throws -> (SortedKeys, Bool) {
        let query = rules.members.adding(.sort(rules.order)).adding(.limit(maximum))
        let keys = try QueryEvaluator.keys(of: query, in: view).array
        let order = try RowReader(view).order(rules.order)
        return try (SortedKeys(inOrder: keys.map(order.coded)), keys.count < maximum)
    }

    var count: Int { min(limit, ordered.count) }

    func key(at position: Int) -> ObjectKey { ordered.key(at: position) }

    /// Returns the number of rows that are kept after a limit.
    static func reserve(_ limit: Int) -> Int {
        limit > Int.max / 2 ? Int.max - limit : limit / 2 + 256
    }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        let before = try RowReader(step.old).order(rules.order)
        let after = try RowReader(step.new).order(rules.order)
        let oldCount = ordered.count
        let kept = ordered
        let shown = try rules.delta(along: step) { try kept.position(of: $0, by: before) != nil }
        let delta = try isWhole ? shown : within(shown, after)
        let left = oldCount - delta.left.count + delta.entered.count
        if !isWhole, left < limit { return try runAgain(step, modified) }
        let changes = try ordered.change(delta, modified: modified, before: before, after: after)
            .limited(
                to: limit, oldCount: oldCount, newCount: ordered.count,
                keyAtNew: ordered.key)
        if ordered.count / 2 > maximum {
            ordered.removeAll(from: maximum)
            isWhole = false
        }
        return changes
    }

    /// Limits a delta to the touched rows before the last untouched row, because the rows after it are not known
    /// completely.
    private func within(_ delta: RowDelta, _ after: CodedOrder) throws -> RowDelta {
        let touched = KeySet(unordered: delta.left + delta.stayed)
        var last = ordered.count - 1
        while last >= 0, touched.contains(ordered.key(at: last)) { last -= 1 }
        guard last >= 0 else {
            return RowDelta(left: delta.left + delta.stayed)
        }
        let bound = ordered.key(at: last)
        var result = RowDelta(left: delta.left)
        for key in delta.stayed {
            if try after.precedes(key, bound) {
                result.stayed.append(key)
            } else {
                result.left.append(key)
            }
        }
        result.entered = try delta.entered.filter { try after.precedes($0, bound) }
        return result
    }

    private mutating func runAgain(_ step: VersionStep, _ modified: KeySet) throws
        -> CollectionChangeSet
    {
        let before = (0..<count).map(ordered.key)
        (ordered, isWhole) = try Self.run(rules, maximum, in: step.new)
        let after = (0..<count).map(ordered.key)
        return SequenceDifference.changes(from: before, to: after, isTouched: modified.contains)
    }
}

extension SortedKeys {
    /// Updates the keys for a step, and returns the changed positions.
    ///
    /// `delta` is the effect of the step on the rows; keys in `modified` are reported if they are members.
    mutating func change(
        _ delta: RowDelta, modified: KeySet, before: CodedOrder, after: CodedOrder
    ) throws -> CollectionChangeSet {
        let oldCount = count
        var positions = TouchedPositions()
        var taken: [Int] = []
        for key in delta.left {
            guard let old = try position(of: key, by: before) else { continue }
            positions.leaving.append((key, old))
            taken.append(old)
        }
        for key in delta.stayed {
            guard let old = try position(of: key, by: before) else { continue }
            positions.staying.append(
                .init(key: key, old: old, new: 0, isModified: modified.contains(key)))
            taken.append(old)
        }
        let moving = positions.staying.indices
        // Rows whose position cannot have changed keep their order.
        for key in modified.subtracting(delta.rows) {
            guard let old = try position(of: key, by: before) else { continue }
            positions.staying.append(.init(key: key, old: old, new: 0, isModified: true))
        }

        taken.sort(by: >)
        for position in taken { remove(at: position) }
        // Only the last inserted row has its final position; the next insertions may move the others.
        var last: (key: ObjectKey, position: Int)?
        for index in moving {
            let key = positions.staying[index].key
            last = try (key, insert(key, by: after))
        }
        for key in delta.entered { last = try (key, insert(key, by: after)) }
        func newPosition(of key: ObjectKey) throws -> Int? {
            if let last, last.key == key { return last.position }
            return try position(of: key, by: after)
        }
        for index in positions.staying.indices {
            // Every member has a position, unless the order is inconsistent.
            positions.staying[index].new =
                try newPosition(of: positions.staying[index].key) ?? positions.staying[index].old
        }
        positions.entering = try delta.entered.compactMap { key in
            try newPosition(of: key).map { (key, $0) }
        }
        return positions.changes(oldCount: oldCount, keyAtNew: key(at:))
    }

    /// Removes the rows from a position on.
    mutating func removeAll(from position: Int) {
        while count > position { remove(at: count - 1) }
    }
}
