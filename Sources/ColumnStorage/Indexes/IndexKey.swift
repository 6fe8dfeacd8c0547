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

    @inline(__always)
    static func hasPrefix(_ key: UnsafeRawBufferPointer, _ prefix: UInt32) -> Bool {
        key.count >= prefixBytes && key.loadUnaligned(as: UInt32.self) == prefix
    }
}

/// The 20-byte key of a block of an integer index, in memory that cursor calls can read.
struct IntIndexKey {
    static let bytes = 20
    private static let sign: UInt64 = 1 << 63
    private let memory: UnsafeMutableRawPointer

    init(prefix: UInt32) {
        memory = UnsafeMutableRawPointer.allocate(byteCount: Self.bytes, alignment: 8)
        memory.storeBytes(of: prefix, as: UInt32.self)
    }

    func deallocate() { memory.deallocate() }

    var buffer: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory, count: Self.bytes)
    }

    /// Returns the key of an entry; valid until the next call.
    @inline(__always)
    func make(_ entry: IntEntry) -> UnsafeRawBufferPointer {
        // With the sign flipped, negative numbers come first in byte order.
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.value) ^ Self.sign).bigEndian, toByteOffset: 4,
            as: UInt64.self)
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.key) ^ Self.sign).bigEndian, toByteOffset: 12,
            as: UInt64.self)
        return buffer
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
}
