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
    let state: UnsafeMutablePointer<State>

    struct State {
        var directory: IntDirectory?
        /// The value of ``IndexPages/generation`` when the directory and the numbers below were computed.
        var generation: UInt64 = 0
        var hint = 0
        var lookups = 0
        /// The number of look-ups after which a directory has paid for itself; 0 when not yet
        /// known.
        var threshold = 0
        /// The changes of the write that are not yet stored; in a place of its own, because it is large.
        var delta: UnsafeMutablePointer<IntDelta>?
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

    /// Whether there are changes that are not yet stored.
    package var hasChanges: Bool {
        guard let delta = state.pointee.delta else { return false }
        return !delta.pointee.isEmpty
    }

    // The changes of the write, for the other half of this type.
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
        delta.pointee.deallocate()
        delta.deallocate()
    }

    func damaged(_ transaction: TransactionHandle) -> StorageError {
        StorageError(.damaged, call: "reading an index block", file: transaction.file)
    }

    // MARK: Reading

    /// Whether it is known to have no entries: none stored, and no change waits.
    package func isEmpty(in transaction: TransactionHandle) throws(StorageError) -> Bool {
        var isEmpty = !hasChanges
        try forEachStoredBlock(from: .min, transaction) { _, _ in
            isEmpty = false
            return false
        }
        return isEmpty
    }

    /// The first row with a value; the only one in a unique index.
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
        // Values below the tail's first can only be stored; one that is the tail's first may also be.
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
