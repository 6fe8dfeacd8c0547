import ColumnStorage

/// The rows and columns that the observer of a row depends on, including those of linked objects.
///
/// The graph is a tree of tables: the root is the observed table, and each child is reached from its parent through a
/// link, a list or backlinks. To find the observed rows that a commit touches, the link indexes lead from the touched
/// rows of each node to the root. The cost depends on the touched rows and the objects that link to them.
struct WatchGraph: Sendable {
    /// The connection from a parent's rows to a child's rows.
    enum Edge: Hashable, Sendable {
        /// A link or list in this column of the parent's table.
        case link(ColumnID)
        /// The links inside the mixed values in this column of the parent's table.
        case mixed(ColumnID)
        /// The backlinks of a link or list in this column of the child's table.
        case backlink(ColumnID)
    }

    /// Backlinks for which a gained or lost link counts as a change of the row.
    struct Backlinks: Hashable, Sendable {
        var table: TableID
        var column: ColumnID
    }

    struct Node: Sendable {
        var table: TableID
        /// The columns whose changes matter; nil for all columns.
        var columns: Set<ColumnID>? = []
        var backlinks: [Backlinks] = []
        /// The nodes that lead to this node; parents precede their children.
        var parents: [Parent] = []
    }

    struct Parent: Sendable {
        var node: Int
        var edge: Edge
    }

    let nodes: [Node]

    /// All tables whose changes can matter.
    let tables: Set<TableID>

    private init(_ nodes: [Node]) {
        assert(!nodes.isEmpty, "the graph has a root")
        assert(
            nodes.indices.allSatisfy { index in
                nodes[index].parents.allSatisfy { $0.node < index }
            }, "parents precede their children")
        self.nodes = nodes
        tables = Set(nodes.flatMap { [$0.table] + $0.backlinks.map(\.table) })
    }

    /// Creates a graph that depends on no column of a table.
    init(nothingOf table: TableID) {
        self.init([Node(table: table)])
    }

    /// Creates a graph that depends on the steps of some paths of a class.
    init(_ paths: [PropertyPath], of table: TableID) {
        struct ChildKey: Hashable {
            var parent: Int
            var component: PropertyPath.Component
        }
        var nodes = [Node(table: table)]
        var children: [ChildKey: Int] = [:]
        for path in paths {
            var current = 0
            for (position, component) in path.components.enumerated() {
                if let origin = component.origin {
                    let backlinks = Backlinks(table: origin.table, column: origin.column)
                    if !nodes[current].backlinks.contains(backlinks) {
                        nodes[current].backlinks.append(backlinks)
                    }
                } else {
                    nodes[current].columns?.insert(component.property.column)
                }
                guard position + 1 < path.components.count, let target = component.target else {
                    break
                }
                let childKey = ChildKey(parent: current, component: component)
                if let child = children[childKey] {
                    current = child
                } else {
                    let column = component.property.column
                    let edge: Edge =
                        component.origin.map { .backlink($0.column) }
                        ?? (component.property.type == .mixed ? .mixed(column) : .link(column))
                    nodes.append(
                        Node(table: target, parents: [Parent(node: current, edge: edge)]))
                    current = nodes.count - 1
                    children[childKey] = current
                }
            }
        }
        self.init(nodes)
    }

    /// Creates a graph that depends on all columns of a table and of all linked objects.
    ///
    /// Links and lists are followed for at most `hops` steps.
    init(everythingFrom table: TableID, hops: Int = 3, schema: Schema) {
        self.init([Node(table: table, columns: nil)], level: [table: 0], hops: hops, schema: schema)
    }

    /// Creates a graph that depends on the objects that the links of one property lead to.
    ///
    /// Links are followed as far as for an observer without key paths.
    init(through property: Property, of source: ClassSchema, schema: Schema) {
        var nodes = [Node(table: source.table)]
        var level: [TableID: Int] = [:]
        for target in Self.targets(of: property, schema) {
            let edge: Edge =
                property.type == .mixed ? .mixed(property.column) : .link(property.column)
            level[target] = nodes.count
            nodes.append(
                Node(table: target, columns: nil, parents: [Parent(node: 0, edge: edge)]))
        }
        self.init(nodes, level: level, hops: 2, schema: schema)
    }

    private init(_ start: [Node], level last: [TableID: Int], hops: Int, schema: Schema) {
        var nodes = start
        var level = last
        for _ in 0..<hops {
            var next: [TableID: Int] = [:]
            for (source, parent) in level.sorted(by: { $0.value < $1.value }) {
                for property in schema.find(table: source)?.properties ?? []
                where property.type == .object || property.type == .mixed {
                    for target in Self.targets(of: property, schema) {
                        let child = next[target] ?? nodes.count
                        if child == nodes.count {
                            nodes.append(Node(table: target, columns: nil))
                            next[target] = child
                        }
                        let edge: Edge =
                            property.type == .mixed
                            ? .mixed(property.column) : .link(property.column)
                        nodes[child].parents.append(Parent(node: parent, edge: edge))
                    }
                }
            }
            level = next
        }
        self.init(nodes)
    }
}

extension WatchGraph {
    /// Returns the tables that a property's links may lead to; for mixed values all tables but those of embedded
    /// objects.
    private static func targets(of property: Property, _ schema: Schema) -> [TableID] {
        guard property.type == .mixed else {
            return schema.target(of: property).map { [$0.table] } ?? []
        }
        return schema.classes.filter { !$0.isEmbedded }.map(\.table)
    }

    /// Returns the rows of the root that a step touches.
    ///
    /// The result may contain rows that the step inserted, but not rows that it deleted.
    func touchedRows(in step: VersionStep) throws -> KeySet {
        if nodes.count == 1 { return try ownTouchedRows(of: nodes[0], in: step) }
        guard step.changes.tables.keys.contains(where: tables.contains) else { return KeySet() }
        return try touchedRowsOfNodes(in: step)[0]
    }

    /// Returns the rows of each node that a step touches, directly or through links.
    private func touchedRowsOfNodes(in step: VersionStep) throws -> [KeySet] {
        var touched = try nodes.map { try ownTouchedRows(of: $0, in: step) }
        for index in nodes.indices.dropFirst().reversed() where !touched[index].isEmpty {
            for parent in nodes[index].parents {
                let rows = try sources(of: touched[index], index, parent, in: step.new)
                touched[parent.node].formUnion(rows)
            }
        }
        return touched
    }

    /// Returns whether changes of a column can matter.
    func contains(_ column: ColumnID, of table: TableID) -> Bool {
        nodes.contains {
            $0.table == table && $0.columns?.contains(column) ?? true
                || $0.backlinks.contains(Backlinks(table: table, column: column))
        }
    }

    /// The columns of the root whose changes matter; nil for all columns.
    var ownColumns: Set<ColumnID>? { nodes[0].columns }

    /// Adds the objects and columns whose changes in a step touch some rows of the root, or with nil any row.
    func addCauses(
        of rows: KeySet?, in step: VersionStep, to causes: inout ChangeCauses
    ) throws {
        let touched = try touchedRowsOfNodes(in: step)
        var wanted = nodes.map { _ in KeySet() }
        wanted[0] = rows ?? touched[0]
        for (index, node) in nodes.enumerated() {
            for parent in node.parents where !wanted[parent.node].isEmpty {
                var found: [ObjectKey] = []
                for row in touched[index].prefix(10 * ChangeCauses.maxLinked)
                where try sources(of: KeySet(row), index, parent, in: step.new)
                    .intersects(wanted[parent.node])
                {
                    found.append(row)
                }
                wanted[index].formUnion(KeySet(unordered: found))
            }
            if !wanted[index].isEmpty { try addOwnCauses(of: node, wanted[index], step, &causes) }
        }
    }

    private func addOwnCauses(
        of node: Node, _ rows: KeySet, _ step: VersionStep, _ causes: inout ChangeCauses
    ) throws {
        for (column, keys) in step.changes(of: node.table)?.modified ?? [:]
        where node.columns?.contains(column) ?? true {
            for key in keys.intersection(rows) where !causes.isFull {
                causes.add(ObjectReference(table: node.table, key: key), column)
            }
        }
        for backlinks in node.backlinks {
            try step.forEachRelinking(backlinks, to: node.table) { source, targets in
                if !causes.isFull, targets.contains(where: rows.contains) {
                    causes.add(
                        ObjectReference(table: backlinks.table, key: source), backlinks.column)
                }
            }
        }
    }

    private func ownTouchedRows(of node: Node, in step: VersionStep) throws -> KeySet {
        var rows = KeySet()
        let changes = step.changes(of: node.table)
        if let changes {
            for (column, keys) in changes.modified where node.columns?.contains(column) ?? true {
                rows.formUnion(keys)
            }
        }
        for backlinks in node.backlinks {
            try rows.formUnion(step.relinkedTargets(backlinks, in: node.table))
        }
        // A deleted row may also have lost a link.
        if let deleted = changes?.deleted, !deleted.isEmpty { rows.subtract(deleted) }
        return rows
    }

    /// Returns the rows that link directly to some rows of a node.
    private func sources(
        of rows: KeySet, _ node: Int, _ parent: Parent, in view: StoreView
    ) throws -> KeySet {
        var found: [ObjectKey] = []
        switch parent.edge {
        case .link(let column):
            let reader = try view.table(nodes[parent.node].table)
            for row in rows { found += try reader.sources(of: row, through: column) }
        case .mixed(let column):
            let reader = try view.table(nodes[parent.node].table)
            let target = nodes[node].table
            for row in rows { found += try reader.holders(of: row, in: target, through: column) }
        case .backlink(let column):
            let reader = try view.table(nodes[node].table)
            let table = nodes[parent.node].table
            for row in rows { found += try LinkTargets.of(row, column, in: reader, to: table) }
        }
        return KeySet(unordered: found)
    }
}

extension VersionStep {
    /// Returns the rows that gained or lost a link, computed once for all observers.
    func relinkedTargets(_ backlinks: WatchGraph.Backlinks, in table: TableID) throws -> KeySet {
        try relinkedTargets(Links(backlinks: backlinks, target: table)) {
            try findRelinkedTargets(backlinks, table)
        }
    }

    private func findRelinkedTargets(
        _ backlinks: WatchGraph.Backlinks, _ table: TableID
    ) throws -> KeySet {
        var found: [ObjectKey] = []
        try forEachRelinking(backlinks, to: table) { found += $1 }
        return KeySet(unordered: found)
    }

    /// Calls `body` with each object whose links changed, and the rows that gained or lost one of these links.
    func forEachRelinking(
        _ backlinks: WatchGraph.Backlinks, to table: TableID,
        _ body: (_ source: ObjectKey, _ targets: [ObjectKey]) throws -> Void
    ) throws {
        guard let changes = changes(of: backlinks.table) else { return }
        let before = try old.table(backlinks.table)
        let after = try new.table(backlinks.table)
        func targets(_ row: ObjectKey, _ rows: TableReader) throws -> [ObjectKey] {
            try LinkTargets.of(row, backlinks.column, in: rows, to: table)
        }
        for row in changes.inserted { try body(row, targets(row, after)) }
        for row in changes.deleted { try body(row, targets(row, before)) }
        for row in changes.modified[backlinks.column] ?? KeySet() {
            if let edited = try editedTargets(row, backlinks) {
                try body(row, Array(edited.keys))
                continue
            }
            var counts: [ObjectKey: Int] = [:]
            for target in try targets(row, after) {
                counts[target, default: 0] += 1
            }
            for target in try targets(row, before) {
                counts[target, default: 0] -= 1
            }
            try body(row, Array(counts.filter { $0.value != 0 }.keys))
        }
    }
}

extension VersionStep {
    /// Returns the targets whose links were removed or added by edits of a list, with the change in the number of
    /// links.
    ///
    /// Returns nil if the edits are not known.
    func editedTargets(
        _ row: ObjectKey, _ backlinks: WatchGraph.Backlinks
    ) throws -> [ObjectKey: Int]? {
        let before = try self.old.table(backlinks.table)
        let after = try self.new.table(backlinks.table)
        let columns = before.definition.columns
        guard columns.indices.contains(backlinks.column.rawValue),
            !columns[backlinks.column.rawValue].isMixed,
            let edits = edits(backlinks.table, backlinks.column, row),
            let sequence = try EditedSequence(
                count: before.listCount(backlinks.column, row), edits),
            let old = try before.list(backlinks.column, row),
            let new = try after.list(backlinks.column, row)
        else { return nil }
        let changes = sequence.changes()
        var counts: [ObjectKey: Int] = [:]
        for position in changes.insertions + changes.modificationsNew {
            guard let target = try new.key(at: position) else { return nil }
            counts[target, default: 0] += 1
        }
        for position in changes.deletions + changes.modifications {
            guard let target = try old.key(at: position) else { return nil }
            counts[target, default: 0] -= 1
        }
        return counts.filter { $0.value != 0 }
    }
}

/// Finds the targets of a row's links.
enum LinkTargets {
    /// Returns the targets of a link, or of all elements of a list of links; for mixed values only those in `table`.
    static func of(
        _ row: ObjectKey, _ column: ColumnID, in reader: TableReader, to table: TableID
    ) throws -> [ObjectKey] {
        let columns = reader.definition.columns
        guard columns.indices.contains(column.rawValue) else { return [] }
        if columns[column.rawValue].isMixed {
            return try reader.mixedTargets(row, in: table, through: column)
        }
        guard columns[column.rawValue].kind == .list else {
            return try reader.link(column, row).map { [$0] } ?? []
        }
        return try reader.linkedKeys(column, row)
    }
}
