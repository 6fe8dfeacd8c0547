import LMDBStorage

/// An index from bytes to rows in byte order, for columns of strings, data and fixed-size bytes.
///
/// It works like ``IntIndex``: it is a multiset in packed sorted blocks, with a directory after several lookups at a
/// version, keeps a write's changes in memory until ``flush(in:)`` or ``cancel()``, and throws `damaged` for invalid
/// stored bytes. Values may have any length; all values that share a prefix of more than 500 bytes are in one block.
package final class BytesIndex {
    let pages: IndexPages
    let prefix: UInt32
    let scratchKey: BytesIndexKey
    private var directory: BytesDirectory?
    private var generation: UInt64 = 0
    private var lookups = 0
    private var threshold = 0
    var delta: BytesDelta?
    /// The least memory of pending changes that are merged early; tests set less.
    var pendingLimit = BytesIndex.pendingLimit
    /// The values in the blocks, as long as a write knows all of them.
    var merged: MergedEntries?

    /// Creates an index of a column, in the table with the index blocks of the class.
    package init(table: TableID, column: ColumnID, pages: IndexPages) {
        self.pages = pages
        prefix = IndexKey.prefix(table, column)
        scratchKey = BytesIndexKey(prefix: prefix)
    }

    deinit {
        pages.memory.release(delta?.granted ?? 0)
        delta?.deallocate()
        merged?.deallocate()
        scratchKey.deallocate()
    }

    /// Whether there are changes that are not stored yet.
    package var hasChanges: Bool { delta.map { !$0.isEmpty } ?? false }

    func damaged(_ transaction: TransactionHandle) -> StorageError {
        StorageError(.damaged, call: "reading an index block", file: transaction.file)
    }

    // MARK: Reading

    /// Returns the first row with a value; in a unique index, the only one.
    package func find(
        _ bytes: UnsafeRawBufferPointer, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        let view = BytesView(bytes)
        if delta?.isAboveAll(view) == true { return nil }
        if delta != nil, delta!.newestRecord(of: view) != 0 {  // because: checked for nil
            return try keys(equalTo: bytes, in: transaction).first
        }
        if let merged, !merged.mayContain(view) { return nil }
        var found: ObjectKey?
        try forEachStoredBlock(from: view, transaction) { block, place, isEqual in
            if isEqual { found = ObjectKey(rawValue: block.key(place)) }
            return false
        }
        return found
    }

    /// Returns all rows with a value, ascending and with the duplicates in the index.
    package func keys(
        equalTo bytes: UnsafeRawBufferPointer, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        let view = BytesView(bytes)
        var sums: [Int64: Int] = [:]
        var record = delta == nil ? 0 : delta!.newestRecord(of: view)  // because: checked for nil
        while record != 0, let change = delta?.log[Int(record) - 1] {
            sums[change.entry.key, default: 0] += Int(change.change)
            record = change.previous
        }
        var result: [ObjectKey] = []
        try forEachStoredBlock(from: view, transaction) { block, start, isEqual in
            guard isEqual else { return false }
            if block.isUniform {
                for place in start..<block.count {
                    result.append(ObjectKey(rawValue: block.key(place)))
                }
                return true
            }
            // Equal values are adjacent and have equal own parts.
            let first = block.ownPart(start)
            var place = start
            while place < block.count {
                let part = block.ownPart(place)
                guard
                    BytesView.compare(part.start, part.count, first.start, first.count) == 0
                else { return false }
                result.append(ObjectKey(rawValue: block.key(place)))
                place += 1
            }
            return true
        }
        if sums.isEmpty { return result }
        for key in result { sums[key.rawValue, default: 0] += 1 }
        result.removeAll()
        for (key, count) in sums.sorted(by: { $0.key < $1.key }) {
            for _ in 0..<Swift.max(0, count) { result.append(ObjectKey(rawValue: key)) }
        }
        return result
    }

    /// Calls `body` with the entries from some bytes on until it returns false; they are ordered by bytes, then by key.
    ///
    /// The bytes are valid only during the call.
    package func forEach(
        from lower: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        in transaction: TransactionHandle,
        _ body: (_ bytes: UnsafeRawBufferPointer, _ key: ObjectKey) -> Bool
    ) throws(StorageError) {
        let view = BytesView(lower)
        let sums = delta == nil ? nil : delta!.sortedSums()  // because: checked for nil
        var merge = IndexMerge(sums ?? UnsafeBufferPointer(start: nil, count: 0)) {
            $0.bytes.compare(view) < 0
        }
        func give(_ entry: BytesEntry) -> Bool {
            body(entry.bytes.buffer, ObjectKey(rawValue: entry.key))
        }
        var whole = GrowableBuffer<UInt8>(capacity: 256)
        defer { whole.deallocate() }
        var goesOn = true
        try forEachStoredBlock(from: view, transaction) { block, start, _ in
            for place in start..<block.count {
                let part = block.ownPart(place)
                whole.truncate(to: 0)
                let target = UnsafeMutableRawPointer(
                    whole.extend(by: block.common.count + part.count))
                target.copyMemory(from: block.common.start, byteCount: block.common.count)
                (target + block.common.count).copyMemory(from: part.start, byteCount: part.count)
                let entry = BytesEntry(
                    bytes: BytesView(start: target, count: whole.count), key: block.key(place))
                goesOn = merge.pass(entry, give)
                if !goesOn { return false }
            }
            return true
        }
        if goesOn { merge.finish(give) }
    }

    /// Returns the rows in a range of values, ordered by value, then by key; nil means an open end.
    package func keys(
        from lower: [UInt8]?, through upper: [UInt8]?, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        var result: [ObjectKey] = []
        try forEach(from: lower, in: transaction) { bytes, key in
            if let upper {
                let isAbove = upper.withUnsafeBytes {
                    BytesView(bytes).compare(BytesView($0)) > 0
                }
                if isAbove { return false }
            }
            result.append(key)
            return true
        }
        return result
    }

    /// Returns the rows whose values begin with some bytes, ordered by value, then by key.
    package func keys(
        withPrefix beginning: [UInt8], in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        try keys(withPrefix: beginning, atMost: .max, in: transaction) ?? []
    }

    /// Returns the rows whose values begin with some bytes; nil if there are more than `most`, without reading all of
    /// them.
    package func keys(
        withPrefix beginning: [UInt8], atMost most: Int, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey]? {
        var result: [ObjectKey] = []
        try forEach(from: beginning, in: transaction) { bytes, key in
            guard bytes.starts(with: beginning) else { return false }
            result.append(key)
            return result.count <= most
        }
        return result.count <= most ? result : nil
    }

    /// Returns the rows with values from some bytes on and below others, ordered by value, then by key.
    package func keys(
        from lower: [UInt8], below upper: [UInt8]?, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        var result: [ObjectKey] = []
        let failure = (upper ?? []).withUnsafeBytes { buffer -> StorageError? in
            let end = upper == nil ? nil : BytesView(buffer)
            do throws(StorageError) {
                try forEach(from: lower, in: transaction) { bytes, key in
                    let isBelow = end.map { BytesView(bytes).compare($0) < 0 } ?? true
                    if isBelow { result.append(key) }
                    return isBelow
                }
                return nil
            } catch { return error }
        }
        if let failure { throw failure }
        return result
    }

    /// Returns the number of entries from some bytes on and below others; may stop counting above `most`.
    package func count(
        from lower: [UInt8], below upper: [UInt8]?, atMost most: Int,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        let result = lower.withUnsafeBytes { lower in
            (upper ?? []).withUnsafeBytes { bytes -> Result<Int, StorageError> in
                let upper = upper == nil ? nil : BytesView(bytes)
                do throws(StorageError) {
                    return .success(
                        try count(from: BytesView(lower), below: upper, most, transaction))
                } catch { return .failure(error) }
            }
        }
        return try result.get()
    }

    private func count(
        from lower: BytesView, below upper: BytesView?, _ most: Int,
        _ transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        var total = 0
        try forEachStoredBlock(from: lower, transaction) { block, start, _ in
            let end = upper.map { block.lowerBound($0).index } ?? block.count
            total += Swift.max(0, end - start)
            return end == block.count && total <= most
        }
        guard hasChanges, delta != nil else { return total }
        for record in delta!.sortedSums()  // because: checked for nil
        where record.entry.bytes.compare(lower) >= 0
            && upper.map({ record.entry.bytes.compare($0) < 0 }) ?? true
        {
            total += Int(record.change)
        }
        return total
    }

    /// Calls `body` with the rows whose values begin with some bytes, in any order, and once for each such value of a
    /// row.
    package func forEachKey(
        withPrefix beginning: [UInt8], in transaction: TransactionHandle, _ body: (Int64) -> Void
    ) throws(StorageError) {
        guard !hasChanges else {
            for key in try keys(withPrefix: beginning, in: transaction) { body(key.rawValue) }
            return
        }
        let failure = beginning.withUnsafeBytes { buffer -> StorageError? in
            let wanted = BytesView(buffer)
            do throws(StorageError) {
                try forEachStoredBlock(from: wanted, transaction) { block, start, _ in
                    // Most blocks are completely inside or outside of the range.
                    let shared = block.common.commonPrefix(wanted)
                    let isWhole = shared == wanted.count
                    guard isWhole || shared == block.common.count else { return false }
                    for place in start..<block.count {
                        if !isWhole {
                            let part = block.ownPart(place)
                            guard part.count >= wanted.count - shared,
                                BytesView.compare(
                                    part.start, wanted.count - shared, wanted.start + shared,
                                    wanted.count - shared) == 0
                            else { return false }
                        }
                        body(block.key(place))
                    }
                    return true
                }
                return nil
            } catch { return error }
        }
        if let failure { throw failure }
    }

    private func forEach(
        from lower: [UInt8]?, in transaction: TransactionHandle,
        _ body: (_ bytes: UnsafeRawBufferPointer, _ key: ObjectKey) -> Bool
    ) throws(StorageError) {
        let failure = (lower ?? []).withUnsafeBytes { buffer -> StorageError? in
            do throws(StorageError) {
                try forEach(from: buffer, in: transaction, body)
                return nil
            } catch { return error }
        }
        if let failure { throw failure }
    }

    // MARK: Blocks

    /// Calls `body` with the stored blocks, beginning with the first entry that is at least `view`, and whether it
    /// equals `view`.
    private func forEachStoredBlock(
        from view: BytesView, _ transaction: TransactionHandle,
        _ body: (_ block: BytesBlock, _ start: Int, _ isEqual: Bool) throws(StorageError) -> Bool
    ) throws(StorageError) {
        if try considerDirectory(transaction), let directory {
            guard directory.count > 0 else { return }
            var index = directory.index(atOrBefore: scratchKey.position(view))
            while index < directory.count {
                guard let block = directory.block(index) else { throw damaged(transaction) }
                let (place, isEqual) = block.lowerBound(view)
                if place < block.count, !(try body(block, place, isEqual)) { return }
                index += 1
            }
            return
        }
        let cursor = try transaction.cursor(pages.blocks)
        let position = scratchKey.position(view)
        var entry = try cursor.setRange(position)
        if entry.map({ $0.key.elementsEqual(position) }) != true {
            entry = entry == nil ? try cursor.last() : try cursor.previous()
            if entry.map({ IndexKey.hasPrefix($0.key, prefix) }) != true {
                entry = try cursor.setRange(position)
            }
        }
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            guard let block = BytesBlock(found.value) else { throw damaged(transaction) }
            let (place, isEqual) = block.lowerBound(view)
            if place < block.count, !(try body(block, place, isEqual)) { return }
            entry = try cursor.next()
        }
    }

    /// Returns whether there is a directory; creates one if enough lookups would use it.
    private func considerDirectory(
        _ transaction: TransactionHandle
    ) throws(StorageError) -> Bool {
        if generation == pages.generation, directory != nil { return true }
        if generation != pages.generation {
            directory = nil
            lookups = 0
            threshold = 0
            generation = pages.generation
        }
        lookups += 1
        guard lookups > IntDirectory.leastLookups else { return false }
        if threshold == 0 {
            // Visiting a block takes about a tenth of the time to find one without the directory.
            let entries = try transaction.statistics(pages.blocks).entries
            threshold = Swift.max(IntDirectory.leastLookups, entries / 10)
        }
        guard lookups > threshold else { return false }
        var directory = BytesDirectory()
        let cursor = try transaction.cursor(pages.blocks)
        var entry = try cursor.setRange(scratchKey.least())
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            directory.append(found.key, found.value)
            entry = try cursor.next()
        }
        self.directory = directory
        return true
    }
}
