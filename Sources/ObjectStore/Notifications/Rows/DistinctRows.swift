import ColumnStorage

/// The first row of each combination of values, updated row by row.
///
/// All rows of each combination are kept in order, so the next row is known when the first one leaves.
struct DistinctRows {
    private let distinct: RowRules.Distinct
    private var groups: [[Scalar]: SortedKeys]
    /// The estimated memory of the groups, in bytes.
    private(set) var memory = 0

    /// A group's values and keys, in tables that are half full.
    private static let memoryOfGroup = 288
    private static let memoryOfRow = 48
    private static let step = 256 << 10

    /// Creates the state from all rows in order.
    init(_ distinct: RowRules.Distinct, inOrder rows: [CodedKey], _ reader: RowReader) {
        self.distinct = distinct
        let values = reader.values(distinct.keys)
        var working = WorkingMemory()
        var asked = 0
        var lists: [[Scalar]: [CodedKey]] = [:]
        for row in rows {
            let found = values(row.key)
            lists[found, default: []].append(row)
            guard working.isLimited else { continue }
            memory += Self.memoryOfRow
            if lists[found]?.count == 1 { memory += Self.memory(of: found) }
            // The lists and their groups exist at the same time.
            guard memory - asked >= Self.step else { continue }
            asked = memory
            if !working.grants(2 * memory) { break }
        }
        groups = lists.mapValues(SortedKeys.init(inOrder:))
    }

    private static func memory(of values: [Scalar]) -> Int {
        values.reduce(memoryOfGroup) { $0 + $1.textMemory }
    }

    /// Returns the rows that are the first of their values; `rows` are all rows in order.
    func first(of rows: [CodedKey], _ reader: RowReader) -> [CodedKey] {
        let values = reader.values(distinct.keys)
        return rows.filter { groups[values($0.key)]?.first == $0.key }
    }

    /// Converts changes of all rows to changes of the first rows.
    mutating func advance(
        _ delta: RowDelta, before old: RowReader, after new: RowReader
    ) -> RowDelta {
        guard !delta.isEmpty else { return delta }
        let oldValues = old.values(distinct.keys)
        let newValues = new.values(distinct.keys)
        let before = old.order(distinct.order)
        let after = new.order(distinct.order)
        var firstBefore: [[Scalar]: ObjectKey?] = [:]
        func note(_ values: [Scalar]) {
            if firstBefore[values] == nil { firstBefore[values] = .some(groups[values]?.first) }
        }
        for key in delta.left + delta.stayed {
            let values = oldValues(key)
            note(values)
            guard let position = groups[values]?.position(of: key, by: before) else { continue }
            groups[values]?.remove(at: position)
        }
        for key in delta.stayed + delta.entered {
            let values = newValues(key)
            note(values)
            groups[values, default: SortedKeys()].insert(key, by: after)
        }
        var left: Set<ObjectKey> = []
        var entered: Set<ObjectKey> = []
        var stayed: Set<ObjectKey> = []
        let touched = Set(delta.stayed)
        for (values, old) in firstBefore {
            if groups[values]?.count == 0 { groups[values] = nil }
            if (old == nil) != (groups[values] == nil) {
                memory += Self.memory(of: values) * (old == nil ? 1 : -1)
            }
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
