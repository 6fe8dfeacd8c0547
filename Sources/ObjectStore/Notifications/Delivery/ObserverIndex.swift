import ColumnStorage

/// Finds the observers that a commit affects without visiting the others.
///
/// Observers are registered under their dependencies. A lookup takes time in proportion to the changed tables, columns
/// and rows, and to the observers found.
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

    /// Whether the index has no entries.
    var isEmpty: Bool { tables.isEmpty }

    /// Registers an observer under its dependencies.
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

    /// Removes the entries of an observer.
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

    /// Calls `body` with every observer that depends on some change, possibly more than once.
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

    /// Calls `body` for the changed rows that are observed; iterates over the smaller of the two sets.
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
