import ColumnStorage

/// Finds the observers that a commit concerns without asking the others.
///
/// Observers are filed under what they depend on; a commit costs the tables, columns and rows that
/// it has changed, and the observers found there.
struct ObserverIndex {
    private typealias Bucket = [Int: Observer]

    private final class Table {
        var membership: Bucket = [:]
        var everything: Bucket = [:]
        var columns: SortedMap<ColumnID, Bucket> = SortedMap()
        var rows: [ObjectKey: Bucket] = [:]

        var isEmpty: Bool {
            membership.isEmpty && everything.isEmpty && columns.isEmpty && rows.isEmpty
        }
    }

    private var tables: SortedMap<TableID, Table> = SortedMap()

    /// Whether no observer depends on anything.
    var isEmpty: Bool { tables.isEmpty }

    /// Files an observer under what it depends on.
    mutating func add(_ observer: Observer, _ interests: ObserverInterests) {
        let number = observer.number
        for table in interests.membership { entry(table).membership[number] = observer }
        for table in interests.tables { entry(table).everything[number] = observer }
        for column in interests.columns {
            entry(column.table).columns[column.column, default: [:]][number] = observer
        }
        for row in interests.rows {
            entry(row.table).rows[row.key, default: [:]][number] = observer
        }
    }

    /// Takes an observer out of where it was filed.
    mutating func remove(_ observer: Observer, _ interests: ObserverInterests) {
        let number = observer.number
        var touched = interests.membership.union(interests.tables)
        for table in interests.membership { tables[table]?.membership[number] = nil }
        for table in interests.tables { tables[table]?.everything[number] = nil }
        for column in interests.columns {
            touched.insert(column.table)
            guard let table = tables[column.table] else { continue }
            table.columns[column.column, default: [:]][number] = nil
            if table.columns[column.column]?.isEmpty == true {
                table.columns[column.column] = nil
            }
        }
        for row in interests.rows {
            touched.insert(row.table)
            tables[row.table]?.rows[row.key]?[number] = nil
            if tables[row.table]?.rows[row.key]?.isEmpty == true {
                tables[row.table]?.rows[row.key] = nil
            }
        }
        for table in touched where tables[table]?.isEmpty == true { tables[table] = nil }
    }

    private mutating func entry(_ table: TableID) -> Table {
        if let known = tables[table] { return known }
        let made = Table()
        tables[table] = made
        return made
    }

    /// Calls `body` with every observer that depends on something that was changed, perhaps more
    /// than once.
    func forEachConcerned(by changes: ChangeSet, _ body: (Observer) -> Void) {
        for (table, changed) in changes.tables {
            guard let entry = tables[table] else { continue }
            if !changed.inserted.isEmpty || !changed.deleted.isEmpty {
                entry.membership.values.forEach(body)
            }
            var isModified = false
            for (column, keys) in changed.modified where !keys.isEmpty {
                isModified = true
                entry.columns[column]?.values.forEach(body)
            }
            if isModified { entry.everything.values.forEach(body) }
            if !entry.rows.isEmpty { Self.forEachRow(of: entry, changed, body) }
        }
    }

    /// Looks at the changed rows or at the observed ones, whichever are fewer.
    private static func forEachRow(
        of entry: Table, _ changed: TableChanges, _ body: (Observer) -> Void
    ) {
        let sets = [changed.deleted] + changed.modified.values
        if sets.reduce(0, { $0 + $1.count }) <= entry.rows.count {
            for keys in sets {
                for key in keys { entry.rows[key]?.values.forEach(body) }
            }
        } else {
            for (key, bucket) in entry.rows where sets.contains(where: { $0.contains(key) }) {
                bucket.values.forEach(body)
            }
        }
    }
}
