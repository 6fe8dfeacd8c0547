/// One entry of an integer index: a value and the row that has it.
///
/// Ordered by value, then by key.
struct IntEntry: Hashable, Comparable {
    var value: Int64
    var key: Int64

    @inline(__always)
    static func < (left: IntEntry, right: IntEntry) -> Bool {
        left.value < right.value || (left.value == right.value && left.key < right.key)
    }

    static let least = IntEntry(value: .min, key: .min)
}
