/// Merges sorted stored entries with the sorted sums of a write's log.
struct IndexMerge<Value: IndexedValue> {
    typealias Entry = IndexEntry<Value>

    private let sums: UnsafeBufferPointer<IndexChange<Value>>
    private var next: Int
    /// The number of further removed entries that equal the last one.
    private var skips = 0

    /// Creates a merge that begins with the first sum that is at least a bound.
    init(_ sums: UnsafeBufferPointer<IndexChange<Value>>, below isBelow: (Entry) -> Bool) {
        self.sums = sums
        next = IndexChange.firstIndex(in: sums, from: 0, notBelow: isBelow)
    }

    /// Calls `give` with the insertions before `entry`, then with the entry unless it was removed.
    ///
    /// Returns false if `give` returned false.
    @inline(__always)
    mutating func pass<Failure: Error>(
        _ entry: Entry, _ give: (Entry) throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
        while next < sums.count {
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
    mutating func finish<Failure: Error>(
        _ give: (Entry) throws(Failure) -> Bool
    ) throws(Failure) {
        while next < sums.count {
            let record = sums[next]
            next += 1
            guard record.change > 0 else { continue }
            for _ in 0..<record.change where try !give(record.entry) { return }
        }
    }
}
