import LMDBStorage

/// The changes of a write to an index that are not merged into the blocks yet.
///
/// They have two parts. The `tail` is a sorted array of entries that are greater than all others, such as ascending
/// primary keys. The `log` has all other changes in the order of the calls; since an index is a multiset, only the sum
/// of insertions and removals of an entry matters. For lookups, a hash table leads from a value to the newest log
/// record of that value, and from there to its earlier records. It is updated only by a lookup, so bulk changes have no
/// cost for it.
struct IndexDelta<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>
    typealias Record = IndexChange<Value>

    private(set) var tail = GrowableBuffer<Entry>()
    private(set) var log = GrowableBuffer<Record>()
    /// The bytes of all values.
    private var arena = BytesArena()
    private var buckets = GrowableBuffer<UInt32>()
    private var hashed = 0
    private var usedBuckets = 0
    /// The greatest entry of the blocks, above which the tail begins.
    private var greatest: Entry?
    /// Whether `greatest` is known, so that the tail is used.
    private var usesTail = false
    private var sums = ChangeSums<Value>()
    /// The size at which the index decides next whether it merges the changes.
    var nextCheck: Int

    init(nextCheck: Int) { self.nextCheck = nextCheck }

    func deallocate() {
        tail.deallocate()
        log.deallocate()
        arena.deallocate()
        buckets.deallocate()
        sums.deallocate()
    }

    var isEmpty: Bool { tail.isEmpty && log.isEmpty }

    /// Whether all changes are entries after the blocks.
    var isTail: Bool { log.isEmpty && !tail.isEmpty }

    /// The approximate memory of the changes in bytes.
    @inline(__always)
    var size: Int {
        tail.count &* MemoryLayout<Entry>.stride &+ log.count &* MemoryLayout<Record>.stride
            &+ buckets.count &* MemoryLayout<UInt32>.stride &+ arena.used
    }

    /// Whether the greatest entry of the blocks should be looked up now.
    ///
    /// In a transaction of one insertion, this would take as long as the insertion.
    @inline(__always)
    var wantsTail: Bool { !usesTail && log.count >= 4 }

    /// Adds entries above this one, the greatest of the blocks, to the tail from now on.
    mutating func useTail(above greatest: Entry?) {
        assert(!usesTail && tail.isEmpty, "the tail begins once")
        self.greatest = greatest.map {
            Entry(value: $0.value.copied(to: &arena), key: $0.key)
        }
        usesTail = true
        // In a bulk load, the first changes belong to the tail as well, and the log remains empty.
        var last = self.greatest
        for record in log.elements {
            guard record.change == 1, last.map({ record.entry.compare($0) > 0 }) ?? true else {
                return
            }
            last = record.entry
        }
        for record in log.elements { tail.append(record.entry) }
        log.truncate(to: 0)
        buckets.removeAll()
        hashed = 0
        usedBuckets = 0
        sums.removeAll()
    }

    @inline(__always)
    mutating func insert(_ value: Value, _ key: Int64) {
        let entry = Entry(value: value.copied(to: &arena), key: key)
        if usesTail, (tail.last ?? greatest).map({ entry.compare($0) > 0 }) ?? true {
            tail.append(entry)
        } else {
            log.append(Record(entry: entry, change: 1))
        }
    }

    @inline(__always)
    mutating func remove(_ value: Value, _ key: Int64) {
        // Replacing the newest value is common, and the tail can simply drop its last entry.
        if let last = tail.last, last.compare(Entry(value: value, key: key)) == 0 {
            tail.truncate(to: tail.count &- 1)
        } else {
            let entry = Entry(value: value.copied(to: &arena), key: key)
            log.append(Record(entry: entry, change: -1))
        }
    }

    /// Returns the first position in the tail whose value is at least the given one.
    func tailIndex(atOrAfter value: Value) -> Int {
        var low = 0
        var high = tail.count
        while low < high {
            let middle = (low &+ high) &>> 1
            if tail[middle].value.compare(value) < 0 { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Returns the log position + 1 of the newest record of a value, or 0.
    mutating func newestRecord(of value: Value) -> UInt32 {
        if log.isEmpty { return 0 }
        if hashed < log.count { hashLog() }
        return buckets[bucket(of: value)]
    }

    @inline(__always)
    private func bucket(of value: Value) -> Int {
        let mask = buckets.count &- 1
        var bucket = Int(truncatingIfNeeded: value.hash) & mask
        while true {
            let record = buckets[bucket]
            if record == 0 || log[Int(record) &- 1].entry.value.compare(value) == 0 {
                return bucket
            }
            bucket = (bucket &+ 1) & mask
        }
    }

    private mutating func hashLog() {
        // There can be as many new values as records; at most half of the buckets are used.
        let needed = (usedBuckets + log.count - hashed) * 2
        if needed > buckets.count {
            var size = 64
            while size < needed { size *= 2 }
            buckets.removeAll()
            buckets.extend(by: size).update(repeating: 0, count: size)
            hashed = 0
            usedBuckets = 0
        }
        while hashed < log.count {
            let bucket = bucket(of: log[hashed].entry.value)
            let previous = buckets[bucket]
            if previous == 0 { usedBuckets &+= 1 }
            (log.base + hashed).pointee.previous = previous
            hashed &+= 1
            buckets[bucket] = UInt32(truncatingIfNeeded: hashed)
        }
    }

    /// Returns the sums of the log in order of entries, without zero sums.
    mutating func sortedSums() -> UnsafeBufferPointer<Record> { sums.of(log) }

    /// Returns the same sums, in the memory of the log; the delta must not change afterward.
    mutating func takeSums() -> UnsafeBufferPointer<Record> {
        buckets.removeAll()
        return sums.take(from: &log)
    }
}

/// Merges sorted entries with sorted changes: the sums of a write's log, or a run.
struct IndexMerge<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>

    private var sums: UnsafeBufferPointer<IndexChange<Value>>
    private var next: Int
    /// The run with the changes that follow `sums`; nil at its end.
    private var run: IndexRunReader<Value>?
    /// The number of further removed entries that equal the last one.
    private var skips = 0

    /// Creates a merge with all changes that a reader returns.
    init(_ run: IndexRunReader<Value>) {
        self.run = run
        sums = UnsafeBufferPointer(start: nil, count: 0)
        next = 0
    }

    /// Creates a merge that begins with the first sum that is at least a bound.
    init(_ sums: UnsafeBufferPointer<IndexChange<Value>>, below isBelow: (Entry) -> Bool) {
        self.sums = sums
        next = IndexChange.firstIndex(in: sums, from: 0, notBelow: isBelow)
    }

    /// Calls `give` with the insertions before `entry`, then with the entry unless it was removed.
    ///
    /// Returns false if `give` returned false.
    @inline(__always)
    mutating func pass(
        _ entry: Entry, _ give: (Entry) throws(StorageError) -> Bool
    ) throws(StorageError) -> Bool {
        while try hasNext() {
            let record = sums[next]
            let order = record.entry.compare(entry)
            if order > 0 { break }
            next += 1
            if record.change > 0 {
                for _ in 0..<record.change where try !give(record.entry) { return false }
            } else {
                // Only existing entries are removed, so an equal sum removes this entry.
                skips = order == 0 ? Int(-record.change) : 0
            }
        }
        if skips > 0 {
            skips -= 1
            return true
        }
        return try give(entry)
    }

    /// Calls `give` with the insertions after the last entry.
    mutating func finish(
        _ give: (Entry) throws(StorageError) -> Bool
    ) throws(StorageError) {
        while try hasNext() {
            let record = sums[next]
            next += 1
            guard record.change > 0 else { continue }
            for _ in 0..<record.change where try !give(record.entry) { return }
        }
    }

    @inline(__always)
    private mutating func hasNext() throws(StorageError) -> Bool {
        if next < sums.count { return true }
        return run == nil ? false : try readNext()
    }

    private mutating func readNext() throws(StorageError) -> Bool {
        next = 0
        sums = try run?.next() ?? sums
        if sums.isEmpty { run = nil }
        return !sums.isEmpty
    }
}

/// The sums of a log's changes for each entry, in the order of the entries and without zero sums.
///
/// Each change is sorted once: later changes are merged with the existing sums.
struct ChangeSums<Value: IndexedValue> {
    typealias Record = IndexChange<Value>

    private var sums = GrowableBuffer<Record>()
    /// The number of log records that the sums include.
    private var summed = 0

    func deallocate() { sums.deallocate() }

    /// Discards the sums, for a log that is empty.
    mutating func removeAll() {
        sums.removeAll()
        summed = 0
    }

    /// Returns the sums of the whole log; valid until the next call.
    mutating func of(_ log: GrowableBuffer<Record>) -> UnsafeBufferPointer<Record> {
        guard summed < log.count else { return UnsafeBufferPointer(sums.elements) }
        var fresh = GrowableBuffer<Record>(capacity: log.count - summed)
        fresh.append(contentsOf: UnsafeBufferPointer(rebasing: log.elements[summed..<log.count]))
        Value.sort(fresh.elements)
        if !sums.isEmpty {
            let merged = Self.merge(sums, fresh)
            fresh.deallocate()
            fresh = merged
        }
        Self.combine(&fresh)
        sums.deallocate()
        sums = fresh
        summed = log.count
        return UnsafeBufferPointer(sums.elements)
    }

    /// Returns the same sums in the memory of the log; afterward, neither the log nor this value may be used.
    mutating func take(from log: inout GrowableBuffer<Record>) -> UnsafeBufferPointer<Record> {
        if summed == log.count { return UnsafeBufferPointer(sums.elements) }
        sums.removeAll()
        Value.sort(log.elements)
        Self.combine(&log)
        return UnsafeBufferPointer(log.elements)
    }

    private static func merge(
        _ left: GrowableBuffer<Record>, _ right: GrowableBuffer<Record>
    ) -> GrowableBuffer<Record> {
        var merged = GrowableBuffer<Record>(capacity: left.count + right.count)
        var (leftIndex, rightIndex) = (0, 0)
        while leftIndex < left.count || rightIndex < right.count {
            let takesLeft =
                rightIndex == right.count
                || (leftIndex < left.count
                    && left[leftIndex].entry.compare(right[rightIndex].entry) <= 0)
            merged.append(takesLeft ? left[leftIndex] : right[rightIndex])
            if takesLeft { leftIndex &+= 1 } else { rightIndex &+= 1 }
        }
        return merged
    }

    /// Adds the records of equal entries, which are adjacent.
    private static func combine(_ records: inout GrowableBuffer<Record>) {
        var write = 0
        var read = 0
        while read < records.count {
            var record = records[read]
            read &+= 1
            while read < records.count, records[read].entry.compare(record.entry) == 0 {
                record.change &+= records[read].change
                read &+= 1
            }
            if record.change != 0 {
                records[write] = record
                write &+= 1
            }
        }
        records.truncate(to: write)
        assert(
            Record.isAscending(UnsafeBufferPointer(records.elements)), "each entry has one sum")
    }
}
