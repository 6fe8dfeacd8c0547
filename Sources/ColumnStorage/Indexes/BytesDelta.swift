/// What a write has done to an index of bytes and has not yet merged into the blocks: a log of
/// insertions and removals, a hash over it for look-ups, and its sums in order, each brought up to
/// date only when asked for.
struct BytesDelta {
    struct Record: BitwiseCopyable {
        var entry: BytesEntry
        /// +1 or -1; a sum of them once merged.
        var change: Int32
        /// The log position + 1 of the record of the same bytes before this one, or 0.
        var previous: UInt32
    }

    private(set) var log = GrowableBuffer<Record>()
    private var arena = BytesArena()
    private var buckets = GrowableBuffer<UInt32>()
    private var hashed = 0
    private var sums = GrowableBuffer<Record>()
    private var summed = 0

    func deallocate() {
        log.deallocate()
        arena.deallocate()
        buckets.deallocate()
        sums.deallocate()
    }

    var isEmpty: Bool { log.isEmpty }
    /// About how much memory it takes.
    var size: Int { log.count * MemoryLayout<Record>.stride + arena.used }

    mutating func add(_ bytes: UnsafeRawBufferPointer, _ key: Int64, change: Int32) {
        let copy = BytesView(start: arena.copy(bytes), count: bytes.count)
        log.append(
            Record(entry: BytesEntry(bytes: copy, key: key), change: change, previous: 0))
    }

    /// The log position + 1 of the newest record of some bytes, or 0.
    mutating func newestRecord(of bytes: BytesView) -> UInt32 {
        if log.isEmpty { return 0 }
        if hashed < log.count { hashLog() }
        return buckets[bucket(of: bytes)]
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
        // At most half of the buckets are used, even if all bytes differ.
        if log.count * 2 > buckets.count {
            var size = 64
            while size < log.count * 3 { size *= 2 }
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

    /// The log as sums in order of entries, without those that are zero.
    mutating func sortedSums() -> UnsafeBufferPointer<Record> {
        if summed < log.count {
            var fresh = GrowableBuffer<Record>(capacity: log.count - summed)
            fresh.append(
                contentsOf: UnsafeBufferPointer(rebasing: log.elements[summed..<log.count]))
            Self.sort(fresh.elements)
            if !sums.isEmpty {
                var merged = GrowableBuffer<Record>(capacity: sums.count + fresh.count)
                var left = 0
                var right = 0
                while left < sums.count || right < fresh.count {
                    let takeLeft =
                        right == fresh.count
                        || (left < sums.count
                            && sums[left].entry.compare(fresh[right].entry) <= 0)
                    merged.append(takeLeft ? sums[left] : fresh[right])
                    if takeLeft { left += 1 } else { right += 1 }
                }
                fresh.deallocate()
                fresh = merged
            }
            Self.combine(&fresh)
            sums.deallocate()
            sums = fresh
            summed = log.count
        }
        return UnsafeBufferPointer(sums.elements)
    }

    private static func sort(_ records: UnsafeMutableBufferPointer<Record>) {
        var index = 1
        while index < records.count, records[index - 1].entry.compare(records[index].entry) <= 0 {
            index += 1
        }
        if index >= records.count { return }
        var records = records
        records.sort { $0.entry.compare($1.entry) < 0 }
    }

    private static func combine(_ records: inout GrowableBuffer<Record>) {
        var write = 0
        var read = 0
        while read < records.count {
            var record = records[read]
            read += 1
            while read < records.count, records[read].entry.compare(record.entry) == 0 {
                record.change &+= records[read].change
                read += 1
            }
            if record.change != 0 {
                records[write] = record
                write += 1
            }
        }
        records.truncate(to: write)
    }
}
