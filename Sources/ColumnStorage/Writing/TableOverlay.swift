import LMDBStorage

/// What an open write has done to one table: its heap leaves, what it has put away already, and the marks
/// from which the change set is made.
final class TableOverlay {
    let id: TableID
    // because: the reader owns this, and the session is there from `begin` to `end`.
    unowned(unsafe) let reader: TableReader
    @exclusivity(unchecked) unowned(unsafe) private(set) var session: WriteSession

    /// Heap leaves by leaf key.
    @exclusivity(unchecked) private(set) var leaves: [UInt64: HeapLeaf] = [:]
    /// The heap leaf used last, by slot.
    @exclusivity(unchecked) private var recent: [(cluster: Int, leaf: HeapLeaf)?]
    /// Leaves whose newest form lies in the write transaction.
    @exclusivity(unchecked) private(set) var flushed: Set<UInt64> = []
    /// Marks of leaves that were put away.
    @exclusivity(unchecked) var marks: [UInt64: ClusterBits] = [:]
    /// Presence before and after, of clusters whose presence was put away.
    @exclusivity(unchecked) var presence: [Int: (old: ClusterBits, new: ClusterBits)] = [:]
    /// Whether the table was touched at all, net changes or not.
    @exclusivity(unchecked) private(set) var isTouched = false
    /// Whether the write has removed the table with all that it stored.
    @exclusivity(unchecked) private(set) var isRemoved = false
    @exclusivity(unchecked) private(set) var headBefore = TableHead()
    @exclusivity(unchecked) private var headAfter: TableHead?
    /// Whether the cluster that was the newest when the write began has become leaves.
    @exclusivity(unchecked) var isTailPacked = false
    /// What the head is going to say about rows that wait in the tail, if the write has stored any.
    @exclusivity(unchecked) var tailRows: (stamp: UInt64, bound: Int64)?
    /// Whether the reader's own leaves of the newest cluster are what the write has made them.
    @exclusivity(unchecked) var keptTail = false
    @exclusivity(unchecked) private var usesTail = false

    init(_ reader: TableReader, _ session: WriteSession) {
        id = reader.id
        self.reader = reader
        self.session = session
        recent = Array(repeating: nil, count: reader.definition.columns.count + 1)
        begin(session)
    }

    /// Begins another write.
    func begin(_ session: WriteSession) {
        self.session = session
        isTouched = false
        isRemoved = false
        isTailPacked = false
        tailRows = nil
        keptTail = false
        usesTail = false
        headAfter = nil
        headBefore = TableHead()
        headBefore.keyBound = reader.keyBound
        headBefore.count = Int64(reader.count)
        headBefore.hasTailRows = reader.hasTailRows
        headBefore.tailStamp = reader.tailStamp
        columnsChanged()
        isTouched = false
        for index in reader.rowIndexes { index.begin(reader.keyBound) }
    }

    /// What the table's head says after the write, once everything is put away.
    func closeHead() -> TableHead {
        var head = headBefore
        head.keyBound = reader.keyBound
        head.count = Int64(reader.count)
        if isTailPacked {
            head.hasTailRows = false
            head.tailStamp = session.transaction.handle.version
        }
        if let tailRows {
            head.hasTailRows = true
            head.tailStamp = tailRows.stamp
        }
        headAfter = head
        return head
    }

    var slotCount: Int { recent.count }

    var hasFlushed: Bool { !flushed.isEmpty }

    func touch() { isTouched = true }

    /// The definition has changed; slots may have been added.
    func columnsChanged() {
        isTouched = true
        let slots = reader.definition.columns.count + 1
        while recent.count < slots { recent.append(nil) }
    }

    // MARK: Heap leaves

    /// The heap leaf of a slot, made from what the file has when there is none yet.
    @inline(__always)
    func heapLeaf(_ slot: Int, _ cluster: Int) -> HeapLeaf {
        if let last = recent[slot], last.cluster == cluster { return last.leaf }
        return findHeapLeaf(slot, cluster)
    }

    @inline(never)
    private func findHeapLeaf(_ slot: Int, _ cluster: Int) -> HeapLeaf {
        let key = LeafKey(id, cluster: cluster, slot: slot).rawValue
        let leaf: HeapLeaf
        if let known = leaves[key] {
            leaf = known
        } else {
            isTouched = true
            if keepsTail(cluster) {
                usesTail = true
                leaf = reader.tailLeaves().leaf(slot)
                leaf.marks = slot == 0 ? leaf.presence : .zero
                leaves[key] = leaf
                reader.enter(slot, cluster, UnsafeRawPointer(leaf.address))
                recent[slot] = (cluster, leaf)
                return leaf
            }
            session.makeRoom()
            let width = width(of: slot)
            let source = reader.leaf(slot, cluster)
            leaf = session.pool.take(width: width)
            session.heapSize += LeafPool.size(width)
            if slot == 0 {
                let bits = source.loadUnaligned(as: ClusterBits.self)
                leaf.presence = bits
                leaf.marks = presence[cluster]?.old ?? bits
            } else {
                leaf.unpack(Leaf(source), kind(of: slot), text: nil)
                leaf.marks = marks[key] ?? .zero
            }
            leaves[key] = leaf
            reader.enter(slot, cluster, UnsafeRawPointer(leaf.address))
        }
        recent[slot] = (cluster, leaf)
        return leaf
    }

    private func kind(of slot: Int) -> ColumnKind { reader.definition.columns[slot - 1].kind }

    private func width(of slot: Int) -> Int {
        slot == 0 ? 0 : HeapLeaf.width(of: kind(of: slot))
    }

    /// Whether the row had a value in the column before: it is older than the write, or was set in it.
    func hadValue(_ slot: Int, _ cluster: Int, _ row: Int) -> Bool {
        wasPresent(cluster, row) || marksOf(slot, cluster).contains(row)
    }

    /// Whether the row is older than the write.
    func wasPresent(_ cluster: Int, _ row: Int) -> Bool {
        guard cluster * Cluster.rows + row < Int(headBefore.keyBound) else { return false }
        if let leaf = leaves[LeafKey(id, cluster: cluster, slot: 0).rawValue] {
            return leaf.marks.contains(row)
        }
        if let known = presence[cluster] { return known.old.contains(row) }
        return reader.isPresent(cluster, row)
    }

    private func marksOf(_ slot: Int, _ cluster: Int) -> ClusterBits {
        let key = LeafKey(id, cluster: cluster, slot: slot).rawValue
        return leaves[key]?.marks ?? marks[key] ?? .zero
    }

    // MARK: Putting away

    /// A copy of a leaf that lies in the write transaction; nil when the committed one is the newest.
    func copyOfFlushed(_ key: LeafKey) -> UnsafeRawBufferPointer? {
        guard flushed.contains(key.rawValue) else { return nil }
        do throws(StorageError) {
            let found = try session.transaction.handle.get(reader.leaves, key.rawValue)
            guard let bytes = found, let source = bytes.baseAddress else {
                return UnsafeRawBufferPointer(start: nil, count: 0)
            }
            let copy = session.keepCopy(
                of: key, UnsafeRawBufferPointer(start: source, count: bytes.count))
            return UnsafeRawBufferPointer(start: copy, count: bytes.count)
        } catch {
            session.fail(error)
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
    }

    /// Puts away every heap leaf, in the order of their keys.
    ///
    /// The last time, a few rows of the newest cluster may stay rows.
    func flushAll(isLast: Bool = false) throws(StorageError) {
        if isLast { try storeTailRows() }
        let newest = tailCluster
        if !isTailPacked, hasLeaves(newest) { try packTail() }
        if leaves.isEmpty { return }
        if leaves.count == 1, let key = leaves.keys.first {
            return try flush(LeafKey(rawValue: key))
        }
        for key in leaves.keys.sorted() { try flush(LeafKey(rawValue: key)) }
    }

    /// Whether the write has heap leaves of a cluster.
    func hasLeaves(_ cluster: Int) -> Bool {
        if leaves.count <= 2 * slotCount {
            return leaves.keys.contains { LeafKey(rawValue: $0).cluster == cluster }
        }
        return (0..<slotCount).contains {
            leaves[LeafKey(id, cluster: cluster, slot: $0).rawValue] != nil
        }
    }

    /// Forgets all heap leaves, which are the reader's own.
    func releaseKept() {
        for slot in recent.indices {
            recent[slot] = nil
            reader.forget(slot, tailCluster)
        }
        leaves.removeAll(keepingCapacity: true)
        session.generation.pointee += 1
    }

    /// Puts away the heap leaves of one cluster.
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
                // Nobody will be in this cluster again.
                try dropCluster(cluster)
            } else {
                try withUnsafeBytesTyped(of: &stored) { bytes throws(StorageError) in
                    try session.put(
                        reader.leaves, id, key.rawValue, bytes, mayBeLast: cluster >= tailCluster)
                }
            }
            presence[cluster] = (leaf.marks, bits)
        } else {
            let present = reader.presence(cluster)
            if present.isEmpty && (cluster + 1) * Cluster.rows <= reader.keyBound {
                try session.transaction.handle.delete(reader.leaves, key.rawValue)
            } else {
                let kind = kind(of: slot)
                let long =
                    kind == .string || kind == .data
                    ? try putLong(leaf, slot, cluster, present) : .zero
                let packed = session.packer.pack(leaf, kind, present: present, long: long)
                try session.put(
                    reader.leaves, id, key.rawValue, packed, mayBeLast: cluster >= tailCluster)
            }
            if !leaf.marks.isEmpty { marks[key.rawValue] = leaf.marks }
        }
        flushed.insert(key.rawValue)
        release(key, leaf)
    }

    func release(_ key: LeafKey, _ leaf: HeapLeaf) {
        leaves[key.rawValue] = nil
        session.generation.pointee += 1
        if recent[key.slot]?.cluster == key.cluster { recent[key.slot] = nil }
        reader.forget(key.slot, key.cluster)
        if keepsTail(key.cluster) { return }
        let width = width(of: key.slot)
        session.heapSize -= LeafPool.size(width)
        session.pool.give(leaf, width: width)
    }

    private func dropCluster(_ cluster: Int) throws(StorageError) {
        for slot in 0..<recent.count {
            let key = LeafKey(id, cluster: cluster, slot: slot)
            try session.transaction.handle.delete(reader.leaves, key.rawValue)
            flushed.insert(key.rawValue)
            if leaves[key.rawValue] == nil { reader.forget(slot, cluster) }
        }
    }

    /// Stores the long values that are new and removes those that are gone.
    ///
    /// Returns which rows are long.
    private func putLong(
        _ leaf: HeapLeaf, _ slot: Int, _ cluster: Int, _ present: ClusterBits
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

    /// Every heap leaf goes, and with it everything that the write has not put away.
    func discard() {
        for (key, leaf) in leaves {
            let key = LeafKey(rawValue: key)
            if !keepsTail(key.cluster) {
                session.pool.give(leaf, width: width(of: key.slot))
            }
        }
        // What a large write has needed must not stay for ever.
        leaves.removeAll(keepingCapacity: leaves.capacity < 64)
        flushed.removeAll(keepingCapacity: flushed.capacity < 64)
        marks.removeAll(keepingCapacity: marks.capacity < 64)
        presence.removeAll(keepingCapacity: presence.capacity < 64)
        for slot in recent.indices { recent[slot] = nil }
    }

    /// After the commit: the reader's own leaves of the newest cluster are of the new version, or of none.
    func settleTail() {
        guard let head = headAfter else { return }
        if let tail = reader.tail {
            let isOther = tail.cluster != Int(head.keyBound) / Cluster.rows
            if isOther || usesTail && !keptTail || tail.arena.size > 1 << 20 { reader.dropTail() }
        }
        reader.tailBound = head.keyBound
        reader.hasTailRows = head.hasTailRows
        reader.tailStamp = head.tailStamp
    }

    /// Enters the heap leaves in the directory again after it has been voided.
    func restoreAddresses() {
        for (key, leaf) in leaves {
            let key = LeafKey(rawValue: key)
            reader.enter(key.slot, key.cluster, UnsafeRawPointer(leaf.address))
        }
    }

    // MARK: Removal

    /// Forgets and frees the leaves of a slot, whose column is dropped.
    ///
    /// The newest cluster has been packed.
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

    /// Forgets every row: all that there were before the write count as deleted.
    ///
    /// The newest cluster has been packed, and what the file stores is removed by the caller.
    func removeAllRows() {
        for cluster in 0..<reader.clusterCount {
            let before: ClusterBits
            if let leaf = leaves[LeafKey(id, cluster: cluster, slot: 0).rawValue] {
                before = leaf.marks
            } else {
                before = presence[cluster]?.old ?? reader.presence(cluster)
            }
            presence[cluster] = (before, .zero)
        }
        for (key, leaf) in leaves { release(LeafKey(rawValue: key), leaf) }
        marks.removeAll()
        isRemoved = true
        headAfter = TableHead()
    }

    // MARK: The change set

    /// What the write has done to the table, complete once everything is put away.
    func changes() -> TableChanges {
        var changes = TableChanges()
        for cluster in presence.keys.sorted() {
            guard let (old, new) = presence[cluster] else { continue }
            let base = Int64(cluster * Cluster.rows)
            changes.inserted.insert(base: base, bits: new & ~old)
            changes.deleted.insert(base: base, bits: old & ~new)
        }
        if marks.isEmpty { return changes }
        for key in marks.keys.sorted(by: {
            LeafKey(rawValue: $0).cluster < LeafKey(rawValue: $1).cluster
        }) {
            guard let set = marks[key] else { continue }
            let place = LeafKey(rawValue: key)
            let bits: ClusterBits
            if let (old, new) = presence[place.cluster] {
                bits = set & old & new
            } else {
                bits = set & reader.presence(place.cluster)
            }
            if bits.isEmpty { continue }
            changes.modified[ColumnID(place.slot - 1), default: KeySet()].insert(
                base: Int64(place.cluster * Cluster.rows), bits: bits)
        }
        for (place, list) in reader.lists.enumerated() {
            guard let list, !list.recordedEdits.isEmpty,
                let rows = changes.modified[ColumnID(place)]
            else { continue }
            for (owner, edits) in list.recordedEdits where rows.contains(ObjectKey(owner)) {
                changes.edits[ColumnID(place), default: [:]][ObjectKey(owner)] = edits
            }
        }
        return changes
    }
}

/// `withUnsafeBytes` with typed throws.
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
