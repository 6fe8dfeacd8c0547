import ColumnStorage

/// The plan of a condition on a whole class in one version: an index lookup if one is selective, otherwise a scan.
struct QueryPlan {
    let predicate: BoundPredicate
    private let rows: TableReader
    /// The chosen index lookup; nil for a scan.
    let access: IndexAccess?

    /// Chooses the best index lookup for one of the combined conditions.
    init(_ predicate: CompiledPredicate, _ rows: TableReader, in view: StoreView) {
        self.predicate = predicate.bound(to: view)
        self.rows = rows
        access = IndexAccess.best(of: self.predicate.conditions, rows)
    }

    /// Returns the keys of the matching rows, or at least the first `most` of them.
    func keys(atMost most: Int) -> ResultKeys {
        if let access {
            let candidates = access.keys()
            if access.isExact, predicate.conditions.count == 1 { return ResultKeys(candidates) }
            return ResultKeys(candidates.filter { predicate.matches($0) })
        }
        var clusters: [ClusterBits] = []
        clusters.reserveCapacity(rows.clusterCount)
        scan(atMost: most) { clusters.append($0) }
        return ResultKeys(clusters: clusters)
    }

    /// Returns the number of matching rows, or `most` if there are more.
    func count(atMost most: Int) -> Int {
        if let access {
            if access.isExact, predicate.conditions.count == 1 { return min(most, access.count) }
            return min(most, access.keys().count { predicate.matches($0) })
        }
        var count = 0
        scan(atMost: most) { count += $0.rowCount }
        return min(most, count)
    }

    /// Calls `body` with the matching rows of each cluster, in order, until there are `most` rows.
    private func scan(atMost most: Int, _ body: (ClusterBits) -> Void) {
        var cluster = 0
        var found = 0
        if most < rows.count {
            // If few rows are needed, the first clusters often have enough of them, so these are scanned without
            // preparation.
            while cluster < min(Self.unpreparedClusters, rows.clusterCount), found < most {
                let bits = predicate.evaluate(cluster: cluster, among: rows.presence(cluster))
                body(bits)
                found += bits.rowCount
                cluster += 1
            }
        }
        guard cluster < rows.clusterCount, found < most else { return }
        let steps = ScanPlanner(rows: rows).steps(predicate.conditions)
        let scan = AllScan(parts: steps.map(\.scan))
        let interruption = Interruption.current
        while cluster < rows.clusterCount, found < most, interruption?.mayContinue() ?? true {
            let bits = scan.evaluate(cluster, among: rows.presence(cluster))
            body(bits)
            found += bits.rowCount
            cluster += 1
        }
    }

    private static let unpreparedClusters = 4
}
