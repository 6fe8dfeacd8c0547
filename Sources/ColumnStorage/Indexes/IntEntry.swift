/// One entry of an integer index: a value and the row that has it.
///
/// Entries are ordered by value, then by key.
struct IntEntry: Hashable, Comparable, IndexEntry {
    var value: Int64
    var key: Int64

    @inline(__always)
    static func < (left: IntEntry, right: IntEntry) -> Bool {
        left.value < right.value || (left.value == right.value && left.key < right.key)
    }

    @inline(__always)
    func compare(_ other: IntEntry) -> Int {
        self < other ? -1 : self == other ? 0 : 1
    }

    static func sort(_ records: UnsafeMutableBufferPointer<IndexChange<IntEntry>>) {
        EntrySort.sort(records)
    }

    static let least = IntEntry(value: .min, key: .min)
}
