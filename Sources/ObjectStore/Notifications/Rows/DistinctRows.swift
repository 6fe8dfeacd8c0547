import ColumnStorage

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
        let interruption = Interruption.current
        var lists: [[Scalar]: [CodedKey]] = [:]
        for row in rows {
            try interruption?.step()
            lists[try values(row.key), default: []].append(row)
        }
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
        func note(_ values: [Scalar]) {
            if firstBefore[values] == nil { firstBefore[values] = .some(groups[values]?.first) }
        }
        for key in delta.left + delta.stayed {
            let values = try oldValues(key)
            note(values)
            guard let position = try groups[values]?.position(of: key, by: before) else { continue }
            groups[values]?.remove(at: position)
        }
        for key in delta.stayed + delta.entered {
            let values = try newValues(key)
            note(values)
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
