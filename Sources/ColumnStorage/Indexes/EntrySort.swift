/// Sorts log records by entry.
///
/// Sorted records are left unchanged, few records are sorted by comparison, and many by a radix sort of the values,
/// which is several times faster for random values.
enum EntrySort {
    typealias Record = IndexChange<Int64>

    static func sort(_ records: UnsafeMutableBufferPointer<Record>) {
        if isSorted(records) { return }
        guard records.count > 4096 else {
            compareSort(records)
            return
        }
        var lowest = Int64.max
        var highest = Int64.min
        for record in records {
            lowest = Swift.min(lowest, record.entry.value)
            highest = Swift.max(highest, record.entry.value)
        }
        let span = UInt64(bitPattern: highest &- lowest)
        let scratch = UnsafeMutableBufferPointer<Record>.allocate(capacity: records.count)
        defer { scratch.deallocate() }
        // One pass over the top bits leaves small buckets, which fit into the cache and are sorted by comparison.
        let bits = Swift.min(
            16, Swift.max(1, records.count.bitWidth - (records.count / 32).leadingZeroBitCount))
        let shift = UInt64(Swift.max(0, 64 - span.leadingZeroBitCount - bits))
        var starts = [Int](repeating: 0, count: (1 << bits) + 1)
        for record in records {
            starts[Int(UInt64(bitPattern: record.entry.value &- lowest) >> shift) + 1] += 1
        }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        var positions = starts
        positions.withUnsafeMutableBufferPointer { positions in
            for record in records {
                let bucket = Int(UInt64(bitPattern: record.entry.value &- lowest) >> shift)
                scratch[positions[bucket]] = record
                positions[bucket] &+= 1
            }
        }
        for bucket in 0..<starts.count - 1 where starts[bucket + 1] - starts[bucket] > 1 {
            let slice = UnsafeMutableBufferPointer(
                rebasing: scratch[starts[bucket]..<starts[bucket + 1]])
            if slice.count <= 24 {
                insertionSort(slice)
            } else if !isSorted(slice) {
                compareSort(slice)
            }
        }
        // because: more than 4096 records have an address.
        records.baseAddress!.update(from: scratch.baseAddress!, count: records.count)
    }

    private static func isSorted(_ records: UnsafeMutableBufferPointer<Record>) -> Bool {
        var index = 1
        while index < records.count {
            if records[index].entry < records[index &- 1].entry { return false }
            index &+= 1
        }
        return true
    }

    private static func compareSort(_ records: UnsafeMutableBufferPointer<Record>) {
        var records = records
        records.sort { $0.entry < $1.entry }
    }

    private static func insertionSort(_ records: UnsafeMutableBufferPointer<Record>) {
        var index = 1
        while index < records.count {
            let record = records[index]
            var position = index
            while position > 0, record.entry < records[position &- 1].entry {
                records[position] = records[position &- 1]
                position &-= 1
            }
            records[position] = record
            index &+= 1
        }
    }
}
