/// Some rows of a table, one bit for each, cluster by cluster: the rows that satisfy a condition,
/// to be asked about millions of links.
///
/// A value. 64 bytes for each cluster of the table.
package struct RowSet: Sendable {
    @usableFromInline var clusters: [ClusterBits]

    /// Makes an empty set for a table of so many clusters.
    package init(clusterCount: Int) {
        clusters = Array(repeating: .zero, count: max(clusterCount, 0))
    }

    /// How many clusters there are; those beyond are empty.
    package var clusterCount: Int { clusters.count }

    /// The rows of one cluster.
    package subscript(cluster: Int) -> ClusterBits {
        get { cluster >= 0 && cluster < clusters.count ? clusters[cluster] : .zero }
        set { if cluster >= 0 && cluster < clusters.count { clusters[cluster] = newValue } }
    }

    /// Whether a row is in the set.
    @inlinable
    package func contains(_ key: ObjectKey) -> Bool {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard cluster < UInt(clusters.count) else { return false }
        let place = Int(bitPattern: cluster)
        return clusters[place].contains(Int(key.rawValue) &- place &* Cluster.rows)
    }

    /// Adds a row of the clusters that there are; other keys cannot be in the set.
    @inlinable
    package mutating func insert(_ key: ObjectKey) {
        let cluster = UInt(bitPattern: Int(key.rawValue)) / UInt(Cluster.rows)
        guard cluster < UInt(clusters.count) else { return }
        let place = Int(bitPattern: cluster)
        clusters[place].insert(Int(key.rawValue) &- place &* Cluster.rows)
    }

    /// How many rows are in the set.
    package var count: Int { clusters.reduce(0) { $0 + $1.rowCount } }

    /// Calls `body` with every row, ascending.
    package func forEach(_ body: (ObjectKey) -> Void) {
        for (cluster, bits) in clusters.enumerated() where !bits.isEmpty {
            let first = Int64(cluster * Cluster.rows)
            bits.forEachRow { body(ObjectKey(rawValue: first + Int64($0))) }
        }
    }
}
