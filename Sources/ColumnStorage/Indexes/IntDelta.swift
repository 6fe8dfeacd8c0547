/// The changes of a write to an integer index that are not merged into the blocks yet.
///
/// They have two parts. The `tail` is a sorted array of entries that are greater than all others, such as ascending
/// primary keys. The `log` has all other changes in the order of the calls; since an index is a multiset, only the sum
/// of insertions and removals of an entry matters. For lookups, a hash table leads from a value to the newest log
/// record of that value, and from there to its earlier records. It is updated only by a lookup, so bulk changes have no
/// cost for it.
struct IntDelta {
    typealias Record = IndexChange<IntEntry>

    private(set) var tail = GrowableBuffer<IntEntry>()
    private(set) var log = GrowableBuffer<Record>()
    private var buckets = GrowableBuffer<UInt32>()
    private var hashed = 0
    private var usedBuckets = 0
    /// The greatest entry of the blocks, above which the tail begins.
    private var greatest: IntEntry?
    /// Whether `greatest` is known, so that the tail is used.
    ///
    /// It is looked up after a few changes: in a transaction of one insertion, this would take as long as the
    /// insertion.
    private(set) var usesTail = false

    private var sums = ChangeSums<IntEntry>()
    /// The number of records at which the changes are merged into the blocks, once it was found out.
    var mergeLimit: Int?
    /// The numbers of entries and of records from which the memory is considered next.
    var nextTailCheck = IndexMemory.firstCheck / MemoryLayout<IntEntry>.stride
    var nextLogCheck = IndexMemory.firstCheck / MemoryLayout<Record>.stride
    /// The bytes that ``IndexMemory`` has granted.
    var granted = 0

    /// The approximate memory in bytes.
    var size: Int {
        tail.count * MemoryLayout<IntEntry>.stride + log.count * MemoryLayout<Record>.stride
            + buckets.count * MemoryLayout<UInt32>.stride
    }

    /// Adds entries above this one, the greatest of the blocks, to the tail from now on.
    mutating func useTail(above greatest: IntEntry?) {
        self.greatest = greatest
        usesTail = true
    }

    var wantsTail: Bool {
        @inline(__always) get { !usesTail && log.count >= 4 }
    }

    func deallocate() {
        tail.deallocate()
        log.deallocate()
        buckets.deallocate()
        sums.deallocate()
    }

    var isEmpty: Bool { tail.isEmpty && log.isEmpty }

    @inline(__always)
    mutating func insert(_ entry: IntEntry) {
        if usesTail, (tail.last ?? greatest).map({ entry > $0 }) ?? true {
            tail.append(entry)
        } else {
            log.append(Record(entry: entry, change: 1, previous: 0))
        }
    }

    @inline(__always)
    mutating func remove(_ entry: IntEntry) {
        // Replacing the newest value is common, and the tail can simply drop its last entry.
        if let last = tail.last, last == entry {
            tail.truncate(to: tail.count &- 1)
        } else {
            log.append(Record(entry: entry, change: -1, previous: 0))
        }
    }

    /// Returns the first position in the tail whose value is at least the given one.
    func tailIndex(atOrAfter value: Int64) -> Int {
        var low = 0
        var high = tail.count
        while low < high {
            let middle = (low &+ high) &>> 1
            if tail[middle].value < value { low = middle &+ 1 } else { high = middle }
        }
        return low
    }

    /// Returns the log position + 1 of the newest record of a value, or 0.
    mutating func newestRecord(of value: Int64) -> UInt32 {
        if log.isEmpty { return 0 }
        if hashed < log.count { hashLog() }
        return buckets[bucket(of: value)]
    }

    @inline(__always)
    private func bucket(of value: Int64) -> Int {
        let mask = buckets.count &- 1
        var place =
            Int(
                truncatingIfNeeded: (UInt64(bitPattern: value) &* 0x9E37_79B9_7F4A_7C15)
                    .byteSwapped) & mask
        while true {
            let record = buckets[place]
            if record == 0 || log[Int(record) &- 1].entry.value == value { return place }
            place = (place &+ 1) & mask
        }
    }

    private mutating func hashLog() {
        // There can be as many new values as records; at most half of the buckets are used.
        let needed = (usedBuckets + log.count - hashed) * 2
        if needed > buckets.count {
            var size = 64
            while size < needed { size *= 2 }
            buckets.removeAll()
            buckets.truncate(to: 0)
            buckets.extend(by: size).update(repeating: 0, count: size)
            hashed = 0
            usedBuckets = 0
        }
        while hashed < log.count {
            let place = bucket(of: log[hashed].entry.value)
            let previous = buckets[place]
            if previous == 0 { usedBuckets &+= 1 }
            (log.base + hashed).pointee.previous = previous
            hashed &+= 1
            buckets[place] = UInt32(truncatingIfNeeded: hashed)
        }
    }

    /// Returns the sums of the log in order of entries, without zero sums.
    mutating func sortedSums() -> UnsafeBufferPointer<Record> { sums.of(log) }

    /// The same sums, in the memory of the log: nothing else may be done with the changes after it.
    mutating func takeSums() -> UnsafeBufferPointer<Record> {
        buckets.removeAll()
        return sums.take(from: &log)
    }
}
