import LMDBStorage

/// Changes to the index, which are collected in memory and merged into the blocks once.
extension IntIndex {
    /// Pending changes are merged early when there are more than these, and they take more than a quarter of the stored
    /// blocks.
    ///
    /// About 32 MiB of memory with the hash table, or with the copy that sorting needs. A merge of random values rewrites
    /// all blocks, so there must not be many merges of few values.
    private static let pendingLimit = 1 << 19
    private static let greatestPendingLimit = 1 << 20

    /// The number of ascending entries after the blocks from which they are flushed; they take 2 MiB of memory.
    ///
    /// An early flush costs no more than a late one, because only the last block is written twice.
    private static let tailLimit = 1 << 17

    /// Adds an entry.
    ///
    /// Takes a constant-time append in memory; ascending values are fastest.
    @inline(__always)
    package func insert(
        _ value: Int64, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        let delta = delta ?? makeDelta()
        if delta.pointee.wantsTail { try startTail(transaction) }
        delta.pointee.insert(IntEntry(value: value, key: key.rawValue))
        if delta.pointee.tail.count >= delta.pointee.nextTailCheck
            || delta.pointee.log.count >= delta.pointee.nextLogCheck
        {
            try flushIfLarge(transaction)
        }
    }

    /// Removes one entry, which must exist.
    ///
    /// Takes a constant-time append in memory.
    @inline(__always)
    package func remove(
        _ value: Int64, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        let delta = delta ?? makeDelta()
        delta.pointee.remove(IntEntry(value: value, key: key.rawValue))
        if delta.pointee.log.count >= delta.pointee.nextLogCheck { try flushIfLarge(transaction) }
    }

    @inline(never)
    private func flushIfLarge(_ transaction: TransactionHandle) throws(StorageError) {
        guard let delta else { return }
        // With the copy of a buffer that grows.
        let size = delta.pointee.size * 2
        guard delta.pointee.tail.count < Self.tailLimit,
            pages.memory.grants(size, replacing: delta.pointee.granted)
        else { return try flush(in: transaction) }
        delta.pointee.granted = size
        let step = pages.memory.isLimited ? IndexMemory.step : .max / 2
        let (tail, log) = (delta.pointee.tail.count, delta.pointee.log.count)
        delta.pointee.nextTailCheck = Swift.min(
            Self.tailLimit, tail + step / MemoryLayout<IntEntry>.stride)
        if log < Self.pendingLimit {
            delta.pointee.nextLogCheck = Swift.min(
                Self.pendingLimit, log + step / MemoryLayout<IntDelta.Record>.stride)
            return
        }
        let limit: Int
        if let known = delta.pointee.mergeLimit {
            limit = known
        } else {
            let stored = try transaction.statistics(blocks).pages << 12
            let most = stored / 4 / MemoryLayout<IntDelta.Record>.stride
            limit = Swift.min(Swift.max(Self.pendingLimit, most), Self.greatestPendingLimit)
            delta.pointee.mergeLimit = limit
        }
        if log >= limit { return try flush(in: transaction) }
        delta.pointee.nextLogCheck = Swift.min(
            limit, log + step / MemoryLayout<IntDelta.Record>.stride)
    }

    /// Discards all changes since the last ``flush(in:)``.
    package func cancel() { dropDelta() }

    /// Removes all stored and pending entries.
    package func removeAll(in transaction: TransactionHandle) throws(StorageError) {
        cancel()
        pages.invalidate()
        let cursor = try transaction.cursor(blocks)
        var entry = try cursor.setRange(scratchKey.make(.least))
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            try cursor.delete()
            entry = try cursor.next()
        }
    }

    /// Merges all changes into the stored blocks; each block is rewritten at most once.
    package func flush(in transaction: TransactionHandle) throws(StorageError) {
        guard let delta, hasChanges else {
            cancel()
            return
        }
        pages.invalidate()
        let sums = delta.pointee.takeSums()
        let tail = delta.pointee.tail
        if tail.isEmpty, sums.count == 1, sums[0].change == 1,
            try insertAlone(sums[0].entry, transaction)
        {
            cancel()
            return
        }
        if tail.isEmpty {
            try merge(sums, transaction)
        } else if sums.last.map({ $0.entry < tail[0] }) ?? true {
            if !sums.isEmpty { try merge(sums, transaction) }
            try append(tail, transaction)
        } else {
            var changes = GrowableBuffer<IntDelta.Record>()
            defer { changes.deallocate() }
            var place = 0
            for entry in tail.elements {
                while place < sums.count, sums[place].entry <= entry {
                    changes.append(sums[place])
                    place += 1
                }
                // This removes an entry that is still in the tail, or another copy of it.
                if let last = changes.last, last.entry == entry {
                    changes[changes.count - 1].change += 1
                } else {
                    changes.append(IntDelta.Record(entry: entry, change: 1, previous: 0))
                }
            }
            changes.append(contentsOf: UnsafeBufferPointer(rebasing: sums[place...]))
            try merge(UnsafeBufferPointer(changes.elements), transaction)
        }
        cancel()
    }

    @inline(never)
    private func startTail(_ transaction: TransactionHandle) throws(StorageError) {
        let greatest = try greatestStored(transaction)
        delta?.pointee.useTail(above: greatest)
    }

    private func greatestStored(
        _ transaction: TransactionHandle
    ) throws(StorageError) -> IntEntry? {
        let cursor = try transaction.cursor(blocks)
        let last =
            try cursor.setRange(scratchKey.make(IntEntry(value: .max, key: .max))) == nil
            ? try cursor.last() : try cursor.previous()
        guard let last, IndexKey.hasPrefix(last.key, prefix) else { return nil }
        guard let block = IntBlock(last.value) else { throw damaged(transaction) }
        return block.entry(block.count - 1)
    }

    /// Inserts one entry into its stored block; returns false if the block must be packed in another form.
    ///
    /// This is the usual case of a commit that adds one row.
    private func insertAlone(
        _ entry: IntEntry, _ transaction: TransactionHandle
    ) throws(StorageError) -> Bool {
        var bound: IntEntry?
        var size = 0
        let packed = UnsafeMutableRawPointer.allocate(
            byteCount: IntBlock.maximumBytes + 16, alignment: 8)
        defer { packed.deallocate() }
        do {
            let cursor = try transaction.cursor(blocks)
            let after = try cursor.setRange(scratchKey.make(entry))
            if let after, IntIndexKey.entry(after.key) == entry { return false }
            let before = after == nil ? try cursor.last() : try cursor.previous()
            guard let before, IndexKey.hasPrefix(before.key, prefix),
                let block = IntBlock(before.value)
            else { return false }
            size = block.insert(entry, into: packed)
            bound = IntIndexKey.entry(before.key)
        }
        guard size > 0, let bound else { return false }
        try transaction.put(
            blocks, scratchKey.make(bound), UnsafeRawBufferPointer(start: packed, count: size))
        return true
    }

    /// Stores entries that are greater than all others, after those of the last block.
    private func append(
        _ tail: GrowableBuffer<IntEntry>, _ transaction: TransactionHandle
    ) throws(StorageError) {
        var entries = GrowableBuffer<IntEntry>()
        defer { entries.deallocate() }
        let packed = UnsafeMutableRawPointer.allocate(
            byteCount: IntBlock.maximumBytes + 16, alignment: 8)
        defer { packed.deallocate() }
        let region = try openRegion(for: tail[0], &entries, transaction)
        entries.append(contentsOf: UnsafeBufferPointer(tail.elements))
        try store(entries, region, packed, transaction)
    }

    /// Merges sorted changes: finds the block of the next change, applies all changes up to the following block, and
    /// stores the result.
    private func merge(
        _ changes: UnsafeBufferPointer<IntDelta.Record>, _ transaction: TransactionHandle
    ) throws(StorageError) {
        var old = GrowableBuffer<IntEntry>()
        var new = GrowableBuffer<IntEntry>()
        defer {
            old.deallocate()
            new.deallocate()
        }
        let packed = UnsafeMutableRawPointer.allocate(
            byteCount: IntBlock.maximumBytes + 16, alignment: 8)
        defer { packed.deallocate() }
        var place = 0
        while place < changes.count {
            old.truncate(to: 0)
            var region = try openRegion(for: changes[place].entry, &old, transaction)
            var isWhole = false
            while !isWhole {
                new.truncate(to: 0)
                let end = region.end.map { end in
                    IndexChange.firstIndex(in: changes, from: place) { $0 < end }
                }
                let due = UnsafeBufferPointer(rebasing: changes[place..<(end ?? changes.count)])
                IndexChange.apply(due, to: old, into: &new)
                place += due.count
                isWhole = true
                // A block that became small is joined with the next one; otherwise many deletions would leave many
                // small blocks.
                if region.end != nil, new.count < 48 {
                    old.truncate(to: 0)
                    old.append(contentsOf: UnsafeBufferPointer(new.elements))
                    try absorbNext(&region, &old, transaction)
                    isWhole = false
                }
            }
            try store(new, region, packed, transaction)
        }
    }

    /// A region of the index that is being rewritten.
    private struct Region {
        /// The key of the stored block that the result replaces; nil for a new block.
        var replaced: IntEntry?
        /// The beginning of the next block; nil if there is none.
        var end: IntEntry?
        /// Whether the region is the last one of the table, so that new blocks can be appended.
        var isLastOfTable: Bool
    }

    private func openRegion(
        for entry: IntEntry, _ old: inout GrowableBuffer<IntEntry>,
        _ transaction: TransactionHandle
    ) throws(StorageError) -> Region {
        let cursor = try transaction.cursor(blocks)
        let exactOrAfter = try cursor.setRange(scratchKey.make(entry))
        var found = exactOrAfter
        if let candidate = exactOrAfter, IndexKey.hasPrefix(candidate.key, prefix),
            IntIndexKey.entry(candidate.key) == entry
        {
            // The block begins with exactly this entry.
        } else {
            let before = exactOrAfter == nil ? try cursor.last() : try cursor.previous()
            if let before, IndexKey.hasPrefix(before.key, prefix) {
                found = before
            } else {
                // The first block of this column takes entries that precede all blocks.
                found = try cursor.setRange(scratchKey.make(entry))
            }
        }
        guard let found, IndexKey.hasPrefix(found.key, prefix) else {
            return Region(replaced: nil, end: nil, isLastOfTable: found == nil)
        }
        guard let bound = IntIndexKey.entry(found.key), let block = IntBlock(found.value) else {
            throw damaged(transaction)
        }
        block.unpack(into: old.extend(by: block.count))
        let next = try cursor.next()
        return Region(replaced: bound, end: try end(next, transaction), isLastOfTable: next == nil)
    }

    private func end(
        _ entry: Entry?, _ transaction: TransactionHandle
    ) throws(StorageError) -> IntEntry? {
        guard let entry, IndexKey.hasPrefix(entry.key, prefix) else { return nil }
        guard let bound = IntIndexKey.entry(entry.key) else { throw damaged(transaction) }
        return bound
    }

    private func absorbNext(
        _ region: inout Region, _ old: inout GrowableBuffer<IntEntry>,
        _ transaction: TransactionHandle
    ) throws(StorageError) {
        // because: the caller has checked it.
        let start = region.end!
        let cursor = try transaction.cursor(blocks)
        guard let found = try cursor.set(scratchKey.make(start)),
            let block = IntBlock(found.value)
        else { throw damaged(transaction) }
        block.unpack(into: old.extend(by: block.count))
        try cursor.delete()
        let next = try cursor.next()
        region.end = try end(next, transaction)
        region.isLastOfTable = next == nil
    }

    private func store(
        _ entries: GrowableBuffer<IntEntry>, _ region: Region, _ packed: UnsafeMutableRawPointer,
        _ transaction: TransactionHandle
    ) throws(StorageError) {
        guard let first = entries.isEmpty ? nil : entries[0] else {
            if let replaced = region.replaced {
                try transaction.delete(blocks, scratchKey.make(replaced))
            }
            return
        }
        // The key of a stored block may be less than its first entry, so a block keeps its key unless an entry was
        // inserted before it.
        var key = first
        if let replaced = region.replaced {
            if first < replaced {
                try transaction.delete(blocks, scratchKey.make(replaced))
            } else {
                key = replaced
            }
        }
        var rest = UnsafeBufferPointer(entries.elements)
        while !rest.isEmpty {
            var layout = IntBlockPacker.longestFit(rest, limit: IntBlock.maximumEntries)
            // A block that overflows in the middle is halved, so both halves have space. At the end, where ascending
            // values are added, blocks are filled.
            if region.end != nil, layout.count < rest.count, rest.count <= layout.count * 2 {
                layout = IntBlockPacker.longestFit(rest, limit: (rest.count + 1) / 2)
            }
            IntBlockPacker.pack(rest, layout, into: packed)
            let isNew = key != region.replaced
            try transaction.put(
                blocks, scratchKey.make(key),
                UnsafeRawBufferPointer(start: packed, count: layout.bytes),
                append: isNew && region.isLastOfTable)
            rest = UnsafeBufferPointer(rebasing: rest[layout.count...])
            if let next = rest.first { key = next }
        }
    }
}
