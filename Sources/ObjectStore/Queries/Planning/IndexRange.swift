import ColumnStorage

/// Finds one or two conditions that limit an indexed column to a range with few rows.
enum IndexRange {
    /// Returns the range with the fewest rows; nil if no range has few enough rows for an index lookup.
    static func find(
        _ conjuncts: [any PredicateNode], _ rows: TableReader
    ) throws -> (column: ColumnID, access: IndexAccess)? {
        var conditions: [ColumnID: ColumnCondition] = [:]
        for case let node as ColumnNode in conjuncts {
            let column = node.source.column
            guard rows.definition.columns.indices.contains(column.rawValue),
                rows.definition.columns[column.rawValue].index != .none
            else { continue }
            conditions[column, default: ColumnCondition()].add(node.test)
        }
        var best: (column: ColumnID, access: IndexAccess)?
        for (column, condition) in conditions {
            guard let found = try range(column, condition, rows) else { continue }
            if let known = best, known.access.count <= found.count { continue }
            best = (column, found)
        }
        return best
    }

    private static func range(
        _ column: ColumnID, _ condition: ColumnCondition, _ rows: TableReader
    ) throws -> IndexAccess? {
        let words = "reads a range of values from the index"
        switch rows.definition.columns[column.rawValue].kind {
        case .int:
            guard let (low, high) = condition.ints else { return nil }
            // A scan tests several hundred integers in the time that an index takes for one row.
            let most = max(16, rows.count / 256)
            return try rows.count(column, from: low, through: high, atMost: most)
                .map { count in
                    IndexAccess(count: count, words: words) {
                        try rows.keys(column, from: low, through: high)
                    }
                }
        case .string, .bytes12, .bytes16:
            guard let (from, below) = condition.bytes else { return nil }
            let most = max(16, rows.count / 16)
            return try rows.count(column, from: from, below: below, atMost: most)
                .map { count in
                    IndexAccess(count: count, words: words) {
                        try rows.keys(column, from: from, below: below) ?? []
                    }
                }
        default: return nil
        }
    }
}

/// The values of one column that its conditions allow.
struct ColumnCondition {
    private(set) var equal: IndexValue?
    private(set) var lower: CompositeRange.Bound?
    private(set) var upper: CompositeRange.Bound?
    private var prefix: [UInt8]?

    /// Adds a condition; the test of each row evaluates conditions that define no range.
    mutating func add(_ test: ValueTest) {
        guard !test.matchesNull else {
            if case .never = test.form { equal = .null }
            return
        }
        switch test.form {
        case .bool(let flag): equal = .int(flag ? 1 : 0)
        case .int(let comparison, let value): add(comparison, .int(value))
        case .intBetween(let low, let high):
            add(.greaterOrEqual, .int(low))
            add(.lessOrEqual, .int(high))
        case .intIn(let values) where values.count == 1: equal = .int(values.values[0])
        case .double(let comparison, let value): add(comparison, .double(value))
        case .doubleBetween(let low, let high):
            add(.greaterOrEqual, .double(low))
            add(.lessOrEqual, .double(high))
        case .bytes(.compare(let comparison, let bytes)): add(comparison, .bytes(bytes))
        case .bytes(.beginsWith(let bytes)): prefix = bytes
        case .links(let keys) where keys.count == 1: equal = .int(keys.values[0])
        default: break
        }
    }

    private mutating func add(_ comparison: Comparison, _ value: IndexValue) {
        switch comparison {
        case .equal: equal = value
        case .less: upper = upper ?? .init(value, isIncluded: false)
        case .lessOrEqual: upper = upper ?? .init(value, isIncluded: true)
        case .greater: lower = lower ?? .init(value, isIncluded: false)
        case .greaterOrEqual: lower = lower ?? .init(value, isIncluded: true)
        case .notEqual: break
        }
    }

    /// The range of a column of integers; nil if it is unlimited.
    var ints: (low: Int64, high: Int64)? {
        guard lower != nil || upper != nil else { return nil }
        var low = Int64.min
        var high = Int64.max
        if let lower, case .int(let value) = lower.value {
            if !lower.isIncluded, value == .max { return (1, 0) }
            low = lower.isIncluded ? value : value + 1
        }
        if let upper, case .int(let value) = upper.value {
            if !upper.isIncluded, value == .min { return (1, 0) }
            high = upper.isIncluded ? value : value - 1
        }
        return (low, high)
    }

    /// The range of a column of bytes; nil if it is unlimited.
    var bytes: (from: [UInt8], below: [UInt8]?)? {
        if let prefix, !prefix.isEmpty { return (prefix, Self.successor(prefix)) }
        guard lower != nil || upper != nil else { return nil }
        var from: [UInt8] = []
        var below: [UInt8]?
        if let lower, case .bytes(let value) = lower.value {
            from = lower.isIncluded ? value : value + [0]
        }
        if let upper, case .bytes(let value) = upper.value {
            below = upper.isIncluded ? value + [0] : value
        }
        return (from, below)
    }

    /// Returns the least byte string that is greater than all byte strings with a prefix; nil if there is none.
    private static func successor(_ prefix: [UInt8]) -> [UInt8]? {
        var bytes = prefix
        while let last = bytes.popLast() {
            if last < 255 { return bytes + [last + 1] }
        }
        return nil
    }
}
