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
    }
}
