import ColumnStorage

/// The parts of a store that an observer depends on: a commit that changes none of them is not reported.
struct ObserverInterests {
    /// A column of every row of a table.
    struct Column: Hashable {
        var table: TableID
        var column: ColumnID
    }

    /// These rows, whatever becomes of them.
    private(set) var rows: Set<ObjectReference> = []
    /// Tables whose rows come and go.
    private(set) var membership: Set<TableID> = []
    /// Columns, in whatever row.
    private(set) var columns: Set<Column> = []
    /// Tables of which every column counts.
    private(set) var tables: Set<TableID> = []

    /// Depends on all that becomes of one row.
    mutating func add(row: ObjectReference) {
        rows.insert(row)
    }

    /// Depends on which rows a table has.
    mutating func add(membershipOf table: TableID) {
        membership.insert(table)
    }

    /// Depends on every column of a table.
    mutating func add(everythingOf table: TableID) {
        tables.insert(table)
    }

    /// Depends on a column.
    mutating func add(column: ColumnID, of table: TableID) {
        columns.insert(Column(table: table, column: column))
    }

    /// Depends on what others depend on as well.
    mutating func formUnion(_ other: ObserverInterests) {
        rows.formUnion(other.rows)
        membership.formUnion(other.membership)
        columns.formUnion(other.columns)
        tables.formUnion(other.tables)
    }

    /// Depends on what a graph watches; its root is only one row if `root` is given.
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

    /// Depends on the rows of a query, and on what a filter looks at in them.
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
        if let filter { add(filter.graph) }
    }

    /// The dependencies in the names of a schema: `Dog` for created and deleted objects, `Dog.age` for a property,
    /// `Dog.*` for every property, `a Dog` for one object; in alphabetical order.
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
