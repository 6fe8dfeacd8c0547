import LMDBStorage

/// An ordered index from integers to rows: of an int, date or bool column, or, with target keys as
/// values, of a link or list column backwards.
///
/// A multiset: an entry may be there several times.
///
/// Stored as packed sorted blocks (``IntBlock``) in the table of its class, under the first entry
/// of each. One object serves one snapshot: it keeps the addresses of the blocks after several
/// look-ups at one version, and in a write the changes that are not yet stored, which all reads
/// take into account.
///
/// * Not thread-safe; belongs to its snapshot.
/// * ``IndexPages/invalidate()`` must be called when the transaction that is passed in reads
///   another version.
/// * ``flush(in:)`` before the commit, or ``cancel()``; ``insert(_:_:in:)`` flushes by itself when
///   memory asks.
/// * Every call throws `damaged` for stored bytes that cannot be right, and whatever LMDB reports.
package final class IntIndex {
    let pages: IndexPages
    let blocks: Table
    let prefix: UInt32
    let scratchKey: IntIndexKey
    private let state: UnsafeMutablePointer<State>

    private struct State {
        var directory: IntDirectory?
        /// What ``IndexPages/generation`` was when the directory and the numbers below were made.
        var generation: UInt64 = 0
        var hint = 0
        var lookups = 0
        /// The number of look-ups after which a directory has paid for itself; 0 when not yet
        /// known.
        var threshold = 0
        var delta: IntDelta?
    }

    /// An index of a column, in the table where the class keeps its index blocks.
    package init(table: TableID, column: ColumnID, pages: IndexPages) {
        self.pages = pages
        blocks = pages.blocks
        prefix = IndexKey.prefix(table, column)
        scratchKey = IntIndexKey(prefix: prefix)
        state = .allocate(capacity: 1)
        state.initialize(to: State())
    }

    deinit {
        state.pointee.directory?.deallocate()
        state.pointee.delta?.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
        scratchKey.deallocate()
    }

    private func forgetDirectory() {
        state.pointee.directory?.deallocate()
        state.pointee.directory = nil
        state.pointee.generation = pages.generation
        state.pointee.hint = 0
        state.pointee.lookups = 0
        state.pointee.threshold = 0
    }

    /// Whether there are changes that are not yet stored.
    package var hasChanges: Bool {
        state.pointee.delta.map { !$0.isEmpty } ?? false
    }

    // The changes of the write, for the other half of this type.
    var delta: IntDelta? {
        @inline(__always) _read { yield state.pointee.delta }
        @inline(__always) _modify { yield &state.pointee.delta }
    }

    func damaged(_ transaction: TransactionHandle) -> StorageError {
        StorageError(.damaged, call: "reading an index block", file: transaction.file)
    }

    // MARK: Reading

    /// The first row with a value; the only one in a unique index.
    package func find(
        _ value: Int64, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        if state.pointee.delta != nil, hasChanges {
            return try findInWrite(value, transaction)
        }
        return try findStored(value, transaction)
    }

    private func findInWrite(
        _ value: Int64, _ transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        // because: the caller has looked.
        let record = state.pointee.delta!.newestRecord(of: value)
        if record != 0 {
            return try keys(equalTo: value, in: transaction).first
        }
        let delta = state.pointee.delta!
        if let last = delta.tail.last, last.value < value { return nil }
        let index = delta.tailIndex(atOrAfter: value)
        // Values below the tail's first can only be stored; one that is the tail's first may also be.
        if index == 0, let stored = try findStored(value, transaction) { return stored }
        guard index < delta.tail.count, delta.tail[index].value == value else { return nil }
        return ObjectKey(rawValue: delta.tail[index].key)
    }

    private func findStored(
        _ value: Int64, _ transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        if let directory = try directory(transaction) {
            guard directory.count > 0 else { return nil }
            let index = directory.index(before: value, hint: state.pointee.hint)
            state.pointee.hint = index
            guard let block = directory.block(index) else { throw damaged(transaction) }
            let place = block.lowerBound(value: value)
            if place < block.count {
                guard block.value(place) == value else { return nil }
                return ObjectKey(rawValue: block.key(place))
            }
            guard index + 1 < directory.count else { return nil }
            guard let next = directory.block(index + 1) else { throw damaged(transaction) }
            guard next.firstValue == value else { return nil }
            return ObjectKey(rawValue: next.key(0))
        }
        var found: ObjectKey?
        try forEachStoredBlock(from: value, transaction) { block, place in
            if block.value(place) == value { found = ObjectKey(rawValue: block.key(place)) }
            return false
        }
        return found
    }

    /// All rows with a value, ascending, each as often as it is in the index.
    package func keys(
        equalTo value: Int64, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        var result: [ObjectKey] = []
        guard hasChanges else {
            try forEachStoredBlock(from: value, transaction) { block, start in
                var place = start
                while place < block.count, block.value(place) == value {
                    result.append(ObjectKey(rawValue: block.key(place)))
                    place &+= 1
                }
                return place == block.count
            }
            return result
        }
        var sums: [Int64: Int] = [:]
        try forEachStoredBlock(from: value, transaction) { block, start in
            var place = start
            while place < block.count, block.value(place) == value {
                sums[block.key(place), default: 0] += 1
                place &+= 1
            }
            return place == block.count
        }
        // because: there are changes.
        var record = state.pointee.delta!.newestRecord(of: value)
        let delta = state.pointee.delta!
        var place = delta.tailIndex(atOrAfter: value)
        while place < delta.tail.count, delta.tail[place].value == value {
            sums[delta.tail[place].key, default: 0] += 1
            place += 1
        }
        while record != 0 {
            let change = delta.log[Int(record) - 1]
            sums[change.entry.key, default: 0] += Int(change.change)
            record = change.previous
        }
        for key in sums.keys.sorted() {
            // because: the key is from the same dictionary.
            for _ in 0..<Swift.max(0, sums[key]!) { result.append(ObjectKey(rawValue: key)) }
        }
        return result
    }

    /// Calls `body` with the entries of a range of values in order of value, then key, until it
    /// returns false.
    package func forEach(
        from lower: Int64 = .min, through upper: Int64 = .max, in transaction: TransactionHandle,
        _ body: (_ value: Int64, _ key: ObjectKey) -> Bool
    ) throws(StorageError) {
        guard lower <= upper else { return }
        guard hasChanges else {
            try forEachStoredBlock(from: lower, transaction) { block, start in
                for place in start..<block.count {
                    let value = block.value(place)
                    if value > upper || !body(value, ObjectKey(rawValue: block.key(place))) {
                        return false
                    }
                }
                return true
            }
            return
        }
        // because: there are changes.
        let sums = state.pointee.delta!.sortedSums()
        let tail = state.pointee.delta!.tail
        var merge = IntMerge(sums, from: lower)
        var goesOn = true
        func give(_ entry: IntEntry) -> Bool {
            entry.value <= upper && body(entry.value, ObjectKey(rawValue: entry.key))
        }
        try forEachStoredBlock(from: lower, transaction) { block, start in
            for place in start..<block.count {
                let entry = block.entry(place)
                if entry.value > upper { return false }
                goesOn = merge.pass(entry, give)
                if !goesOn { return false }
            }
            return true
        }
        var place = tail.isEmpty ? 0 : state.pointee.delta!.tailIndex(atOrAfter: lower)
        while goesOn, place < tail.count, tail[place].value <= upper {
            goesOn = merge.pass(tail[place], give)
            place += 1
        }
        if goesOn { merge.finish(give) }
    }

    /// The rows of a range of values in order of value, then key; an open end is nil.
    package func keys(
        from lower: Int64?, through upper: Int64?, in transaction: TransactionHandle
    ) throws(StorageError) -> [ObjectKey] {
        var result: [ObjectKey] = []
        try forEach(from: lower ?? .min, through: upper ?? .max, in: transaction) { _, key in
            result.append(key)
            return true
        }
        return result
    }

    /// How many entries a range of values has; reads two blocks and the headers of those between.
    ///
    /// Stops somewhere above `most`.
    package func count(
        from lower: Int64 = .min, through upper: Int64 = .max, atMost most: Int = .max,
        in transaction: TransactionHandle
    ) throws(StorageError) -> Int {
        guard lower <= upper else { return 0 }
        var total = 0
        try forEachStoredBlock(from: lower, transaction) { block, start in
            if block.value(block.count - 1) <= upper {
                total += block.count - start
                return total <= most
            }
            total += Swift.max(0, block.lowerBound(value: upper + 1) - start)
            return false
        }
        guard hasChanges else { return total }
        // because: there are changes.
        let sums = state.pointee.delta!.sortedSums()
        let delta = state.pointee.delta!
        for record in sums where record.entry.value >= lower && record.entry.value <= upper {
            total += Int(record.change)
        }
        let end = upper == .max ? delta.tail.count : delta.tailIndex(atOrAfter: upper + 1)
        return total + end - delta.tailIndex(atOrAfter: lower)
    }

    // MARK: Blocks

    /// Calls `body` with the stored blocks, beginning with the first entry whose value is not below
    /// `value`.
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
            // No block of this column begins before; the one that was found first may still be of it.
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

    /// The directory, if there is one or it pays to make one now.
    @inline(__always)
    private func directory(
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
        if state.pointee.threshold == 0 {
            // Visiting a block costs about a tenth of finding one without the directory.
            let entries = try transaction.statistics(blocks).entries
            state.pointee.threshold = Swift.max(6, entries / 10)
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
