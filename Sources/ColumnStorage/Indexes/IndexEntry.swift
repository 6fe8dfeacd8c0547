/// One entry of a sorted index: a value and the row that has it.
protocol IndexEntry: BitwiseCopyable {
    /// Compares two entries: negative if this one precedes, zero if they are equal, otherwise positive.
    func compare(_ other: Self) -> Int

    /// Sorts records by their entries.
    static func sort(_ records: UnsafeMutableBufferPointer<IndexChange<Self>>)
}

/// A change to an index entry that is not merged into the blocks yet.
struct IndexChange<Entry: IndexEntry>: BitwiseCopyable {
    var entry: Entry
    /// The number of added entries: +1 for an insertion, -1 for a removal; in ``ChangeSums``, a sum of these.
    var change: Int32
    /// The log position + 1 of the previous change of the same value, or 0.
    var previous: UInt32
}

extension IndexChange {
    /// Writes sorted entries with sorted changes applied, without removed entries.
    static func apply(
        _ changes: UnsafeBufferPointer<Self>, to old: GrowableBuffer<Entry>,
        into new: inout GrowableBuffer<Entry>
    ) {
        var index = 0
        for change in changes {
            let from = index
            while index < old.count, old[index].compare(change.entry) < 0 { index &+= 1 }
            new.append(contentsOf: UnsafeBufferPointer(start: old.base + from, count: index - from))
            var count = Int(change.change)
            while index < old.count, old[index].compare(change.entry) == 0 {
                count &+= 1
                index &+= 1
            }
            while count > 0 {
                new.append(change.entry)
                count &-= 1
            }
        }
        new.append(
            contentsOf: UnsafeBufferPointer(start: old.base + index, count: old.count - index))
    }

    /// Returns the first of the sorted changes, from an index on, that is at least a bound, by exponential search.
    static func firstIndex(
        in changes: UnsafeBufferPointer<Self>, from start: Int, notBelow isBelow: (Entry) -> Bool
    ) -> Int {
        var low = start
        var step = 1
        while low + step <= changes.count, isBelow(changes[low + step - 1].entry) {
            low += step
            step *= 2
        }
        var high = Swift.min(low + step, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if isBelow(changes[middle].entry) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
