/// An entry of an index of integers.
typealias IntEntry = IndexEntry<Int64>

extension IndexEntry: Equatable, Comparable where Value == Int64 {
    @inline(__always)
    static func == (left: IntEntry, right: IntEntry) -> Bool {
        left.value == right.value && left.key == right.key
    }

    @inline(__always)
    static func < (left: IntEntry, right: IntEntry) -> Bool {
        left.value < right.value || (left.value == right.value && left.key < right.key)
    }

    static var least: IntEntry { IntEntry(value: .min, key: .min) }
}

extension Int64: IndexedValue {
    typealias Block = IntBlock
    typealias BlockKey = IntIndexKey

    static var least: Int64 { .min }

    // Sorting copies the changes, so they can take twice these limits.
    static var pendingLimits: PendingLimits {
        PendingLimits(ascending: 2 << 20, least: 16 << 20, greatest: 32 << 20)
    }

    @inline(__always)
    func compare(_ other: Int64) -> Int { self < other ? -1 : (self == other ? 0 : 1) }

    @inline(__always)
    var hash: UInt64 {
        // The upper bits of the product depend on all bits of the value; tables use the lower bits of the hash.
        let product = UInt64(bitPattern: self) &* 0x9E37_79B9_7F4A_7C15
        return product ^ product &>> 32
    }

    @inline(__always)
    func copied(to arena: inout BytesArena) -> Int64 { self }

    static func sort(_ changes: UnsafeMutableBufferPointer<IndexChange<Int64>>) {
        EntrySort.sort(changes)
    }
}
