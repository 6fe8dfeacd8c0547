import ColumnStorage

/// The members of an observed query in its order; with `distinct`, only the first of each combination of values.
struct ArrangedRows {
    private let rules: RowRules
    private var members: KeyBitmap
    private var distincts: [DistinctRows]
    private var ordered: OrderedKeys

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
        ordered = OrderedKeys(inOrder: rows)
    }

    var count: Int { ordered.keys.count }

    /// Returns the row at a position below `count`.
    func row(at position: Int) -> ObjectKey { ordered.keys.key(at: position) }

    /// Returns all rows in order.
    func rows() -> [ObjectKey] { ordered.keys.keys() }

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
