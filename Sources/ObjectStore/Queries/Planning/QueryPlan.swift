import ColumnStorage

/// How a condition on a whole class is run in one version: through an index where one narrows it
/// down, by a scan of the columns otherwise.
struct QueryPlan {
    private let predicate: BoundPredicate
    private let rows: TableReader
    /// The index that is used; nil for a scan.
    let access: IndexAccess?

    /// Chooses among the indexes of the conditions that all must hold.
    init(_ predicate: CompiledPredicate, _ rows: TableReader, in view: StoreView) {
        self.predicate = predicate.bound(to: view)
        self.rows = rows
        access = IndexAccess.best(of: self.predicate.conditions, rows)
    }

    /// The steps of a scan, in order.
    func scanSteps() -> [ScanPlanner.Step] {
        ScanPlanner(rows: rows).steps(predicate.conditions)
    }

    /// The keys of the matching rows, or at least the first `most` of them.
    func keys(atMost most: Int) -> ResultKeys {
        if let access {
            let candidates = access.keys()
            if access.isExact, predicate.parts.count == 1 { return ResultKeys(candidates) }
            return ResultKeys(candidates.filter { predicate.matches($0) })
        }
        var clusters: [ClusterBits] = []
        clusters.reserveCapacity(rows.clusterCount)
        scan(atMost: most) { clusters.append($0) }
        return ResultKeys(clusters: clusters)
    }

    /// How many rows match, or `most` if there are more.
    func count(atMost most: Int) -> Int {
        if let access {
            if access.isExact, predicate.parts.count == 1 { return min(most, access.count) }
            return min(most, access.keys().count { predicate.matches($0) })
        }
        var count = 0
        scan(atMost: most) { count += $0.rowCount }
        return min(most, count)
    }

    /// Gives the matching rows of every cluster, the first first, until there are `most`.
    private func scan(atMost most: Int, _ body: (ClusterBits) -> Void) {
        var cluster = 0
        var found = 0
        if most < rows.count {
            // Where few are wanted, the first clusters often hold them: they are scanned as they
            // come, before anything is prepared.
            while cluster < min(Self.unpreparedClusters, rows.clusterCount), found < most {
                let bits = predicate.evaluate(cluster: cluster, among: rows.presence(cluster))
                body(bits)
                found += bits.rowCount
                cluster += 1
            }
        }
        guard cluster < rows.clusterCount, found < most else { return }
        let scan = AllScan(parts: scanSteps().map(\.scan))
        let interruption = Interruption.current
        while cluster < rows.clusterCount, found < most, interruption?.goesOn() ?? true {
            let bits = scan.evaluate(cluster, among: rows.presence(cluster))
            body(bits)
            found += bits.rowCount
            cluster += 1
        }
    }

    private static let unpreparedClusters = 4
}

extension BoundPredicate {
    /// The conditions that all must hold.
    var conditions: [ScanPlanner.Condition] {
        zip(parts, tables).map { ($0.text, $0.node, $1) }
    }
}
