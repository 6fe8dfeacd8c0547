/// The keys of index blocks: table and column, two bytes each, most significant first, then the value in the order of
/// the index.
enum IndexKey {
    static let prefixBytes = 4
    /// The number of the first full-text index; the column's number is added to it.
    static let terms = ColumnID.limit
    /// The number of the first composite index; the index's own number is added to it.
    static let composites = 2 * ColumnID.limit

    /// Returns the first four bytes of all keys of a column, in memory order.
    static func prefix(_ table: TableID, _ column: ColumnID) -> UInt32 {
        (table.rawValue << 16 | UInt32(truncatingIfNeeded: column.rawValue)).bigEndian
    }

    /// Returns the prefix that follows all keys of a column.
    static func following(_ prefix: UInt32) -> UInt32 {
        (UInt32(bigEndian: prefix) &+ 1).bigEndian
    }

    static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        left.count == right.count
            && BytesView(left).compare(BytesView(right)) == 0
    }

    @inline(__always)
    static func hasPrefix(_ key: UnsafeRawBufferPointer, _ prefix: UInt32) -> Bool {
        key.count >= prefixBytes && key.loadUnaligned(as: UInt32.self) == prefix
    }
}

/// The keys of blocks of an index of integers, and of chunks of lists: two integers in 20 bytes.
///
/// The key of a new block is its first entry.
struct IntIndexKey: IndexBlockKey {
    static let bytes = 20
    private static let sign: UInt64 = 1 << 63
    private let memory: UnsafeMutableRawPointer

    init(prefix: UInt32) {
        memory = UnsafeMutableRawPointer.allocate(byteCount: Self.bytes, alignment: 8)
        memory.storeBytes(of: prefix, as: UInt32.self)
    }

    func deallocate() { memory.deallocate() }

    func least() -> UnsafeRawBufferPointer { position(of: .least) }

    func first(_ entry: IntEntry) -> UnsafeRawBufferPointer { position(of: entry) }

    @inline(__always)
    func position(before value: Int64) -> UnsafeRawBufferPointer {
        position(of: IntEntry(value: value, key: .min))
    }

    @inline(__always)
    func position(of entry: IntEntry) -> UnsafeRawBufferPointer {
        // With the sign flipped, negative numbers come first in byte order.
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.value) ^ Self.sign).bigEndian, toByteOffset: 4,
            as: UInt64.self)
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.key) ^ Self.sign).bigEndian, toByteOffset: 12,
            as: UInt64.self)
        return UnsafeRawBufferPointer(start: memory, count: Self.bytes)
    }

    func separator(_ lower: IntEntry, _ upper: IntEntry) -> UnsafeRawBufferPointer? {
        lower == upper ? nil : position(of: upper)
    }

    /// Decodes the entry in a stored key; nil if the key does not have this form.
    @inline(__always)
    static func entry(_ key: UnsafeRawBufferPointer) -> IntEntry? {
        guard key.count == bytes else { return nil }
        let value = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
        let row = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 12, as: UInt64.self))
        return IntEntry(
            value: Int64(bitPattern: value ^ sign), key: Int64(bitPattern: row ^ sign))
    }

    static func stored(_ key: UnsafeRawBufferPointer) -> IntEntry? { entry(key) }

    func key(_ stored: IntEntry) -> UnsafeRawBufferPointer { position(of: stored) }

    @inline(__always)
    func isBelow(_ entry: IntEntry, _ key: IntEntry) -> Bool { entry < key }

    static func bound(_ key: UnsafeRawBufferPointer) -> Int64? { entry(key)?.value }

    @inline(__always)
    func target(_ value: Int64) -> Int64 { value }

    @inline(__always)
    static func isAtOrBefore(_ bound: Int64, _ target: Int64) -> Bool { bound < target }
}
