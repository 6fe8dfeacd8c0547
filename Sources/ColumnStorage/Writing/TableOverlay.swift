import LMDBStorage

/// The changes of an open write to one table: its unpacked leaves, the leaves that it has flushed, and the marks from
/// which the change set is created.
final class TableOverlay {
    let id: TableID
    // because: the reader owns this object, and the session exists from `begin` to `end`.
    unowned(unsafe) let reader: TableReader
    @exclusivity(unchecked) unowned(unsafe) private(set) var session: WriteSession

    /// The unpacked leaves, by leaf key.
    @exclusivity(unchecked) var leaves: [UInt64: UnpackedLeaf] = [:]
    /// The last used unpacked leaf, by slot.
    @exclusivity(unchecked) var recent: [(cluster: Int, leaf: UnpackedLeaf)?]
    /// The leaves whose newest form is in the write transaction.
    @exclusivity(unchecked) var flushed: Set<UInt64> = []
    /// The marks of flushed leaves.
    @exclusivity(unchecked) var marks = JournaledMap<UInt64, ClusterBits>()
    /// The committed forms of some flushed leaves; they save a search when old values are kept.
    @exclusivity(unchecked) private(set) var origins: [(key: LeafKey, address: UnsafeRawPointer)] =
        []
    /// The presence before and after the write, for clusters whose presence was flushed.
    @exclusivity(unchecked) var presence = JournaledMap<Int, (old: ClusterBits, new: ClusterBits)>()
    /// Whether the table was touched, even without a resulting change.
    @exclusivity(unchecked) private(set) var isTouched = false
    /// Whether the write has removed the table with all its data.
    @exclusivity(unchecked) var isRemoved = false
    @exclusivity(unchecked) private(set) var headBefore = TableHead()
    @exclusivity(unchecked) var headAfter: TableHead?
    /// Whether the cluster that was the newest at the beginning of the write was packed into leaves.
    @exclusivity(unchecked) var isTailPacked = false
    /// The values of the new head that describe the tail, if the write has stored rows there.
    @exclusivity(unchecked) var tailRows: (stamp: UInt64, bound: Int64)?
    /// Whether the reader's leaves of the newest cluster have the changes of the write.
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
        assert(
            leaves.isEmpty && flushed.isEmpty && marks.isEmpty && presence.isEmpty,
            "a write begins without changes")
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
        headBefore.hasIndexRuns = reader.indexTables.hasRuns
        // A write that was rolled back may have had more slots than there are columns now.
        recent.removeLast(max(0, recent.count - reader.definition.columns.count - 1))
        columnsChanged()
        isTouched = false
        for index in reader.rowIndexes { index.begin(reader.keyBound) }
    }

    /// Returns the table's head after the write, when all leaves are flushed.
    func closeHead() -> TableHead {
        assert(leaves.isEmpty, "the leaves are flushed before the head")
        assert(reader.keyBound >= headBefore.keyBound, "keys are not used again")
        var head = headBefore
        head.keyBound = reader.keyBound
        head.count = Int64(reader.count)
        head.hasIndexRuns = reader.indexTables.hasRuns
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

    /// Updates the slots after a change of the definition.
    func columnsChanged() {
        isTouched = true
        let slots = reader.definition.columns.count + 1
        while recent.count < slots { recent.append(nil) }
    }

    // MARK: Unpacked leaves

    /// Returns the unpacked leaf of a slot, and creates it from the file's leaf if necessary.
    @inline(__always)
    func unpackedLeaf(_ slot: Int, _ cluster: Int) -> UnpackedLeaf {
        if let last = recent[slot], last.cluster == cluster { return last.leaf }
        return findUnpackedLeaf(slot, cluster)
    }

    @inline(never)
    private func findUnpackedLeaf(_ slot: Int, _ cluster: Int) -> UnpackedLeaf {
        let key = LeafKey(id, cluster: cluster, slot: slot).rawValue
        let leaf: UnpackedLeaf
        if let known = leaves[key] {
            leaf = known
        } else {
            isTouched = true
            if keepsTail(cluster),
                let kept = session.reading(
                    or: nil, { () throws(StorageError) in try reader.tailLeaves().leaf(slot) })
            {
                usesTail = true
                kept.marks = slot == 0 ? kept.presence : .zero
                leaves[key] = kept
                reader.enter(slot, cluster, UnsafeRawPointer(kept.address))
                recent[slot] = (cluster, kept)
                return kept
            }
            session.makeSpace()
            let width = width(of: slot)
            // If the leaf is unreadable, the write has failed. Its further changes then go to a leaf that is not in the
            // directory, so that reads still throw the error.
            let stored = session.reading(or: nil) { () throws(StorageError) in
                try reader.leaf(slot, cluster)
            }
            let source = stored ?? (slot == 0 ? LeafDefaults.absent : LeafDefaults.nulls)
            leaf = session.pool.take(width: width)
            if slot == 0 {
                let bits = source.loadUnaligned(as: ClusterBits.self)
                leaf.presence = bits
                leaf.marks = presence[cluster]?.old ?? bits
            } else {
                // A copy of a flushed leaf may be freed before the unpacked leaf is.
                let isFlushed = !flushed.isEmpty && flushed.contains(key)
                leaf.unpack(
                    Leaf(source), kind(of: slot), text: isFlushed ? session.arena.copy : nil)
                leaf.marks = marks[key] ?? .zero
                if cluster != tailCluster, !isFlushed { leaf.origin = source }
            }
            leaves[key] = leaf
            if stored != nil { reader.enter(slot, cluster, UnsafeRawPointer(leaf.address)) }
        }
        recent[slot] = (cluster, leaf)
        return leaf
    }

    func kind(of slot: Int) -> ColumnKind { reader.definition.columns[slot - 1].kind }

    func width(of slot: Int) -> Int {
        slot == 0 ? 0 : UnpackedLeaf.width(of: kind(of: slot))
    }

    /// Returns whether a row already had a value in a column: it is older than the write, or the write has set the
    /// column.
    func hadValue(_ slot: Int, _ cluster: Int, _ row: Int) -> Bool {
        wasPresent(cluster, row) || marksOf(slot, cluster).contains(row)
    }

    /// Returns whether the write has set a column of a row that is older than the write.
    func hasSet(_ column: ColumnID, _ key: ObjectKey) -> Bool {
        marksOf(column.rawValue + 1, Int(key.rawValue) / Cluster.rows)
            .contains(Int(key.rawValue) % Cluster.rows)
    }

    /// Returns whether a row is older than the write.
    func wasPresent(_ cluster: Int, _ row: Int) -> Bool {
        guard cluster * Cluster.rows + row < Int(headBefore.keyBound) else { return false }
        if let leaf = leaves[LeafKey(id, cluster: cluster, slot: 0).rawValue] {
            return leaf.marks.contains(row)
        }
        if let known = presence[cluster] { return known.old.contains(row) }
        return session.reading(or: false) { () throws(StorageError) in
            try reader.isPresent(cluster, row)
        }
    }

    private func marksOf(_ slot: Int, _ cluster: Int) -> ClusterBits {
        let key = LeafKey(id, cluster: cluster, slot: slot).rawValue
        return leaves[key]?.marks ?? marks[key] ?? .zero
    }

    /// Records that a leaf was flushed.
    func recordFlushed(_ key: LeafKey) { flushed.insert(key.rawValue) }

    /// Records the address of the committed form of a leaf.
    func recordOrigin(_ key: LeafKey, _ leaf: UnpackedLeaf) {
        if let address = leaf.origin, origins.count < 16 { origins.append((key, address)) }
    }

    /// Discards all changes of the write.
    func discard() {
        discardLeaves()
        flushed.reset()
        marks.reset()
        presence.reset()
        if !origins.isEmpty { origins.removeAll(keepingCapacity: true) }
    }

    /// Discards every unpacked leaf, and with it all changes that the write has not flushed.
    func discardLeaves() {
        for (key, leaf) in leaves {
            let key = LeafKey(rawValue: key)
            if !keepsTail(key.cluster) {
                session.pool.release(leaf, width: width(of: key.slot))
            }
        }
        leaves.reset()
        for slot in recent.indices { recent[slot] = nil }
    }

    /// Moves the reader's newest cluster to the new version after a commit.
    func didCommit() {
        guard let head = headAfter else { return }
        reader.didCommit(head, keepsLeaves: !usesTail || keptTail)
    }

    /// Adds the unpacked leaves to the directory again after it was invalidated.
    func restoreAddresses() {
        for (key, leaf) in leaves {
            let key = LeafKey(rawValue: key)
            reader.enter(key.slot, key.cluster, UnsafeRawPointer(leaf.address))
        }
    }
}

extension Set {
    /// Removes all elements.
    fileprivate mutating func reset() {
        let isSmall = capacity < keptHashCapacity
        if !isEmpty || !isSmall { removeAll(keepingCapacity: isSmall) }
    }
}

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
        assert(
            !changes.inserted.intersects(changes.deleted), "an inserted row is not deleted")
        if marks.isEmpty { return changes }
        if marks.values.count == 1, let (key, set) = marks.values.first {
            try record(set, of: LeafKey(rawValue: key), in: &changes)
        } else {
            for key in marks.values.keys.sorted(by: {
                LeafKey(rawValue: $0).cluster < LeafKey(rawValue: $1).cluster
            }) {
                guard let set = marks[key] else { continue }
                try record(set, of: LeafKey(rawValue: key), in: &changes)
            }
        }
        assert(
            changes.modified.values.allSatisfy {
                !$0.intersects(changes.inserted) && !$0.intersects(changes.deleted)
            }, "a modified row is neither inserted nor deleted")
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
    private func record(
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

// Dropping a column, and removing all rows at once.
extension TableOverlay {
    /// Removes and frees the leaves of a slot whose column is dropped.
    ///
    /// The newest cluster must have been packed.
    func removeLeaves(of slot: Int) throws(StorageError) {
        assert(isTailPacked, "a column is dropped after the newest cluster is packed")
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
        assert(isTailPacked, "all rows are removed after the newest cluster is packed")
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
