import ColumnStorage
import SystemCalls

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
    /// The dependencies under which each observer is registered, by its number.
    private var filed: [Int: ObserverInterests] = [:]

    /// Whether the index has no entries.
    var isEmpty: Bool { tables.isEmpty && filed.isEmpty }

    /// Registers an observer under its present dependencies, instead of its earlier ones.
    mutating func file(_ observer: Observer) {
        remove(observer)
        let (number, interests) = (observer.number, observer.interests)
        filed[number] = interests
        for table in interests.membership { entry(table).membership[number] = observer }
        for table in interests.tables { entry(table).everything[number] = observer }
        for column in interests.columns {
            entry(column.table).columns[column.column, default: [:]][number] = observer
        }
        for row in interests.rows {
            entry(row.table).rows[row.key, default: [:]][number] = observer
        }
    }

    /// Removes the entries of an observer, if it has any.
    mutating func remove(_ observer: Observer) {
        let number = observer.number
        guard let interests = filed.removeValue(forKey: number) else { return }
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
        let created = Table()
        tables[table] = created
        return created
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
        let sets = [changed.inserted, changed.deleted] + changed.modified.values
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
        assert(observer.trackedIndex == nil, "the observer is not in the collection")
        observer.trackedIndex = observers.count
        observers.append(observer)
    }

    /// Removes an observer, if it is in the collection; the last one takes its position.
    mutating func remove(_ observer: Observer) {
        guard let index = observer.trackedIndex else { return }
        assert(observers[index] === observer, "the observer is at its position")
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

    /// Rows of which every change, the deletion and the insertion by an undo matter.
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

/// The versions that observers still need, in ascending order.
///
/// If no observer is delayed, there is only one version; otherwise there are a few. A linear search therefore costs
/// less than a hash table.
struct PendingVersions {
    private struct Entry {
        let version: UInt64
        /// The number of observers that still need the version.
        var observers = 0
        /// The view of the version; nil until the store has left it.
        var view: StoreView?
        /// The step from the version to the current one, once it was computed.
        var step: VersionStep?
    }

    private var entries: [Entry] = []

    /// The number of versions that are kept, or will be kept when the store leaves them.
    var count: Int { entries.count }

    private func index(of version: UInt64) -> Int? {
        entries.firstIndex { $0.version == version }
    }

    /// Returns the oldest readable version that is not older than the given one.
    func firstReadable(from version: UInt64) -> UInt64? {
        entries.first { $0.version >= version && $0.view != nil }?.version
    }

    /// Returns the view of a version; nil if no observer needs the version.
    func view(of version: UInt64) -> StoreView? { index(of: version).flatMap { entries[$0].view } }

    func step(from version: UInt64) -> VersionStep? {
        index(of: version).flatMap { entries[$0].step }
    }

    /// Adds an observer that needs a version.
    mutating func enter(_ version: UInt64) {
        if let index = index(of: version) {
            entries[index].observers += 1
        } else {
            let entry = Entry(version: version, observers: 1)
            guard let last = entries.last, last.version > version else {
                return entries.append(entry)
            }
            entries.insert(entry, at: entries.firstIndex { $0.version > version } ?? 0)
        }
    }

    /// Removes an observer from a version, and removes the version with its last observer.
    mutating func leave(_ version: UInt64) {
        guard let index = index(of: version) else { return }
        assert(entries[index].observers > 0, "an observer needs each version")
        entries[index].observers -= 1
        guard entries[index].observers == 0 else { return }
        if index == entries.count - 1 { entries.removeLast() } else { entries.remove(at: index) }
    }

    /// Keeps a version that the store has left, if an observer needs it.
    mutating func keep(_ view: StoreView) {
        assert(
            zip(entries, entries.dropFirst()).allSatisfy { $0.version < $1.version },
            "the versions ascend")
        if let index = index(of: view.version) { entries[index].view = view }
    }

    /// Keeps the step from a version to the current one.
    mutating func keep(_ step: VersionStep) {
        if let index = index(of: step.old.version) { entries[index].step = step }
    }

    /// Removes all steps, because the current version has changed.
    mutating func forgetSteps() {
        for index in entries.indices { entries[index].step = nil }
    }

    mutating func removeAll() { entries = [] }
}

/// Measures elapsed time.
struct Stopwatch {
    private let start = MonotonicClock.nanoseconds

    /// The microseconds since the stopwatch was created.
    var microseconds: Double { Double(MonotonicClock.nanoseconds - start) / 1000 }
}
