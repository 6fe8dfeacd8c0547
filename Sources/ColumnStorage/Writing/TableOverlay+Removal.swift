import LMDBStorage

// Dropping a column, and removing all rows at once.
extension TableOverlay {
    /// Removes and frees the leaves of a slot whose column is dropped.
    ///
    /// The newest cluster must have been packed.
    func removeLeaves(of slot: Int) throws(StorageError) {
        for cluster in 0..<reader.clusterCount {
            let key = LeafKey(id, cluster: cluster, slot: slot)
            if let leaf = leaves[key.rawValue] { release(key, leaf) }
            marks[key.rawValue] = nil
            try session.transaction.handle.delete(reader.leaves, key.rawValue)
            flushed.insert(key.rawValue)
            reader.forget(slot, cluster)
        }
    }

    /// Removes every row; all rows from before the write count as deleted.
    ///
    /// The newest cluster must have been packed, and the caller removes the data in the file.
    func removeAllRows() throws(StorageError) {
        for cluster in 0..<reader.clusterCount {
            let before: ClusterBits
            if let leaf = leaves[LeafKey(id, cluster: cluster, slot: 0).rawValue] {
                before = leaf.marks
            } else if let known = presence[cluster] {
                before = known.old
            } else {
                before = try reader.presence(cluster)
            }
            presence[cluster] = (before, .zero)
        }
        for (key, leaf) in leaves { release(LeafKey(rawValue: key), leaf) }
        marks.removeAll()
        isRemoved = true
        headAfter = TableHead()
    }
}
