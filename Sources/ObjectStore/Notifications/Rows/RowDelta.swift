import ColumnStorage

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
