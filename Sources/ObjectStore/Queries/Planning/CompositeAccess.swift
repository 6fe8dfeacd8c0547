import ColumnStorage

/// The lookup in a composite index for a conjunction: values for its first columns and optionally a range for the next.
struct CompositeAccess {
    /// The number of the index in the table.
    let index: Int
    let columns: [ColumnID]
    let range: CompositeRange

    /// The number of columns with a fixed value.
    var equalCount: Int { range.equal.count }

    /// Whether the column after the fixed ones is limited to a range.
    var hasRange: Bool { range.lower != nil || range.upper != nil }

    /// Returns the best lookup in a table's composite indexes; nil if no index covers two conditions.
    static func find(_ conjuncts: [any PredicateNode], _ rows: TableReader) -> CompositeAccess? {
        guard !rows.definition.compositeIndexes.isEmpty else { return nil }
        var conditions: [ColumnID: ColumnCondition] = [:]
        for case let node as ColumnNode in conjuncts {
            conditions[node.source.column, default: ColumnCondition()].add(node.test)
        }
        var best: CompositeAccess?
        for index in rows.definition.compositeIndexes {
            guard let access = CompositeAccess(index, conditions) else { continue }
            if let found = best, found.weight >= access.weight { continue }
            best = access
        }
        return best
    }

    private var weight: Int { 2 * equalCount + (hasRange ? 1 : 0) }

    private init?(
        _ definition: CompositeIndexDefinition, _ conditions: [ColumnID: ColumnCondition]
    ) {
        var range = CompositeRange(equal: [])
        for column in definition.columns {
            guard let condition = conditions[column] else { break }
            guard let value = condition.equal else {
                range.lower = condition.lower
                range.upper = condition.upper
                break
            }
            range.equal.append(value)
        }
        index = definition.id
        columns = definition.columns
        self.range = range
        // For fewer conditions, an index of one column is as good.
        guard equalCount + (hasRange ? 1 : 0) >= 2 else { return nil }
    }

    /// Returns the rows in the index range, ascending and without duplicates.
    func candidates(_ rows: TableReader) throws -> [ObjectKey]? {
        try rows.keys(composite: index, range)?.sorted()
    }
}
