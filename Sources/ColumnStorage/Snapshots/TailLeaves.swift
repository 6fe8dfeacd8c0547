import LMDBStorage

/// The unpacked columns of the newest cluster: its leaves in the file, overwritten by the rows in the tail.
///
/// A live snapshot keeps them from version to version: rows that were added since are copied one by one, and a write
/// changes them in place for the version that it creates. They are dropped after any other change of the cluster.
final class TailLeaves {
    let cluster: Int
    let layout: RowLayout
    /// The text of all rows.
    let arena = TextArena()
    // because: the reader owns this object.
    unowned(unsafe) private let reader: TableReader
    /// The leaves by slot, with the key below which rows have been copied.
    @exclusivity(unchecked) private var slots: [(leaf: UnpackedLeaf, bound: Int64)?]

    init(_ reader: TableReader, cluster: Int) {
        self.reader = reader
        self.cluster = cluster
        layout = RowLayout(reader.definition)
        slots = Array(repeating: nil, count: reader.definition.columns.count + 1)
    }

    deinit {
        for slot in slots { if let slot { (slot.leaf.address - UnpackedLeaf.notes).deallocate() } }
    }

    /// Returns the leaf of a slot at the reader's version.
    func leaf(_ slot: Int) throws(StorageError) -> UnpackedLeaf {
        if let known = slots[slot] {
            if known.bound < reader.tailBound {
                try takeOver(slot, into: known.leaf, from: known.bound)
                slots[slot]?.bound = reader.tailBound
            }
            return known.leaf
        }
        let leaf = try unpack(slot)
        do throws(StorageError) {
            try takeOver(slot, into: leaf, from: Int64(cluster * Cluster.rows))
        } catch {
            (leaf.address - UnpackedLeaf.notes).deallocate()
            throw error
        }
        slots[slot] = (leaf, reader.tailBound)
        return leaf
    }

    /// Records that a write has set the rows below `bound` in all existing leaves.
    func didSetRows(below bound: Int64) {
        for slot in slots.indices { slots[slot]?.bound = bound }
    }

    private func unpack(_ slot: Int) throws(StorageError) -> UnpackedLeaf {
        let stored = try reader.stored(slot, cluster)
        let kind = slot == 0 ? nil : layout.kinds[slot - 1]
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: LeafPool.size(kind.map(UnpackedLeaf.width(of:)) ?? 0), alignment: 16)
        let leaf = UnpackedLeaf(address: block + UnpackedLeaf.notes)
        if let kind {
            leaf.unpack(Leaf(stored), kind) { self.arena.copy($0) }
        } else {
            leaf.presence = stored.loadUnaligned(as: ClusterBits.self)
        }
        return leaf
    }

    private func takeOver(
        _ slot: Int, into leaf: UnpackedLeaf, from first: Int64
    ) throws(StorageError) {
        guard reader.hasTailRows, let transaction = reader.source.reader else { return }
        if reader.tailBound - first <= 2 {
            for key in first..<max(first, reader.tailBound) {
                if let node = try reader.source.tailNode(TableHead.key(reader.id, key)) {
                    try takeOver(slot, into: leaf, key: key, from: node)
                }
            }
            return
        }
        let start = TableHead.key(reader.id, 0)
        let keys = TableHead.key(reader.id, first)..<TableHead.key(reader.id, reader.tailBound)
        let cursor = try transaction.handle.cursor(reader.source.file.tables.tail)
        var entry = try cursor.setRange(keys.lowerBound)
        while let found = entry, found.integerKey < keys.upperBound {
            try takeOver(slot, into: leaf, key: Int64(found.integerKey - start), from: found.value)
            entry = try cursor.next()
        }
        try reader.source.recent.forEach { home, key, node throws(StorageError) in
            if home == .tail && keys.contains(key) {
                try takeOver(slot, into: leaf, key: Int64(key - start), from: node)
            }
        }
    }

    private func takeOver(
        _ slot: Int, into leaf: UnpackedLeaf, key: Int64, from node: UnsafeRawBufferPointer
    ) throws(StorageError) {
        guard layout.isWhole(node) else {
            throw reader.source.damaged(
                "row \(key) in the tail of table \(reader.id.rawValue)")
        }
        let row = Int(key) - cluster * Cluster.rows
        let isRow = node[0] == RowLayout.row
        if slot == 0 {
            var bits = leaf.presence
            if isRow { bits.insert(row) } else { bits.remove(row) }
            leaf.presence = bits
        } else if isRow {
            layout.read(slot - 1, of: node, into: leaf, row: row, arena: arena)
        }
    }
}
