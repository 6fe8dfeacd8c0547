// The changes of a write for observers and the history.
extension TableOverlay {
    /// Returns the rows that the write has inserted, or in which it has set one of the columns.
    func touchedKeys(_ columns: [ColumnID]) throws(StorageError) -> KeySet {
        var clusters: Set<Int> = Set(presence.values.keys)
        for key in leaves.keys { clusters.insert(LeafKey(rawValue: key).cluster) }
        for key in marks.values.keys { clusters.insert(LeafKey(rawValue: key).cluster) }
        var result = KeySet()
        for cluster in clusters.sorted() {
            let root = leaves[LeafKey(id, cluster: cluster, slot: 0).rawValue]
            let known = root?.presence ?? presence[cluster]?.new
            let now = if let known { known } else { try reader.presence(cluster) }
            let before = root?.marks ?? presence[cluster]?.old ?? now
            var bits = now & ~before
            for column in columns {
                let key = LeafKey(id, cluster: cluster, slot: column.rawValue + 1).rawValue
                bits |= leaves[key]?.marks ?? marks[key] ?? .zero
            }
            result.insert(base: Int64(cluster * Cluster.rows), bits: bits & now)
        }
        return result
    }

    /// Returns the changes of the write to the table, complete after all leaves are flushed.
    func changes() throws(StorageError) -> TableChanges {
        var changes = TableChanges()
        for cluster in presence.values.keys.sorted() {
            guard let (old, new) = presence[cluster] else { continue }
            let base = Int64(cluster * Cluster.rows)
            changes.inserted.insert(base: base, bits: new & ~old)
            changes.deleted.insert(base: base, bits: old & ~new)
        }
        if marks.isEmpty { return changes }
        if marks.values.count == 1, let (key, set) = marks.values.first {
            try note(set, of: LeafKey(rawValue: key), in: &changes)
        } else {
            for key in marks.values.keys.sorted(by: {
                LeafKey(rawValue: $0).cluster < LeafKey(rawValue: $1).cluster
            }) {
                guard let set = marks[key] else { continue }
                try note(set, of: LeafKey(rawValue: key), in: &changes)
            }
        }
        for (index, list) in reader.lists.enumerated() {
            guard let list, let rows = changes.modified[ColumnID(index)] else { continue }
            for (owner, edits) in list.recordedEdits.byOwner.values
            where rows.contains(ObjectKey(owner)) {
                changes.edits[ColumnID(index), default: [:]][ObjectKey(owner)] = edits
            }
        }
        return changes
    }

    /// Adds the modified rows among the marked rows of a leaf.
    private func note(
        _ marked: ClusterBits, of leaf: LeafKey, in changes: inout TableChanges
    ) throws(StorageError) {
        // A change of a collection also marks the column with its count.
        if reader.definition.columns[leaf.slot - 1].isContents { return }
        let bits: ClusterBits
        if let (old, new) = presence[leaf.cluster] {
            bits = marked & old & new
        } else {
            bits = try marked & reader.presence(leaf.cluster)
        }
        if bits.isEmpty { return }
        changes.modified[ColumnID(leaf.slot - 1), default: KeySet()].insert(
            base: Int64(leaf.cluster * Cluster.rows), bits: bits)
    }
}
