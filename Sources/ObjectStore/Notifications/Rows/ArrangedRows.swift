import ColumnStorage

/// The members of an observed query in its order, each combination of values once if it says so.
struct ArrangedRows {
    private let rules: RowRules
    private var members: KeyBitmap
    private var distincts: [DistinctRows]
    private var ordered: OrderedKeys

    /// Takes the members, and again as ``RowRules/membersInFirstOrder`` lists them.
    init(_ rules: RowRules, _ members: KeyBitmap, inOrder rows: [CodedKey], _ reader: RowReader) {
        self.rules = rules
        self.members = members
        distincts = []
        var rows = rows
        for (index, distinct) in rules.distincts.enumerated() {
            if index > 0 { rows = reader.order(distinct.order).sorted(rows.map(\.key)) }
            let remembered = DistinctRows(distinct, inOrder: rows, reader)
            rows = remembered.first(of: rows, reader)
            distincts.append(remembered)
        }
        if !rules.distincts.isEmpty { rows = reader.order(rules.order).sorted(rows.map(\.key)) }
        ordered = OrderedKeys(inOrder: rows)
    }

    var count: Int { ordered.keys.count }

    /// The row at a position below `count`.
    func row(at position: Int) -> ObjectKey { ordered.keys.key(at: position) }

    /// All rows, in order.
    func rows() -> [ObjectKey] { ordered.keys.keys() }

    func isMember(_ row: ObjectKey) -> Bool { members.contains(row) }

    /// Advances along a step that did `delta` to the members; `modified` are reported if they are rows.
    mutating func change(
        _ delta: RowDelta, modified: KeySet, before: RowReader, after: RowReader
    ) -> CollectionChangeSet {
        var delta = delta
        for row in delta.left { members.remove(row) }
        for row in delta.entered { members.insert(row) }
        for index in distincts.indices {
            delta = distincts[index].advance(delta, before: before, after: after)
        }
        if delta.isEmpty, modified.isEmpty { return CollectionChangeSet() }
        return ordered.change(
            delta, modified: modified, before: before.order(rules.order),
            after: after.order(rules.order))
    }
}
