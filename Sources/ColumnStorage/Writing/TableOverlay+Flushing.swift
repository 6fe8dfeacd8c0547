import LMDBStorage

// Flushing packs unpacked leaves into the write transaction, from which they are read again if needed.
extension TableOverlay {
    /// Returns a copy of a leaf in the write transaction; nil if the committed leaf is the newest.
    func copyOfFlushed(_ key: LeafKey) throws(StorageError) -> UnsafeRawBufferPointer? {
        guard flushed.contains(key.rawValue) else { return nil }
        let found = try session.transaction.handle.get(reader.leaves, key.rawValue)
        guard let bytes = found, let source = bytes.baseAddress else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        let copy = session.keepCopy(
            of: key, UnsafeRawBufferPointer(start: source, count: bytes.count))
        return UnsafeRawBufferPointer(start: copy, count: bytes.count)
    }

    /// Flushes every unpacked leaf, in the order of their keys.
    ///
    /// In the last flush, a few rows of the newest cluster may remain in row format.
    func flushAll(isLast: Bool = false) throws(StorageError) {
        if isLast { try storeTailRows() }
        let newest = tailCluster
        if !isTailPacked, hasLeaves(newest) { try packTail() }
        if leaves.isEmpty { return }
        if leaves.count == 1, let key = leaves.keys.first {
            return try flush(LeafKey(rawValue: key))
        }
        for key in leaves.keys.sorted() { try flush(LeafKey(rawValue: key)) }
        assert(leaves.isEmpty, "every unpacked leaf is flushed")
    }

    /// Stores the zero or empty values of a leaf, and makes those of later rows null.
    ///
    /// The newest cluster must have been packed.
    func makeOptional(_ slot: Int, _ cluster: Int) throws(StorageError) {
        assert(isTailPacked, "a column becomes optional after the newest cluster is packed")
        let key = LeafKey(id, cluster: cluster, slot: slot)
        let used = Int(reader.keyBound) - cluster * Cluster.rows
        guard try !reader.presence(cluster).isEmpty else { return }
        if used >= Cluster.rows {
            if leaves[key.rawValue] != nil { return }
            if try session.transaction.handle.get(reader.leaves, key.rawValue) != nil { return }
        }
        let leaf = unpackedLeaf(slot, cluster)
        for row in min(used, Cluster.rows)..<Cluster.rows { leaf.setNull(row, true) }
        try flush(key)
    }

    /// Returns whether the write has unpacked leaves of a cluster.
    func hasLeaves(_ cluster: Int) -> Bool {
        if leaves.count <= 2 * slotCount {
            return leaves.keys.contains { LeafKey(rawValue: $0).cluster == cluster }
        }
        return (0..<slotCount).contains {
            leaves[LeafKey(id, cluster: cluster, slot: $0).rawValue] != nil
        }
    }

    /// Discards the unpacked leaves that belong to the reader.
    func releaseKept() {
        for slot in recent.indices {
            recent[slot] = nil
            reader.forget(slot, tailCluster)
        }
        leaves.removeAll(keepingCapacity: true)
        session.generation.pointee += 1
    }

    /// Flushes the unpacked leaves of one cluster.
    func flush(cluster: Int) throws(StorageError) {
        if keepsTail(cluster) { return try packTail() }
        for slot in 0..<recent.count {
            let key = LeafKey(id, cluster: cluster, slot: slot)
            if leaves[key.rawValue] != nil { try flush(key) }
        }
    }

    func flush(_ key: LeafKey) throws(StorageError) {
        guard let leaf = leaves[key.rawValue] else { return }
        let slot = key.slot
        let cluster = key.cluster
        if slot == 0 {
            let bits = leaf.presence
            var stored = bits
            if bits.isEmpty && (cluster + 1) * Cluster.rows <= reader.keyBound {
                // The cluster remains empty permanently.
                try dropCluster(cluster)
            } else {
                try withUnsafeBytesTyped(of: &stored) { bytes throws(StorageError) in
                    try session.put(
                        bytes, at: key.rawValue, of: id, in: reader.leaves,
                        mayBeLast: cluster >= tailCluster)
                }
            }
            presence[cluster] = (leaf.marks, bits)
        } else {
            let present = try reader.presence(cluster)
            if present.isEmpty && (cluster + 1) * Cluster.rows <= reader.keyBound {
                try session.transaction.handle.delete(reader.leaves, key.rawValue)
            } else {
                let kind = kind(of: slot)
                let long =
                    kind == .string || kind == .data
                    ? try putLong(of: leaf, slot: slot, cluster: cluster, present: present) : .zero
                let packed =
                    session.packer.patch(leaf, kind)
                    ?? session.packer.pack(leaf, kind, present: present, long: long)
                try session.put(
                    packed, at: key.rawValue, of: id, in: reader.leaves,
                    mayBeLast: cluster >= tailCluster)
            }
            if !leaf.marks.isEmpty { marks[key.rawValue] = leaf.marks }
            recordOrigin(key, leaf)
        }
        release(key, leaf)
        recordFlushed(key)
    }

    func release(_ key: LeafKey, _ leaf: UnpackedLeaf) {
        leaves[key.rawValue] = nil
        session.generation.pointee += 1
        if recent[key.slot]?.cluster == key.cluster { recent[key.slot] = nil }
        reader.forget(key.slot, key.cluster)
        if keepsTail(key.cluster) { return }
        session.pool.release(leaf, width: width(of: key.slot))
    }

    private func dropCluster(_ cluster: Int) throws(StorageError) {
        for slot in 0..<recent.count {
            let key = LeafKey(id, cluster: cluster, slot: slot)
            try session.transaction.handle.delete(reader.leaves, key.rawValue)
            flushed.insert(key.rawValue)
            if leaves[key.rawValue] == nil { reader.forget(slot, cluster) }
        }
    }

    /// Stores new long values and removes deleted ones.
    ///
    /// Returns the rows with long values.
    private func putLong(
        of leaf: UnpackedLeaf, slot: Int, cluster: Int, present: ClusterBits
    ) throws(StorageError) -> ClusterBits {
        var long = ClusterBits.zero
        let table = session.file.tables.values
        let column = ColumnID(slot - 1)
        for row in 0..<Cluster.rows where present.contains(row) {
            let (address, count) = leaf.pointer(row)
            guard count > LeafFormat.longValue || (address == nil && count > 0) else { continue }
            long.insert(row)
            if let address {
                let key = ObjectKey(Int64(cluster * Cluster.rows + row))
                try LongValueKey(id, column, key).put(
                    UnsafeRawBufferPointer(start: address, count: count),
                    session.transaction.handle, table)
            }
        }
        let gone = leaf.longs & ~long
        try gone.forEachRow { row throws(StorageError) in
            let key = ObjectKey(Int64(cluster * Cluster.rows + row))
            try LongValueKey(id, column, key).delete(session.transaction.handle, table)
        }
        return long
    }
}

/// Calls `withUnsafeBytes` with typed throws.
@inline(__always)
private func withUnsafeBytesTyped<T, Failure: Error>(
    of value: inout T, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
) throws(Failure) {
    let failure = withUnsafeBytes(of: &value) { bytes -> Failure? in
        do throws(Failure) {
            try body(bytes)
            return nil
        } catch { return error }
    }
    if let failure { throw failure }
}

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
        assert(!hasLeaves(cluster), "the newest cluster is flushed")
        isTailPacked = true
        reader.didPackTail()
        if hadRows { try session.removeTail(TableHead.key(id, 0)..<TableHead.key(id)) }
    }

    private func isColumn(_ slot: Int) -> Bool {
        slot == 0 || !reader.definition.columns[slot - 1].isDropped
    }
}
