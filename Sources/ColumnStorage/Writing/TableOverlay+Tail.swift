import LMDBStorage

// The newest cluster of a table, which is not full yet. A commit that has touched a few of its rows stores each as one
// node with the whole row, which replaces the row's values in the leaves. A commit that has touched many rows, or
// filled the cluster, packs all rows into leaves and removes the nodes.
extension TableOverlay {
    /// The maximum number of rows that a commit stores as nodes; more rows cost about as much as leaves.
    static let rowLimit = 16

    /// The cluster that was the newest when the write began.
    var tailCluster: Int { Int(headBefore.keyBound) / Cluster.rows }

    /// Returns whether the unpacked leaves of a cluster belong to the reader.
    @inline(__always)
    func keepsTail(_ cluster: Int) -> Bool { cluster == tailCluster && !isTailPacked }

    /// Returns the memory for the text of a row, which belongs to the row's unpacked leaf.
    @inline(__always)
    func arena(_ cluster: Int) -> TextArena {
        keepsTail(cluster) ? reader.tailLeaves().arena : session.arena
    }

    /// The size of the newest cluster's text in the reader's memory.
    var tailTextSize: Int { isTailPacked ? 0 : reader.tail?.arena.size ?? 0 }

    /// Stores the touched rows of the newest cluster as nodes, if that is possible and costs less than ``packTail()``.
    func storeTailRows() throws(StorageError) {
        let bound = reader.keyBound
        let cluster = Int(bound) / Cluster.rows
        guard Int(bound) % Cluster.rows != 0, cluster != tailCluster || !isTailPacked,
            let touched = touchedRows(cluster), touched.rowCount <= Self.rowLimit
        else { return }
        let isKept = keepsTail(cluster)
        if touched.isEmpty, isKept {
            // The leaves are only read.
            for slot in 0..<slotCount {
                let key = LeafKey(id, cluster: cluster, slot: slot)
                if let leaf = leaves[key.rawValue] { release(key, leaf) }
            }
            keptTail = true
            return
        }
        var leaves: [UnpackedLeaf] = []
        for slot in 0..<slotCount { leaves.append(unpackedLeaf(slot, cluster)) }
        let layout = isKept ? reader.tailLeaves().layout : RowLayout(reader.definition)
        var isAppended = cluster == tailCluster && headBefore.hasTailRows
        try touched.forEachRow { row throws(StorageError) in
            let key = Int64(cluster * Cluster.rows + row)
            let isNew = key >= headBefore.keyBound
            if !isNew { isAppended = false }
            if leaves[0].presence.contains(row) {
                try storeRow(row, key: key, from: leaves, layout: layout)
            } else if !isNew {
                let node = try session.reserveTail(TableHead.key(id, key), count: 1)
                node[0] = RowLayout.gone
            }
        }
        presence[cluster] = (leaves[0].marks, leaves[0].presence)
        // New rows count as inserted, regardless of later changes.
        let old = leaves[0].marks
        for slot in 1..<slotCount where !(leaves[slot].marks & old).isEmpty {
            marks[LeafKey(id, cluster: cluster, slot: slot).rawValue] = leaves[slot].marks
        }
        if isKept, self.leaves.count == slotCount {
            releaseKept()
        } else {
            for slot in 0..<slotCount {
                release(LeafKey(id, cluster: cluster, slot: slot), leaves[slot])
            }
        }
        tailRows = (isAppended ? headBefore.tailStamp : session.transaction.handle.version, bound)
        if isKept {
            reader.tailLeaves().didSetRows(below: bound)
            keptTail = true
        }
    }

    /// Returns the rows of a cluster that the write has touched; nil if it has flushed some of them, or touched none.
    private func touchedRows(_ cluster: Int) -> ClusterBits? {
        guard hasLeaves(cluster) else { return nil }
        var touched = ClusterBits.zero
        var isLoaded = false
        for slot in 0..<slotCount {
            let key = LeafKey(id, cluster: cluster, slot: slot).rawValue
            if !flushed.isEmpty, flushed.contains(key) { return nil }
            guard let leaf = leaves[key] else { continue }
            isLoaded = true
            touched |= slot == 0 ? leaf.presence ^ leaf.marks : leaf.marks
        }
        return isLoaded ? touched : nil
    }

    private func storeRow(
        _ row: Int, key: Int64, from leaves: [UnpackedLeaf], layout: RowLayout
    ) throws(StorageError) {
        for column in layout.kinds.indices
        where layout.isText(column) && layout.offsets[column] >= 0 {
            let leaf = leaves[column + 1]
            let (address, count) = leaf.pointer(row)
            var longs = leaf.longs
            let longValue = LongValueKey(id, ColumnID(column), ObjectKey(key))
            let handle = session.transaction.handle
            if let address, count > LeafFormat.longValue {
                try longValue.put(
                    UnsafeRawBufferPointer(start: address, count: count), handle,
                    session.file.tables.values)
                leaf.setElsewhere(row, count: count)
                longs.insert(row)
            } else if longs.contains(row), address != nil || count == 0 {
                try longValue.delete(handle, session.file.tables.values)
                longs.remove(row)
            } else {
                continue
            }
            leaf.longs = longs
        }
        let node = try session.reserveTail(
            TableHead.key(id, key), count: layout.size(leaves, row))
        layout.write(leaves, row, to: node)
    }

    /// Packs the cluster that was the newest into leaves, including its tail rows.
    func packTail() throws(StorageError) {
        guard !isTailPacked else { return }
        let cluster = tailCluster
        let hadRows = reader.hasTailRows
        if hadRows {
            for slot in 0..<slotCount where isColumn(slot) { _ = unpackedLeaf(slot, cluster) }
        }
        for slot in 0..<slotCount {
            let key = LeafKey(id, cluster: cluster, slot: slot)
            if leaves[key.rawValue] != nil { try flush(key) }
        }
        isTailPacked = true
        reader.didPackTail()
        if hadRows { try session.removeTail(TableHead.key(id, 0)..<TableHead.key(id)) }
    }

    private func isColumn(_ slot: Int) -> Bool {
        slot == 0 || !reader.definition.columns[slot - 1].isDropped
    }
}
