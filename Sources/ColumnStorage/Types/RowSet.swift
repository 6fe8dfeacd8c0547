/// A set of rows of a table with one bit for each row, cluster by cluster.
///
/// It contains the rows that satisfy a condition, for lookups of millions of links. It is a value of 64 bytes for each
/// cluster of the table.
package struct RowSet: Sendable {
    @usableFromInline var clusters: [ClusterBits]

    /// Creates an empty set for a table with a number of clusters.
    package init(clusterCount: Int) {
        clusters = Array(repeating: .zero, count: max(clusterCount, 0))
    }

    /// The number of clusters; further clusters are empty.
    package var clusterCount: Int { clusters.count }

    /// The rows of one cluster.
    package subscript(cluster: Int) -> ClusterBits {
        get { cluster >= 0 && cluster < clusters.count ? clusters[cluster] : .zero }
        set { if cluster >= 0 && cluster < clusters.count { clusters[cluster] = newValue } }
    }

    /// Returns whether a row is in the set.
    @inlinable
    package func contains(_ key: ObjectKey) -> Bool {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard cluster < UInt(clusters.count) else { return false }
        let index = Int(bitPattern: cluster)
        return clusters[index].contains(Int(key.rawValue) &- index &* Cluster.rows)
    }

    /// Adds a row of an existing cluster; other keys cannot be in the set.
    @inlinable
    package mutating func insert(_ key: ObjectKey) {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard cluster < UInt(clusters.count) else { return }
        let index = Int(bitPattern: cluster)
        clusters[index].insert(Int(key.rawValue) &- index &* Cluster.rows)
    }

    /// The number of rows in the set.
    package var count: Int { clusters.reduce(0) { $0 + $1.rowCount } }

    /// Calls `body` with every row, ascending.
    package func forEach<Failure: Error>(
        _ body: (ObjectKey) throws(Failure) -> Void
    ) throws(Failure) {
        for (cluster, bits) in clusters.enumerated() where !bits.isEmpty {
            let first = Int64(cluster * Cluster.rows)
            try bits.forEachRow { row throws(Failure) in
                try body(ObjectKey(rawValue: first + Int64(row)))
            }
        }
    }
}
