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

/// The observers that have pending changes, or may have some.
///
/// Each observer stores its position in the array, so adding and removing one takes constant time.
struct TrackedObservers {
    private var observers: [Observer] = []

    var isEmpty: Bool { observers.isEmpty }

    /// All observers, in the order of their registration.
    var inOrder: [Observer] {
        // Usually there is one observer; sorting would copy the array.
        observers.count == 1 ? observers : observers.sorted { $0.number < $1.number }
    }

    /// Returns whether an observer satisfies a condition.
    func contains(where isMeant: (Observer) -> Bool) -> Bool { observers.contains(where: isMeant) }

    /// Adds an observer that is not in the collection.
    mutating func insert(_ observer: Observer) {
        observer.trackedIndex = observers.count
        observers.append(observer)
    }

    /// Removes an observer, if it is in the collection; the last one takes its position.
    mutating func remove(_ observer: Observer) {
        guard let index = observer.trackedIndex else { return }
        observer.trackedIndex = nil
        let last = observers.removeLast()
        guard last !== observer else { return }
        last.trackedIndex = index
        observers[index] = last
    }
}

/// The parts of a store that an observer depends on: a commit that changes none of them is not reported.
struct ObserverInterests {
    /// A column of every row of a table.
    struct Column: Hashable {
        var table: TableID
        var column: ColumnID
    }

    /// Rows of which every change and the deletion matter.
    private(set) var rows: Set<ObjectReference> = []
    /// Tables in which insertions and deletions of rows matter.
    private(set) var membership: Set<TableID> = []
    /// Columns that matter in every row.
    private(set) var columns: Set<Column> = []
    /// Tables in which every column matters.
    private(set) var tables: Set<TableID> = []

    /// Adds every change and the deletion of one row.
    mutating func add(row: ObjectReference) {
        rows.insert(row)
    }

    /// Adds the insertions and deletions of a table's rows.
    mutating func add(membershipOf table: TableID) {
        membership.insert(table)
    }

    /// Adds every column of a table.
    mutating func add(everythingOf table: TableID) {
        tables.insert(table)
    }

    /// Adds a column of a table.
    mutating func add(column: ColumnID, of table: TableID) {
        columns.insert(Column(table: table, column: column))
    }

    /// Adds the dependencies of another observer.
    mutating func formUnion(_ other: ObserverInterests) {
        rows.formUnion(other.rows)
        membership.formUnion(other.membership)
        columns.formUnion(other.columns)
        tables.formUnion(other.tables)
    }

    /// Adds the dependencies of a graph; its root is only one row if `root` is not nil.
    mutating func add(_ graph: WatchGraph, root: ObjectReference? = nil) {
        for (index, node) in graph.nodes.enumerated() {
            if index == 0, let root {
                rows.insert(root)
            } else if let watched = node.columns {
                for column in watched { add(column: column, of: node.table) }
            } else {
                tables.insert(node.table)
            }
            for backlinks in node.backlinks {
                membership.insert(backlinks.table)
                add(column: backlinks.column, of: backlinks.table)
            }
        }
    }

    /// Adds the dependencies of some paths; their root is only one row if `root` is not nil.
    mutating func add(_ paths: WatchedPaths, root: ObjectReference? = nil) {
        for graph in paths.graphs { add(graph, root: root) }
    }

    /// Adds the rows of a query, and the properties of them that a filter selects.
    mutating func add(_ query: Query, _ filter: KeyPathFilter?, schema: Schema) {
        if let owner = query.owner(in: schema) { add(row: owner) }
        switch query.base {
        case .table(let table):
            add(membershipOf: table)
        case .list:
            break
        case .backlinks(let table, let column, _):
            add(membershipOf: table)
            add(column: column, of: table)
        }
        add(WatchGraph(query.dependencies, of: query.table))
        if let filter { add(filter.watched) }
    }

    /// Returns the dependencies with the names of a schema, in alphabetical order.
    ///
    /// The names are `Dog` for created and deleted objects, `Dog.age` for a property, `Dog.*` for every property, and
    /// `a Dog` for one object.
    func names(in schema: Schema) -> [String] {
        func name(_ table: TableID) -> String { schema.find(table: table)?.name ?? "?" }
        var names = Set(membership.map(name))
        names.formUnion(tables.map { name($0) + ".*" })
        names.formUnion(rows.map { "a \(name($0.table))" })
        for column in columns where !tables.contains(column.table) {
            let property = schema.find(table: column.table)?.property(in: column.column)
            names.insert("\(name(column.table)).\(property?.name ?? "?")")
        }
        return names.sorted()
    }
}
