extension WriteSession {
    /// Adds a row with a given key, whose columns are zero, null or empty until they are set.
    ///
    /// Keys between the newest row and this one are never used. The key of a deleted row restores that row. Returns
    /// false, without adding a row, if a row has the key.
    package func insert(_ table: TableID, at key: ObjectKey) throws(StorageError) -> Bool {
        let overlay = overlay(table)
        guard key.rawValue < overlay.reader.keyBound else {
            reserveKeys(table, below: key)
            _ = insert(table)
            return true
        }
        guard key.rawValue >= 0, try !overlay.reader.isPresent(key) else { return false }
        try revive(table, key)
        return true
    }

    /// Skips the keys below a bound, so that the next row has at least this key.
    package func reserveKeys(_ table: TableID, below bound: ObjectKey) {
        let overlay = overlay(table)
        let state = overlay.reader.state
        var key = state.pointee.keyBound
        while key < bound.rawValue {
            let cluster = Int(key) / Cluster.rows
            if Int(key) % Cluster.rows == 0, state.pointee.clusterCount <= cluster {
                beginCluster(overlay, cluster)
            }
            // A cluster without rows still has a presence leaf.
            let leaf = overlay.unpackedLeaf(0, cluster)
            leaf.presence = leaf.presence
            key = min(bound.rawValue, Int64(cluster + 1) * Int64(Cluster.rows))
            state.pointee.keyBound = key
        }
    }
}
