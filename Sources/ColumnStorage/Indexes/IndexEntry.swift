/// One entry of a sorted index: a value and the row that has it.
///
/// Entries are ordered by value, then by key.
struct IndexEntry<Value: IndexedValue>: BitwiseCopyable {
    var value: Value
    var key: Int64

    /// Compares two entries: negative if this one precedes, zero if they are equal, otherwise positive.
    @inline(__always)
    func compare(_ other: IndexEntry) -> Int {
        let order = value.compare(other.value)
        if order != 0 { return order }
        return key < other.key ? -1 : (key == other.key ? 0 : 1)
    }
}

/// A change to an index entry that is not merged into the blocks yet.
struct IndexChange<Value: IndexedValue>: BitwiseCopyable {
    var entry: IndexEntry<Value>
    /// The number of added entries: +1 for an insertion, -1 for a removal; in ``ChangeSums``, a sum of these.
    var change: Int32
    /// The log position + 1 of the previous change of the same value, or 0.
    var previous: UInt32 = 0
}

extension IndexChange {
    /// Writes sorted entries with sorted changes applied, without removed entries.
    static func apply(
        _ changes: UnsafeBufferPointer<Self>, to old: GrowableBuffer<IndexEntry<Value>>,
        into new: inout GrowableBuffer<IndexEntry<Value>>
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
        in changes: UnsafeBufferPointer<Self>, from start: Int,
        notBelow isBelow: (IndexEntry<Value>) -> Bool
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
