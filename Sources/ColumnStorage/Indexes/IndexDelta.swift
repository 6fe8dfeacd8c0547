import LMDBStorage

/// The changes of a write to an index that are not merged into the blocks yet.
///
/// They have two parts. The `tail` is a sorted array of entries that are greater than all others, such as ascending
/// primary keys. The `log` has all other changes in the order of the calls; since an index is a multiset, only the sum
/// of insertions and removals of an entry matters. For lookups, a hash table has the values of the log, and the sums
/// are sorted. Both are updated only by a lookup, so bulk changes have no cost for them.
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

    /// Returns whether the log has a record of a value.
    mutating func hasRecord(of value: Value) -> Bool {
        if log.isEmpty { return false }
        if hashed < log.count { hashLog() }
        return buckets[bucket(of: value)] != 0
    }

    /// Returns the bucket with the log position + 1 of a record of a value, or the empty bucket for it.
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
            if buckets[bucket] == 0 { usedBuckets &+= 1 }
            hashed &+= 1
            buckets[bucket] = UInt32(truncatingIfNeeded: hashed)
        }
    }

    /// Returns the sums of the log.
    mutating func changeSums() -> ChangeSums<Value> {
        sums.add(log)
        return sums
    }

    /// Returns the same sums, in the memory of the log; the delta must not change afterward.
    mutating func takeSums() -> UnsafeBufferPointer<Record> {
        buckets.removeAll()
        return sums.take(from: &log)
    }
}

/// Merges sorted entries with sorted changes: the sums of a write's log, or a run.
struct IndexMerge<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>

    private var sums = UnsafeBufferPointer<IndexChange<Value>>(start: nil, count: 0)
    private var next = 0
    /// The parts that follow `sums`.
    private var parts: ArraySlice<ChangeSums<Value>.Part> = []
    /// The run with the changes that follow `sums`; nil at its end.
    private var run: IndexRunReader<Value>?
    /// The number of further removed entries that equal the last one.
    private var skips = 0

    /// Creates a merge with all changes that a reader returns.
    init(_ run: IndexRunReader<Value>) { self.run = run }

    /// Creates a merge that begins with the first sum that is at least a bound.
    init(_ all: ChangeSums<Value>, below isBelow: (Entry) -> Bool) {
        parts = all.parts[all.partIndex { isBelow($0[$0.count - 1].entry) }...]
        guard let first = parts.popFirst() else { return }
        sums = UnsafeBufferPointer(first.sums.elements)
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

    /// Calls `give` with the insertions after the last entry, below a bound.
    ///
    /// The bound ends the search also where there are only removals.
    mutating func finish(
        below isBelow: (Entry) -> Bool, _ give: (Entry) throws(StorageError) -> Bool
    ) throws(StorageError) {
        while try hasNext() {
            let record = sums[next]
            guard isBelow(record.entry) else { return }
            next += 1
            guard record.change > 0 else { continue }
            for _ in 0..<record.change where try !give(record.entry) { return }
        }
    }

    @inline(__always)
    private mutating func hasNext() throws(StorageError) -> Bool {
        if next < sums.count { return true }
        return run == nil && parts.isEmpty ? false : try readNext()
    }

    private mutating func readNext() throws(StorageError) -> Bool {
        next = 0
        if let part = parts.popFirst() {
            sums = UnsafeBufferPointer(part.sums.elements)
            return true
        }
        sums = try run?.next() ?? sums
        if sums.isEmpty { run = nil }
        return !sums.isEmpty
    }
}

/// The sums of a log's changes for each entry, in the order of the entries and without zero sums.
///
/// They are in parts of limited size. A few new changes are inserted into their parts, so a write that changes and reads
/// an index in turn takes the same time for each change.
struct ChangeSums<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>
    typealias Record = IndexChange<Value>

    /// Consecutive sums, at least one.
    struct Part {
        fileprivate(set) var sums = GrowableBuffer<Record>()
        /// The sum of all changes.
        fileprivate(set) var total = 0

        fileprivate init(_ sums: UnsafeBufferPointer<Record>) {
            self.sums.append(contentsOf: sums)
            for record in sums { total &+= Int(record.change) }
        }
    }

    private(set) var parts: [Part] = []
    /// The number of log records that the sums include.
    private var summed = 0

    /// The number of sums above which a part is divided.
    private static var partLimit: Int { 256 }

    func deallocate() { for part in parts { part.sums.deallocate() } }

    /// Discards the sums, for a log that is empty.
    mutating func removeAll() {
        deallocate()
        parts = []
        summed = 0
    }

    /// Adds the records of the log that the sums do not include yet.
    mutating func add(_ log: GrowableBuffer<Record>) {
        guard summed < log.count else { return }
        if log.count - summed > summed / 8 {
            var all = GrowableBuffer<Record>(capacity: log.count)
            all.append(contentsOf: UnsafeBufferPointer(log.elements))
            Self.sum(&all)
            removeAll()
            for start in stride(from: 0, to: all.count, by: Self.partLimit / 2) {
                let end = Swift.min(start + Self.partLimit / 2, all.count)
                parts.append(Part(UnsafeBufferPointer(rebasing: all.elements[start..<end])))
            }
            all.deallocate()
        } else {
            for record in log.elements[summed...] { add(record) }
        }
        summed = log.count
    }

    private mutating func add(_ record: Record) {
        // because: new entries between two parts belong to the first of them.
        let index = Swift.max(0, partIndex { $0[0].entry.compare(record.entry) <= 0 } - 1)
        guard index < parts.count else {
            return withUnsafePointer(to: record) {
                parts.append(Part(UnsafeBufferPointer(start: $0, count: 1)))
            }
        }
        let sums = parts[index].sums
        let position = Record.firstIndex(in: UnsafeBufferPointer(sums.elements), from: 0) {
            $0.compare(record.entry) < 0
        }
        parts[index].total &+= Int(record.change)
        guard position < sums.count, sums[position].entry.compare(record.entry) == 0 else {
            parts[index].sums.insert(record, at: position)
            if sums.count >= Self.partLimit { divide(index) }
            return
        }
        (sums.base + position).pointee.change &+= record.change
        guard sums[position].change == 0 else { return }
        parts[index].sums.remove(at: position)
        if parts[index].sums.isEmpty { parts.remove(at: index).sums.deallocate() }
    }

    private mutating func divide(_ index: Int) {
        let sums = UnsafeBufferPointer(parts[index].sums.elements)
        let middle = sums.count / 2
        parts.insert(Part(UnsafeBufferPointer(rebasing: sums[middle...])), at: index + 1)
        parts[index].sums.truncate(to: middle)
        parts[index].total &-= parts[index + 1].total
    }

    /// Returns the index of the first part for which a test is false; the test must be false for all later parts.
    func partIndex(_ test: (GrowableBuffer<Record>) -> Bool) -> Int {
        var low = 0
        var high = parts.count
        while low < high {
            let middle = (low + high) / 2
            if test(parts[middle].sums) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the sum of all changes of entries below a bound.
    func total(below isBelow: (Entry) -> Bool) -> Int {
        let end = partIndex { isBelow($0[$0.count - 1].entry) }
        var total = parts[..<end].reduce(0) { $0 &+ $1.total }
        if end < parts.count {
            for record in parts[end].sums.elements {
                guard isBelow(record.entry) else { break }
                total &+= Int(record.change)
            }
        }
        return total
    }

    /// Returns the sums of the entries with a value, in the order of their keys.
    func changes(of value: Value) -> [Record] {
        var found: [Record] = []
        for part in parts[partIndex({ $0[$0.count - 1].entry.value.compare(value) < 0 })...] {
            let sums = UnsafeBufferPointer(part.sums.elements)
            let start = Record.firstIndex(in: sums, from: 0) { $0.value.compare(value) < 0 }
            for record in sums[start...] {
                guard record.entry.value.compare(value) == 0 else { return found }
                found.append(record)
            }
        }
        return found
    }

    /// Returns the sums of a log in its memory; afterward, neither the log nor this value may be used.
    mutating func take(from log: inout GrowableBuffer<Record>) -> UnsafeBufferPointer<Record> {
        if summed == log.count {
            log.truncate(to: 0)
            // because: a log has at least as many records as sums.
            for part in parts { log.append(contentsOf: UnsafeBufferPointer(part.sums.elements)) }
        } else {
            removeAll()
            Self.sum(&log)
        }
        return UnsafeBufferPointer(log.elements)
    }

    /// Sorts records, and adds those of equal entries.
    private static func sum(_ records: inout GrowableBuffer<Record>) {
        Value.sort(records.elements)
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
