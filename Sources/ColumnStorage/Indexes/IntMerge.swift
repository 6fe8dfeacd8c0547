/// Joins sorted entries with the sorted sums of a write's log.
struct IntMerge {
    private let sums: UnsafeBufferPointer<IntDelta.Record>
    private var place: Int
    private var skipped: IntEntry?
    private var skips = 0

    init(_ sums: UnsafeBufferPointer<IntDelta.Record>, from lower: Int64) {
        self.sums = sums
        var low = 0
        var high = sums.count
        while low < high {
            let middle = (low + high) / 2
            if sums[middle].entry.value < lower { low = middle + 1 } else { high = middle }
        }
        place = low
    }

    /// Passes on the insertions before `entry`, then the entry unless it was removed.
    ///
    /// False when `give` wants no more.
    mutating func pass(_ entry: IntEntry, _ give: (IntEntry) -> Bool) -> Bool {
        while place < sums.count, sums[place].entry <= entry {
            let record = sums[place]
            place += 1
            if record.change > 0 {
                for _ in 0..<record.change where !give(record.entry) { return false }
            } else {
                skipped = record.entry
                skips = Int(-record.change)
            }
        }
        if skips > 0, skipped == entry {
            skips -= 1
            return true
        }
        return give(entry)
    }

    /// Passes on the insertions after the last entry.
    mutating func finish(_ give: (IntEntry) -> Bool) {
        while place < sums.count {
            let record = sums[place]
            place += 1
            if record.change > 0 {
                for _ in 0..<record.change where !give(record.entry) { return }
            }
        }
    }
}
