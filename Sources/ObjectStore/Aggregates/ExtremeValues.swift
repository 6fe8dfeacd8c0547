/// The least or the greatest values of a collection, and how often each occurs.
///
/// The reserve contains at most ``limit`` distinct values; when it is full, worse values are dropped. If removals empty
/// the reserve, ``isExhausted`` is true, and the owner must add all values again. Adding or removing a value takes a
/// binary search in the reserve.
struct ExtremeValues {
    private struct Entry {
        let value: Scalar
        var count: Int
    }

    private var entries: [Entry] = []
    /// Whether the reserve has every value of the collection.
    private var isComplete = true
    private let isMinimum: Bool

    /// The maximum number of distinct values in the reserve.
    static let limit = 1_024

    init(isMinimum: Bool) { self.isMinimum = isMinimum }

    /// The best value; nil if there is none or the reserve is exhausted.
    var best: Scalar? { entries.first?.value }

    /// Whether there are values, but none in the reserve.
    var isExhausted: Bool { entries.isEmpty && !isComplete }

    private func precedes(_ left: Scalar, _ right: Scalar) -> Bool {
        let order = Scalar.order(left, right) ?? 0
        return isMinimum ? order < 0 : order > 0
    }

    /// Returns the first position in the reserve whose value is not better than the given value.
    private func position(of value: Scalar) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if precedes(entries[middle].value, value) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Adds a value.
    mutating func add(_ value: Scalar) {
        if !isComplete, let last = entries.last, precedes(last.value, value) { return }
        let position = position(of: value)
        if position < entries.count, !precedes(value, entries[position].value) {
            entries[position].count += 1
            return
        }
        guard position < entries.count || isComplete else { return }
        entries.insert(Entry(value: value, count: 1), at: position)
        if entries.count > Self.limit {
            entries.removeLast()
            isComplete = false
        }
    }

    /// Removes a value that was added.
    mutating func remove(_ value: Scalar) {
        let position = position(of: value)
        guard position < entries.count, !precedes(value, entries[position].value) else { return }
        entries[position].count -= 1
        if entries[position].count == 0 { entries.remove(at: position) }
    }
}
