/// One entry of a sorted index: what the index orders by, and the row that has it.
protocol IndexEntry: BitwiseCopyable {
    /// Negative, zero or positive as this comes before, equals or follows the other.
    func compare(_ other: Self) -> Int

    /// Sorts records by their entries.
    static func sort(_ records: UnsafeMutableBufferPointer<IndexChange<Self>>)
}

/// A change of a write to an index that is not merged into the blocks yet.
struct IndexChange<Entry: IndexEntry>: BitwiseCopyable {
    var entry: Entry
    /// +1 for an insertion, -1 for a removal; a sum of them in ``ChangeSums``.
    var change: Int32
    /// The log position + 1 of the change of the same value before this one, or 0.
    var previous: UInt32
}

extension IndexChange {
    /// Writes sorted entries with sorted changes applied; entries that are gone are left out.
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

    /// The first of sorted changes, from a place on, that is not below a bound: found by doubling steps, then bisection.
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
