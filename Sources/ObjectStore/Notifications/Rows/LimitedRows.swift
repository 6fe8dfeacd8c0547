import ColumnStorage

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
