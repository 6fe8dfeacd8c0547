import LMDBStorage

/// The addresses of the stored blocks.
extension IntIndex {
    /// Calls `body` with the stored blocks, beginning with the first entry whose value is at least `value`.
    func forEachStoredBlock(
        from value: Int64, _ transaction: TransactionHandle,
        _ body: (_ block: IntBlock, _ start: Int) throws(StorageError) -> Bool
    ) throws(StorageError) {
        if let directory = try directory(transaction) {
            guard directory.count > 0 else { return }
            var index = directory.index(before: value, hint: state.pointee.hint)
            state.pointee.hint = index
            guard let first = directory.block(index) else { throw damaged(transaction) }
            let place = first.lowerBound(value: value)
            if place < first.count, !(try body(first, place)) { return }
            index += 1
            while index < directory.count {
                guard let block = directory.block(index) else { throw damaged(transaction) }
                guard try body(block, 0) else { return }
                index += 1
            }
            return
        }
        let cursor = try transaction.cursor(blocks)
        let key = scratchKey.make(IntEntry(value: value, key: .min))
        var entry: Entry?
        entry = try cursor.setRange(key) == nil ? try cursor.last() : try cursor.previous()
        if entry.map({ IndexKey.hasPrefix($0.key, prefix) }) != true {
            // No block of this column begins before the value; the first found block may still belong to the column.
            entry = try cursor.setRange(key)
        }
        var isFirst = true
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            guard let block = IntBlock(found.value) else { throw damaged(transaction) }
            let place = isFirst ? block.lowerBound(value: value) : 0
            isFirst = false
            if place < block.count, !(try body(block, place)) { return }
            entry = try cursor.next()
        }
    }

    /// Returns the directory; creates one if enough lookups would use it, otherwise returns nil.
    @inline(__always)
    func directory(
        _ transaction: TransactionHandle
    ) throws(StorageError) -> IntDirectory? {
        if state.pointee.generation == pages.generation,
            let directory = state.pointee.directory
        {
            return directory
        }
        return try considerDirectory(transaction)
    }

    @inline(never)
    private func considerDirectory(
        _ transaction: TransactionHandle
    ) throws(StorageError) -> IntDirectory? {
        if state.pointee.generation != pages.generation { forgetDirectory() }
        state.pointee.lookups += 1
        guard state.pointee.lookups > IntDirectory.leastLookups else { return nil }
        if state.pointee.threshold == 0 {
            // Visiting a block takes about a tenth of the time to find one without the directory.
            let entries = try transaction.statistics(blocks).entries
            state.pointee.threshold = Swift.max(IntDirectory.leastLookups, entries / 10)
        }
        guard state.pointee.lookups > state.pointee.threshold else { return nil }
        var bounds: [Int64] = []
        var addresses: [UnsafeRawBufferPointer] = []
        let cursor = try transaction.cursor(blocks)
        var entry = try cursor.setRange(scratchKey.make(.least))
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            guard let bound = IntIndexKey.entry(found.key) else { throw damaged(transaction) }
            bounds.append(bound.value)
            addresses.append(found.value)
            entry = try cursor.next()
        }
        let directory = IntDirectory(bounds, addresses)
        state.pointee.directory = directory
        return directory
    }
}
