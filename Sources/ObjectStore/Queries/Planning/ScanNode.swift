import ColumnStorage

/// A condition prepared for scanning one version of a table, cluster by cluster.
///
/// The parts that are the same for all rows are computed in advance, so a scan is valid only for its version and exists
/// only for one evaluation.
protocol ScanNode {
    /// The cost of one row, as a number of integer comparisons.
    var cost: Int { get }
    /// Returns those rows of `among` in a cluster that match.
    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits
    /// Returns the same condition for the thread of another view of the version.
    func moved(to view: StoreView) throws -> any ScanNode
}

/// A condition that needs no preparation, with its tables.
struct PlainScan: ScanNode {
    let node: any PredicateNode
    let tables: BoundTables
    var cost: Int { node.cost }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        try node.evaluate(tables, cluster, among: among)
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        PlainScan(node: node, tables: try tables.moved(to: view))
    }
}

/// A condition on one column for which the storage has a kernel.
struct ColumnScan: ScanNode {
    let rows: TableReader
    let column: ColumnID
    let test: ColumnTest
    /// Whether nil matches, regardless of the test.
    let includesNull: Bool
    let cost: Int

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        let found = try rows.matches(column, cluster, test, among: among)
        return try includesNull
            ? found | rows.matches(column, cluster, .isNull, among: among) : found
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        ColumnScan(
            rows: try view.table(rows.id), column: column, test: test, includesNull: includesNull,
            cost: cost)
    }
}

extension PredicateNode {
    /// Returns the condition in the form in which it is evaluated, with its tables.
    func scan(_ tables: BoundTables) -> any ScanNode {
        if let node = self as? ColumnNode, let test = node.source.kernel(for: node.test) {
            return ColumnScan(
                rows: tables[node.slot], column: node.source.column, test: test,
                includesNull: node.test.matchesNull, cost: cost)
        }
        return PlainScan(node: self, tables: tables)
    }
}

/// A condition on a linked object, evaluated in advance for all objects of the target table.
struct LinkScan: ScanNode {
    let rows: TableReader
    let column: ColumnID
    let targets: TargetBits
    /// Whether a nil link matches.
    let includesNull: Bool
    var cost: Int { 3 }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        let found = try rows.matches(column, cluster, linkedTo: targets, among: among)
        return try includesNull
            ? found | rows.matches(column, cluster, .isNull, among: among) : found
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        LinkScan(
            rows: try view.table(rows.id), column: column, targets: targets,
            includesNull: includesNull)
    }
}

/// A condition that was evaluated in advance for all rows.
struct RowSetScan: ScanNode {
    let matching: RowSet
    /// Whether the rows outside of the set match.
    let isComplement: Bool
    var cost: Int { 0 }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        isComplement ? among & ~matching[cluster] : among & matching[cluster]
    }

    func moved(to view: StoreView) throws -> any ScanNode { self }
}

/// A conjunction of conditions, in the order in which they are evaluated.
struct AllScan: ScanNode {
    let parts: [any ScanNode]
    var cost: Int { parts.reduce(0) { $0 + $1.cost } }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = among
        for part in parts {
            if bits.isEmpty { return bits }
            bits = try part.evaluate(cluster, among: bits)
        }
        return bits
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        AllScan(parts: try parts.map { try $0.moved(to: view) })
    }
}

/// A disjunction of conditions, in the order in which they are evaluated.
struct AnyScan: ScanNode {
    let parts: [any ScanNode]
    var cost: Int { parts.reduce(0) { $0 + $1.cost } }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = ClusterBits.zero
        for part in parts {
            let rest = among & ~bits
            if rest.isEmpty { return bits }
            bits |= try part.evaluate(cluster, among: rest)
        }
        return bits
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        AnyScan(parts: try parts.map { try $0.moved(to: view) })
    }
}

/// The rows that a condition does not match.
struct NotScan: ScanNode {
    let part: any ScanNode
    var cost: Int { part.cost }

    func evaluate(_ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        try among & ~part.evaluate(cluster, among: among)
    }

    func moved(to view: StoreView) throws -> any ScanNode {
        NotScan(part: try part.moved(to: view))
    }
}
