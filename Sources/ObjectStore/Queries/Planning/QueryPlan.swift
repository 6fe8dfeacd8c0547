import ColumnStorage

/// The plan of a condition on a whole class in one version: an index lookup if one is selective, otherwise a scan.
struct QueryPlan {
    let predicate: BoundPredicate
    private let rows: TableReader
    /// The chosen index lookup; nil for a scan.
    let access: IndexAccess?

    /// Chooses the best index lookup for one of the combined conditions.
    init(_ predicate: CompiledPredicate, _ rows: TableReader, in view: StoreView) throws {
        self.predicate = try predicate.bound(to: view)
        self.rows = rows
        access = try IndexAccess.best(of: self.predicate.conditions, rows)
    }

    /// Returns the keys of the matching rows, or at least the first `most` of them.
    func keys(atMost most: Int) throws -> ResultKeys {
        if let access {
            let candidates = try access.keys()
            if access.isExact, predicate.conditions.count == 1 { return ResultKeys(candidates) }
            return try ResultKeys(candidates.filter { try predicate.matches($0) })
        }
        var clusters: [ClusterBits] = []
        clusters.reserveCapacity(rows.clusterCount)
        try scan(atMost: most) { clusters.append($0) }
        return ResultKeys(clusters: clusters)
    }

    /// Returns the number of matching rows, or `most` if there are more.
    func count(atMost most: Int) throws -> Int {
        if let access {
            if access.isExact, predicate.conditions.count == 1 { return min(most, access.count) }
            return try min(most, access.keys().count { try predicate.matches($0) })
        }
        var count = 0
        try scan(atMost: most) { count += $0.rowCount }
        return min(most, count)
    }

    /// Calls `body` with the matching rows of each cluster, in order, until there are `most` rows.
    private func scan(atMost most: Int, _ body: (ClusterBits) -> Void) throws {
        var cluster = 0
        var found = 0
        if most < rows.count {
            // If few rows are needed, the first clusters often have enough of them, so these are scanned without
            // preparation.
            while cluster < min(Self.unpreparedClusters, rows.clusterCount), found < most {
                let bits = try predicate.evaluate(cluster: cluster, among: rows.presence(cluster))
                body(bits)
                found += bits.rowCount
                cluster += 1
            }
        }
        guard cluster < rows.clusterCount, found < most else { return }
        let steps = try ScanPlanner(rows: rows).steps(predicate.conditions)
        let scan = AllScan(parts: steps.map(\.scan))
        let interruption = Interruption.current
        while cluster < rows.clusterCount, found < most {
            try interruption?.step()
            let bits = try scan.evaluate(cluster, among: rows.presence(cluster))
            body(bits)
            found += bits.rowCount
            cluster += 1
        }
    }

    private static let unpreparedClusters = 4
}
