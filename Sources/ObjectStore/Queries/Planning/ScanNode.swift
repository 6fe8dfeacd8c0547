import ColumnStorage

/// A condition prepared for scanning one version of a table, cluster by cluster.
///
/// What could be answered once for all rows has been, so that it is only as good as the version it
/// was made for: it lives as long as one evaluation.
protocol ScanNode {
    /// How much one row costs, in comparisons of integers.
    var cost: Int { get }
    /// The rows of `among` in a cluster that match.
    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits
}

/// A condition as it is, with its tables.
struct PlainScan: ScanNode {
    let node: any PredicateNode
    let tables: BoundTables
    var cost: Int { node.cost }

    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits {
        node.evaluate(tables, cluster, among: among)
    }
}

/// A condition on one column that storage knows a kernel for.
struct ColumnScan: ScanNode {
    let rows: TableReader
    let column: ColumnID
    let test: ColumnTest
    /// Whether nil passes, whatever the test says of it.
    let includesNull: Bool
    let cost: Int

    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits {
        let found = rows.matches(column, cluster, test, among: among)
        return includesNull ? found | rows.matches(column, cluster, .isNull, among: among) : found
    }
}

extension PredicateNode {
    /// The condition as it is run, with its tables.
    func scan(_ tables: BoundTables) -> any ScanNode {
        if let node = self as? ColumnNode, let test = node.source.kernel(for: node.test) {
            return ColumnScan(
                rows: tables[node.slot], column: node.source.column, test: test,
                includesNull: node.test.matchesNull, cost: cost)
        }
        return PlainScan(node: self, tables: tables)
    }
}

/// A condition on the object behind a link, which was answered for all objects there.
struct LinkScan: ScanNode {
    let rows: TableReader
    let column: ColumnID
    let targets: TargetBits
    /// Whether a nil link passes.
    let includesNull: Bool
    var cost: Int { 3 }

    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits {
        let found = rows.matches(column, cluster, linkedTo: targets, among: among)
        return includesNull ? found | rows.matches(column, cluster, .isNull, among: among) : found
    }
}

/// A condition that was answered for all rows.
struct RowSetScan: ScanNode {
    let matching: RowSet
    /// Whether the rows outside the set are meant.
    let isComplement: Bool
    var cost: Int { 0 }

    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits {
        isComplement ? among & ~matching[cluster] : among & matching[cluster]
    }
}

/// All of several conditions, in the order in which they are evaluated.
struct AllScan: ScanNode {
    let parts: [any ScanNode]
    var cost: Int { parts.reduce(0) { $0 + $1.cost } }

    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits {
        var bits = among
        for part in parts {
            if bits.isEmpty { return bits }
            bits = part.evaluate(cluster, among: bits)
        }
        return bits
    }
}

/// One of several conditions, in the order in which they are evaluated.
struct AnyScan: ScanNode {
    let parts: [any ScanNode]
    var cost: Int { parts.reduce(0) { $0 + $1.cost } }

    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits {
        var bits = ClusterBits.zero
        for part in parts {
            let rest = among & ~bits
            if rest.isEmpty { return bits }
            bits |= part.evaluate(cluster, among: rest)
        }
        return bits
    }
}

/// The rows that a condition does not match.
struct NotScan: ScanNode {
    let part: any ScanNode
    var cost: Int { part.cost }

    func evaluate(_ cluster: Int, among: ClusterBits) -> ClusterBits {
        among & ~part.evaluate(cluster, among: among)
    }
}
