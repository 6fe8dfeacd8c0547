import LMDBStorage

/// Changes to the index, which are collected in memory and merged into the blocks once.
extension BytesIndex {
    /// Pending changes are merged early when they take more memory than this, and more than a quarter of the stored
    /// blocks do.
    ///
    /// A merge of random values rewrites all blocks, so there must not be many merges of few values.
    static let pendingLimit = 24 << 20
    private static let greatestPendingLimit = 64 << 20

    /// The memory of ascending changes after all blocks from which they are flushed.
    ///
    /// An early flush costs no more than a late one, because only the last block is written twice.
    private static let tailLimit = 8 << 20

    /// Adds an entry, as a copy of the bytes and a record in memory.
    package func insert(
        _ bytes: UnsafeRawBufferPointer, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        try add(bytes, key, 1, transaction)
    }

    /// Removes one entry, which must exist.
    package func remove(
        _ bytes: UnsafeRawBufferPointer, _ key: ObjectKey, in transaction: TransactionHandle
    ) throws(StorageError) {
        try add(bytes, key, -1, transaction)
    }

    private func add(
        _ bytes: UnsafeRawBufferPointer, _ key: ObjectKey, _ change: Int32,
        _ transaction: TransactionHandle
    ) throws(StorageError) {
        if delta == nil {
            delta = BytesDelta(nextCheck: Swift.min(pendingLimit, IndexMemory.firstCheck))
        }
        // because: it was made above.
        delta!.add(bytes, key.rawValue, change: change)
        if delta!.wantsGreatest { delta!.setGreatest(try greatestStored(transaction)) }
        if delta!.size > delta!.nextCheck { try flushIfLarge(transaction) }
    }

    @inline(never)
    private func flushIfLarge(_ transaction: TransactionHandle) throws(StorageError) {
        // because: the caller has added to it.
        let size = delta!.size
        let isTail = delta!.isTail
        // With the copy of a buffer that grows.
        guard pages.memory.grants(size * 2, replacing: delta!.granted) else {
            return try isTail ? flush(in: transaction) : flushEarly(transaction)
        }
        delta!.granted = size * 2
        let tailLimit = Swift.min(Self.tailLimit, pendingLimit)
        if isTail, size > tailLimit { return try flush(in: transaction) }
        let limit = try size > pendingLimit ? mergeLimit(transaction) : pendingLimit
        if size > limit { return try flushEarly(transaction) }
        let next = size > tailLimit ? limit : tailLimit
        delta!.nextCheck =
            pages.memory.isLimited ? Swift.min(next, size + IndexMemory.step) : next
    }

    /// The size from which changes are merged that may be anywhere in the blocks.
    private func mergeLimit(_ transaction: TransactionHandle) throws(StorageError) -> Int {
        if let known = delta?.mergeLimit { return known }
        let stored = try transaction.statistics(pages.blocks).pages << 12
        let limit = Swift.max(pendingLimit, Swift.min(stored / 4, Self.greatestPendingLimit))
        delta?.mergeLimit = limit
        return limit
    }

    /// Merges the changes of a write that has more to come.
    private func flushEarly(_ transaction: TransactionHandle) throws(StorageError) {
        guard delta != nil else { return }
        if merged == nil, try !hasBlocks(transaction) { merged = MergedEntries() }
        // because: tested
        let changes = delta!.takeSums()
        if merged?.isFull == true {
            merged?.deallocate()
            merged = nil
        }
        merged?.add(changes)
        pages.invalidate()
        try merge(changes, transaction)
        dropDelta()
    }

    private func hasBlocks(_ transaction: TransactionHandle) throws(StorageError) -> Bool {
        let cursor = try transaction.cursor(pages.blocks)
        guard let first = try cursor.setRange(scratchKey.least()) else { return false }
        return IndexKey.hasPrefix(first.key, prefix)
    }

    private func dropDelta() {
        pages.memory.release(delta?.granted ?? 0)
        delta?.deallocate()
        delta = nil
    }

    private func greatestStored(
        _ transaction: TransactionHandle
    ) throws(StorageError) -> [UInt8]? {
        let cursor = try transaction.cursor(pages.blocks)
        var following = IndexKey.following(prefix)
        let result = withUnsafeBytes(of: &following) { bytes -> Result<Entry?, StorageError> in
            do throws(StorageError) {
                return .success(
                    try cursor.setRange(bytes) == nil ? try cursor.last() : try cursor.previous())
            } catch { return .failure(error) }
        }
        guard let last = try result.get(), IndexKey.hasPrefix(last.key, prefix) else { return nil }
        guard let block = BytesBlock(last.value) else { throw damaged(transaction) }
        let part = block.ownPart(block.count - 1)
        return [UInt8](block.common.buffer)
            + [UInt8](UnsafeRawBufferPointer(start: part.start, count: part.count))
    }

    /// Discards all changes since the last ``flush(in:)``.
    package func cancel() {
        dropDelta()
        merged?.deallocate()
        merged = nil
    }

    /// Removes all stored and pending entries.
    package func removeAll(in transaction: TransactionHandle) throws(StorageError) {
        cancel()
        pages.invalidate()
        let cursor = try transaction.cursor(pages.blocks)
        var entry = try cursor.setRange(scratchKey.least())
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            try cursor.delete()
            entry = try cursor.next()
        }
    }

    /// Merges all changes into the stored blocks; each block is rewritten at most once.
    package func flush(in transaction: TransactionHandle) throws(StorageError) {
        guard delta != nil, hasChanges else {
            cancel()
            return
        }
        pages.invalidate()
        // because: there are changes.
        try merge(delta!.takeSums(), transaction)
        cancel()
    }

    private func merge(
        _ changes: UnsafeBufferPointer<BytesDelta.Record>, _ transaction: TransactionHandle
    ) throws(StorageError) {
        var work = Work()
        defer { work.deallocate() }
        var place = 0
        while place < changes.count {
            work.reset()
            try openRegion(for: changes[place].entry, &work, transaction)
            while true {
                work.new.truncate(to: 0)
                let end = changesBelowEnd(changes, from: place, work)
                IndexChange.apply(
                    UnsafeBufferPointer(rebasing: changes[place..<end]), to: work.old,
                    into: &work.new)
                place = end
                // A block that became small is joined with the next one; otherwise many deletions would leave many
                // small blocks.
                guard work.end != nil, work.new.count < 16, work.smallBytes else { break }
                work.old.truncate(to: 0)
                work.old.append(contentsOf: UnsafeBufferPointer(work.new.elements))
                try absorbNext(&work, transaction)
            }
            try store(&work, transaction)
        }
    }

    /// A region of the index that is being rewritten.
    private struct Work {
        var arena = BytesArena()
        var old = GrowableBuffer<BytesEntry>()
        var new = GrowableBuffer<BytesEntry>()
        var packed = GrowableBuffer<UInt8>(capacity: 4096)
        /// The key of the stored block that the result replaces; nil for a new block.
        var replaced: [UInt8]?
        /// Whether entries may precede that key, so that the result needs the least key of the column.
        var startsColumn = false
        /// The key of the next block; nil if there is none.
        var end: [UInt8]?
        /// Whether the region is the last one of the table, so that new blocks can be appended.
        var isLastOfTable = false

        var smallBytes: Bool {
            new.elements.reduce(0) { $0 + $1.bytes.count } < BytesBlock.maximumBytes / 4
        }

        mutating func reset() {
            arena.removeAll()
            old.truncate(to: 0)
            new.truncate(to: 0)
            replaced = nil
            end = nil
            startsColumn = false
        }

        func deallocate() {
            arena.deallocate()
            old.deallocate()
            new.deallocate()
            packed.deallocate()
        }
    }

    private func openRegion(
        for entry: BytesEntry, _ work: inout Work, _ transaction: TransactionHandle
    ) throws(StorageError) {
        let cursor = try transaction.cursor(pages.blocks)
        let position = scratchKey.position(entry)
        var found = try cursor.setRange(position)
        if found.map({ $0.key.elementsEqual(position) }) != true {
            let before = found == nil ? try cursor.last() : try cursor.previous()
            if let before, IndexKey.hasPrefix(before.key, prefix) {
                found = before
            } else {
                // The first block of this column takes entries that precede all blocks.
                found = try cursor.setRange(position)
                work.startsColumn = true
            }
        }
        guard let found, IndexKey.hasPrefix(found.key, prefix) else {
            work.isLastOfTable = found == nil
            return
        }
        guard let block = BytesBlock(found.value) else { throw damaged(transaction) }
        work.replaced = [UInt8](found.key)
        guard block.unpack(into: &work.old, &work.arena) else { throw damaged(transaction) }
        let next = try cursor.next()
        work.end = next.flatMap { IndexKey.hasPrefix($0.key, prefix) ? [UInt8]($0.key) : nil }
        work.isLastOfTable = next == nil
    }

    private func absorbNext(
        _ work: inout Work, _ transaction: TransactionHandle
    ) throws(StorageError) {
        guard let key = work.end else { return }
        let cursor = try transaction.cursor(pages.blocks)
        guard let found = try cursor.set(work.arena.copy(key)), let block = BytesBlock(found.value)
        else {
            throw damaged(transaction)
        }
        guard block.unpack(into: &work.old, &work.arena) else { throw damaged(transaction) }
        try cursor.delete()
        let next = try cursor.next()
        work.end = next.flatMap { IndexKey.hasPrefix($0.key, prefix) ? [UInt8]($0.key) : nil }
        work.isLastOfTable = next == nil
    }

    /// Returns the index of the first change after the region.
    private func changesBelowEnd(
        _ changes: UnsafeBufferPointer<BytesDelta.Record>, from start: Int, _ work: Work
    ) -> Int {
        guard let end = work.end else { return changes.count }
        return end.withUnsafeBytes { end in
            let end = BytesView(end)
            return IndexChange.firstIndex(in: changes, from: start) {
                BytesView(scratchKey.position($0)).compare(end) < 0
            }
        }
    }

    private func store(
        _ work: inout Work, _ transaction: TransactionHandle
    ) throws(StorageError) {
        var replaced = work.replaced.map { work.arena.copy($0) }
        if let old = replaced, work.new.isEmpty || work.startsColumn {
            try transaction.delete(pages.blocks, old)
            replaced = nil
        }
        var rest = UnsafeBufferPointer(work.new.elements)
        var key = replaced
        while !rest.isEmpty {
            var count = BytesBlock.longestFit(rest, limit: BytesBlock.maximumEntries, scratchKey)
            // A block that overflows in the middle is halved, so both halves have space. At the end, where ascending
            // values are added, blocks are filled.
            if work.end != nil, count < rest.count, rest.count <= count * 2 {
                count = BytesBlock.longestFit(rest, limit: (rest.count + 1) / 2, scratchKey)
            }
            BytesBlock.pack(UnsafeBufferPointer(rebasing: rest[..<count]), into: &work.packed)
            let isNew = key.map { $0.baseAddress != replaced?.baseAddress } ?? true
            try transaction.put(
                pages.blocks, key ?? scratchKey.least(),
                UnsafeRawBufferPointer(work.packed.elements), append: isNew && work.isLastOfTable)
            if count < rest.count {
                // because: blocks are only divided at separators.
                let separator = scratchKey.separator(rest[count - 1], rest[count])!
                key = UnsafeRawBufferPointer(
                    start: work.arena.copy(separator), count: separator.count)
            }
            rest = UnsafeBufferPointer(rebasing: rest[count...])
        }
    }
}
