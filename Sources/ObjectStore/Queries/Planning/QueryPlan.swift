import ColumnStorage

/// The plan of a condition on a whole class in one version: an index lookup if one is selective, otherwise a scan.
struct QueryPlan {
    let predicate: BoundPredicate
    private let rows: TableReader
    private let view: StoreView
    /// The chosen index lookup; nil for a scan.
    let access: IndexAccess?

    /// Chooses the best index lookup for one of the combined conditions.
    init(_ predicate: CompiledPredicate, _ rows: TableReader, in view: StoreView) throws {
        self.predicate = try predicate.bound(to: view)
        self.rows = rows
        self.view = view
        access = try IndexAccess.best(of: self.predicate.conditions, rows)
    }

    /// Returns the keys of the matching rows, or at least the first `most` of them.
    func keys(atMost most: Int) throws -> ResultKeys {
        if let access {
            let candidates = try access.keys()
            if access.isExact, predicate.conditions.count == 1 { return ResultKeys(candidates) }
            return try ResultKeys(candidates.filter { try predicate.matches($0) })
        }
        if most >= rows.count {
            return ResultKeys(clusters: try all { Array($0) }.flatMap { $0 })
        }
        var clusters: [ClusterBits] = []
        try first(most) { clusters.append($0) }
        return ResultKeys(clusters: clusters)
    }

    /// Returns the number of matching rows, or `most` if there are more.
    func count(atMost most: Int) throws -> Int {
        if let access {
            if access.isExact, predicate.conditions.count == 1 { return min(most, access.count) }
            return try min(most, access.keys().count { try predicate.matches($0) })
        }
        if most >= rows.count {
            return try all { $0.reduce(0) { $0 + $1.rowCount } }.reduce(0, +)
        }
        var count = 0
        try first(most) { count += $0.rowCount }
        return min(most, count)
    }

    /// Returns what `part` computes from the matching rows of consecutive clusters, in order.
    private func all<Part>(_ part: @escaping ([ClusterBits]) -> Part) throws -> [Part] {
        guard rows.count > 0 else { return [] }
        let scan = try scan()
        return try view.scan(rows) { view in
            let rows = try view.table(rows.id)
            let scan = try scan.moved(to: view)
            return { clusters in
                part(try clusters.map { try scan.evaluate($0, among: rows.presence($0)) })
            }
        }
    }

    /// Calls `body` with the matching rows of each cluster, in order, until there are `most` rows.
    private func first(_ most: Int, _ body: (ClusterBits) -> Void) throws {
        var cluster = 0
        var found = 0
        // The first clusters often have enough rows, so these are scanned without preparation.
        while cluster < min(Self.unpreparedClusters, rows.clusterCount), found < most {
            let bits = try predicate.evaluate(cluster: cluster, among: rows.presence(cluster))
            body(bits)
            found += bits.rowCount
            cluster += 1
        }
        guard cluster < rows.clusterCount, found < most else { return }
        let scan = try scan()
        let interruption = Interruption.current
        while cluster < rows.clusterCount, found < most {
            try interruption?.step()
            let bits = try scan.evaluate(cluster, among: rows.presence(cluster))
            body(bits)
            found += bits.rowCount
            cluster += 1
        }
    }

    private func scan() throws -> AllScan {
        AllScan(parts: try ScanPlanner(rows: rows).steps(predicate.conditions).map(\.scan))
    }

    private static let unpreparedClusters = 4
}
