/// The changes of a write to an index of bytes that are not merged into the blocks yet.
///
/// They consist of a log of insertions and removals, a hash table of the log for lookups, and its sorted sums. The
/// latter two are updated on demand.
///
/// While entries are added in ascending order, as in a bulk load by ascending keys, the log is sorted: lookups use a
/// binary search, and a lookup of a greatest value ends at once.
struct BytesDelta {
    typealias Record = IndexChange<BytesEntry>

    private(set) var log = GrowableBuffer<Record>()
    private var arena = BytesArena()
    private var buckets = GrowableBuffer<UInt32>()
    private var hashed = 0
    private var sums = ChangeSums<BytesEntry>()
    /// Whether the log consists of insertions only, each greater than the previous one.
    private(set) var isAscending = true
    /// The greatest bytes of the blocks; nil if there are none, or they are not known yet.
    private var greatest: BytesView?
    private(set) var knowsGreatest = false
    /// The size at which the changes are merged into the blocks, once it was found out.
    var mergeLimit: Int?
    /// The size from which the index decides next whether it merges the changes.
    var nextCheck: Int
    /// The bytes that ``IndexMemory`` has granted.
    var granted = 0

    init(nextCheck: Int) { self.nextCheck = nextCheck }

    func deallocate() {
        log.deallocate()
        arena.deallocate()
        buckets.deallocate()
        sums.deallocate()
    }

    var isEmpty: Bool { log.isEmpty }
    /// About how much memory it takes.
    var size: Int {
        log.count * MemoryLayout<Record>.stride + arena.used
            + buckets.count * MemoryLayout<UInt32>.stride
    }

    mutating func add(_ bytes: UnsafeRawBufferPointer, _ key: Int64, change: Int32) {
        let copy = BytesView(start: arena.copy(bytes), count: bytes.count)
        let entry = BytesEntry(bytes: copy, key: key)
        var previous: UInt32 = 0
        if isAscending {
            if change != 1 || log.last.map({ $0.entry.compare(entry) >= 0 }) ?? false {
                isAscending = false
            } else if let last = log.last, last.entry.bytes.compare(copy) == 0 {
                previous = UInt32(truncatingIfNeeded: log.count)
            }
        }
        log.append(Record(entry: entry, change: change, previous: previous))
    }

    /// Whether the greatest bytes of the blocks should be looked up now.
    ///
    /// For a transaction of one insertion, this would take as long as the insertion.
    var wantsGreatest: Bool { !knowsGreatest && isAscending && log.count >= 4 }

    /// Sets the greatest bytes of the blocks and keeps a copy; nil if there are no blocks.
    mutating func setGreatest(_ bytes: [UInt8]?) {
        greatest = bytes.map { BytesView(arena.copy($0)) }
        knowsGreatest = true
    }

    /// Returns whether some bytes are known to be greater than all stored and pending ones.
    func isAboveAll(_ bytes: BytesView) -> Bool {
        guard knowsGreatest, isAscending, let last = log.last else { return false }
        return last.entry.bytes.compare(bytes) < 0
            && greatest.map { $0.compare(bytes) < 0 } ?? true
    }

    /// Whether all pending changes belong after the blocks.
    var isTail: Bool {
        guard knowsGreatest, isAscending, !log.isEmpty else { return false }
        return greatest.map { $0.compare(log[0].entry.bytes) < 0 } ?? true
    }

    /// Returns the log position + 1 of the newest record of some bytes, or 0.
    mutating func newestRecord(of bytes: BytesView) -> UInt32 {
        if log.isEmpty { return 0 }
        if isAscending { return lastRecord(of: bytes) }
        if hashed < log.count { hashLog() }
        return buckets[bucket(of: bytes)]
    }

    /// Returns the newest record of some bytes while the log is sorted.
    private func lastRecord(of bytes: BytesView) -> UInt32 {
        var low = 0
        var high = log.count
        while low < high {
            let middle = (low &+ high) &>> 1
            if log[middle].entry.bytes.compare(bytes) <= 0 {
                low = middle &+ 1
            } else {
                high = middle
            }
        }
        guard low > 0, log[low &- 1].entry.bytes.compare(bytes) == 0 else { return 0 }
        return UInt32(truncatingIfNeeded: low)
    }

    private func bucket(of bytes: BytesView) -> Int {
        let mask = buckets.count &- 1
        var place = Int(truncatingIfNeeded: bytes.hash) & mask
        while true {
            let record = buckets[place]
            if record == 0 || log[Int(record) &- 1].entry.bytes.compare(bytes) == 0 {
                return place
            }
            place = (place &+ 1) & mask
        }
    }

    private mutating func hashLog() {
        // At most half of the buckets are used, even if all bytes are different.
        if log.count * 2 > buckets.count {
            var size = 64
            while size < log.count * 2 { size *= 2 }
            buckets.removeAll()
            buckets.extend(by: size).update(repeating: 0, count: size)
            hashed = 0
        }
        while hashed < log.count {
            let place = bucket(of: log[hashed].entry.bytes)
            (log.base + hashed).pointee.previous = buckets[place]
            hashed += 1
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
