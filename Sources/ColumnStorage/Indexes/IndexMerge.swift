/// Joins sorted stored entries with the sorted sums of a write's log.
struct IndexMerge<Entry: IndexEntry> {
    private let sums: UnsafeBufferPointer<IndexChange<Entry>>
    private var place: Int
    /// How many further entries equal to the last one were removed.
    private var skips = 0

    /// Begins with the first sum that is not below a bound.
    init(_ sums: UnsafeBufferPointer<IndexChange<Entry>>, below isBelow: (Entry) -> Bool) {
        self.sums = sums
        place = IndexChange.firstIndex(in: sums, from: 0, notBelow: isBelow)
    }

    /// Passes on the insertions before `entry`, then the entry unless it was removed.
    ///
    /// False when `give` wants no more.
    @inline(__always)
    mutating func pass(_ entry: Entry, _ give: (Entry) -> Bool) -> Bool {
        while place < sums.count {
            let record = sums[place]
            let order = record.entry.compare(entry)
            if order > 0 { break }
            place += 1
            if record.change > 0 {
                for _ in 0..<record.change where !give(record.entry) { return false }
            } else {
                // Only entries that are there are removed, so it is this one.
                skips = order == 0 ? Int(-record.change) : 0
            }
        }
        if skips > 0 {
            skips -= 1
            return true
        }
        return give(entry)
    }

    /// Passes on the insertions after the last entry.
    mutating func finish(_ give: (Entry) -> Bool) {
        while place < sums.count {
            let record = sums[place]
            place += 1
            guard record.change > 0 else { continue }
            for _ in 0..<record.change where !give(record.entry) { return }
        }
    }
}
