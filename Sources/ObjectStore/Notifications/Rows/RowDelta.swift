import ColumnStorage

/// Which rows a step brought, took and touched, whatever their order.
struct RowDelta {
    /// Rows that are no longer members.
    var left: [ObjectKey] = []
    /// Rows that have become members.
    var entered: [ObjectKey] = []
    /// Members before and after the step whose position may have changed.
    var stayed: [ObjectKey] = []

    /// All of them.
    var rows: KeySet {
        var rows = KeySet(unordered: left)
        rows.formUnion(KeySet(unordered: entered))
        rows.formUnion(KeySet(unordered: stayed))
        return rows
    }

    var isEmpty: Bool { left.isEmpty && entered.isEmpty && stayed.isEmpty }

    /// Adds a touched row by whether it was a member and is one.
    mutating func add(_ row: ObjectKey, was wasMember: Bool, is isMember: Bool) {
        switch (wasMember, isMember) {
        case (true, false): left.append(row)
        case (false, true): entered.append(row)
        case (true, true): stayed.append(row)
        case (false, false): break
        }
    }
}
