import LMDBStorage

/// A sorted index from integers to rows.
///
/// It indexes an int, date or bool column or, with target keys as values, the backlinks of a link or list column. It is
/// a multiset: an entry may occur several times.
///
/// The index is stored as packed sorted blocks (``IntBlock``) in the table of its class; the key of a block is its
/// first entry. Each object belongs to one snapshot. After several lookups at one version, it keeps the addresses of
/// the blocks. In a write, it keeps the changes that are not stored yet, and all reads include them.
///
/// * The object is not thread-safe; it belongs to its snapshot.
/// * ``IndexPages/invalidate()`` must be called if the passed transaction reads another version.
/// * Call ``flush(in:)`` before the commit, or ``cancel()``; ``insert(_:_:in:)`` flushes automatically to limit memory.
/// * Every call throws `damaged` for invalid stored bytes, and the errors of LMDB.
package final class IntIndex {
    let pages: IndexPages
    let blocks: Table
    let prefix: UInt32
    let scratchKey: IntIndexKey
    let state: UnsafeMutablePointer<State>

    struct State {
        var directory: IntDirectory?
        /// The value of ``IndexPages/generation`` when the directory and the numbers below were computed.
        var generation: UInt64 = 0
        var hint = 0
        var lookups = 0
        /// The number of lookups from which a directory is worthwhile; 0 if it is not known yet.
        var threshold = 0
        /// The changes of the write that are not stored yet, in separate memory because they are large.
        var delta: UnsafeMutablePointer<IntDelta>?
    }

    /// Creates an index of a column, in the table with the index blocks of the class.
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
        dropDelta()
        state.deinitialize(count: 1)
        state.deallocate()
        scratchKey.deallocate()
    }

    func forgetDirectory() {
        state.pointee.directory?.deallocate()
        state.pointee.directory = nil
        state.pointee.generation = pages.generation
        state.pointee.hint = 0
        state.pointee.lookups = 0
        state.pointee.threshold = 0
    }

    /// Whether there are changes that are not stored yet.
    package var hasChanges: Bool {
        guard let delta = state.pointee.delta else { return false }
        return !delta.pointee.isEmpty
    }

    // The changes of the write, for the extension with the writing functions.
    var delta: UnsafeMutablePointer<IntDelta>? {
        @inline(__always) get { state.pointee.delta }
    }

    @inline(never)
    func makeDelta() -> UnsafeMutablePointer<IntDelta> {
        let made = UnsafeMutablePointer<IntDelta>.allocate(capacity: 1)
        made.initialize(to: IntDelta())
        state.pointee.delta = made
        return made
    }

    func dropDelta() {
        guard let delta = state.pointee.delta else { return }
        state.pointee.delta = nil
        pages.memory.release(delta.pointee.granted)
        delta.pointee.deallocate()
        delta.deallocate()
    }

    func damaged(_ transaction: TransactionHandle) -> StorageError {
        StorageError(.damaged, call: "reading an index block", file: transaction.file)
    }

    // MARK: Reading

    /// Returns whether the index is known to be empty: without stored entries and without pending changes.
    package func isEmpty(in transaction: TransactionHandle) throws(StorageError) -> Bool {
        var isEmpty = !hasChanges
        try forEachStoredBlock(from: .min, transaction) { _, _ in
            isEmpty = false
            return false
        }
        return isEmpty
    }

    /// Returns the first row with a value; in a unique index, the only one.
    package func find(
        _ value: Int64, in transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        if let delta = state.pointee.delta, !delta.pointee.isEmpty {
            return try findInWrite(value, delta, transaction)
        }
        return try findStored(value, transaction)
    }

    private func findInWrite(
        _ value: Int64, _ delta: UnsafeMutablePointer<IntDelta>, _ transaction: TransactionHandle
    ) throws(StorageError) -> ObjectKey? {
        let record = delta.pointee.newestRecord(of: value)
        if record != 0 {
            return try keys(equalTo: value, in: transaction).first
        }
        if let last = delta.pointee.tail.last, last.value < value { return nil }
        let index = delta.pointee.tailIndex(atOrAfter: value)
        // Values less than the first one of the tail can only be stored; a value equal to it may also be.
        if index == 0, let stored = try findStored(value, transaction) { return stored }
        let tail = delta.pointee.tail
        guard index < tail.count, tail[index].value == value else { return nil }
        return ObjectKey(rawValue: tail[index].key)
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

    /// Returns all rows with a value, ascending and with the duplicates in the index.
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
        // because: the log is not empty.
        let delta = state.pointee.delta!
        var record = delta.pointee.newestRecord(of: value)
        let tail = delta.pointee.tail
        var place = delta.pointee.tailIndex(atOrAfter: value)
        while place < tail.count, tail[place].value == value {
            sums[tail[place].key, default: 0] += 1
            place += 1
        }
        while record != 0 {
            let change = delta.pointee.log[Int(record) - 1]
            sums[change.entry.key, default: 0] += Int(change.change)
            record = change.previous
        }
        for key in sums.keys.sorted() {
            // because: the key is from the same dictionary.
            for _ in 0..<Swift.max(0, sums[key]!) { result.append(ObjectKey(rawValue: key)) }
        }
        return result
    }

    /// Calls `body` with the entries in a range of values until it returns false; they are ordered by value, then by
    /// key.
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
        // because: the log is not empty.
        let delta = state.pointee.delta!
        let sums = delta.pointee.sortedSums()
        let tail = delta.pointee.tail
        var merge = IndexMerge(sums) { $0.value < lower }
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
        var place = tail.isEmpty ? 0 : delta.pointee.tailIndex(atOrAfter: lower)
        while goesOn, place < tail.count, tail[place].value <= upper {
            goesOn = merge.pass(tail[place], give)
            place += 1
        }
        if goesOn { merge.finish(give) }
    }

    /// Returns the rows in a range of values, ordered by value, then by key; nil means an open end.
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

    /// Returns the number of entries in a range of values; reads two blocks, and the headers of the blocks between
    /// them.
    ///
    /// The function may stop counting above `most`.
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
        // because: the log is not empty.
        let delta = state.pointee.delta!
        let sums = delta.pointee.sortedSums()
        for record in sums where record.entry.value >= lower && record.entry.value <= upper {
            total += Int(record.change)
        }
        let end =
            upper == .max
            ? delta.pointee.tail.count : delta.pointee.tailIndex(atOrAfter: upper + 1)
        return total + end - delta.pointee.tailIndex(atOrAfter: lower)
    }
}
