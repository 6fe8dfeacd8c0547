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
