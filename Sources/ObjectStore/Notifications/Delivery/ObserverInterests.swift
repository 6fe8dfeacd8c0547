import ColumnStorage

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
