/// Joins sorted entries with the sorted sums of a write's log.
struct BytesMerge {
    private let sums: UnsafeBufferPointer<BytesDelta.Record>?
    private var place: Int
    private var skips = 0

    init(_ sums: UnsafeBufferPointer<BytesDelta.Record>?, from lower: BytesView) {
        self.sums = sums
        var low = 0
        var high = sums?.count ?? 0
        while let sums, low < high {
            let middle = (low + high) / 2
            if sums[middle].entry.bytes.compare(lower) < 0 {
                low = middle + 1
            } else {
                high = middle
            }
        }
        place = low
    }

    /// Passes on the insertions before `entry`, then the entry unless it was removed.
    ///
    /// False when `give` wants no more.
    mutating func pass(
        _ entry: BytesEntry, _ give: (UnsafeRawBufferPointer, ObjectKey) -> Bool
    ) -> Bool {
        if let sums {
            while place < sums.count {
                let record = sums[place]
                let order = record.entry.compare(entry)
                if order > 0 { break }
                place += 1
                if record.change > 0 {
                    for _ in 0..<record.change
                    where !give(record.entry.bytes.buffer, ObjectKey(record.entry.key)) {
                        return false
                    }
                } else {
                    // Only entries that are stored are removed, so it is this one.
                    skips = order == 0 ? Int(-record.change) : 0
                }
            }
            if skips > 0 {
                skips -= 1
                return true
            }
        }
        return give(entry.bytes.buffer, ObjectKey(entry.key))
    }

    /// Passes on the insertions after the last entry.
    mutating func finish(_ give: (UnsafeRawBufferPointer, ObjectKey) -> Bool) {
        guard let sums else { return }
        while place < sums.count {
            let record = sums[place]
            place += 1
            guard record.change > 0 else { continue }
            for _ in 0..<record.change
            where !give(record.entry.bytes.buffer, ObjectKey(record.entry.key)) {
                return
            }
        }
    }
}
