/// The keys of index blocks: table and column, two bytes each, most significant first, then what
/// the index orders by.
enum IndexKey {
    static let prefixBytes = 4
    /// Where the numbers of full-text indexes begin: this plus the column's.
    static let terms = ColumnID.limit
    /// Where the numbers of composite indexes begin: this plus the index's own.
    static let composites = 2 * ColumnID.limit

    /// The first four bytes of all keys of a column, in memory order.
    static func prefix(_ table: TableID, _ column: ColumnID) -> UInt32 {
        (table.rawValue << 16 | UInt32(truncatingIfNeeded: column.rawValue)).bigEndian
    }

    /// The prefix after which nothing of this column can come.
    static func following(_ prefix: UInt32) -> UInt32 {
        (UInt32(bigEndian: prefix) &+ 1).bigEndian
    }

    @inline(__always)
    static func hasPrefix(_ key: UnsafeRawBufferPointer, _ prefix: UInt32) -> Bool {
        key.count >= prefixBytes && key.loadUnaligned(as: UInt32.self) == prefix
    }
}

/// The 20-byte key of a block of an integer index, in memory of its own that cursor calls can read
/// from.
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

    /// The key with this entry; valid until the next one is made.
    @inline(__always)
    func make(_ entry: IntEntry) -> UnsafeRawBufferPointer {
        // Flipping the sign makes negative numbers come first in the order of bytes.
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.value) ^ Self.sign).bigEndian, toByteOffset: 4,
            as: UInt64.self)
        memory.storeBytes(
            of: (UInt64(bitPattern: entry.key) ^ Self.sign).bigEndian, toByteOffset: 12,
            as: UInt64.self)
        return buffer
    }

    /// The entry in a stored key; nil when the key is not of this form.
    @inline(__always)
    static func entry(_ key: UnsafeRawBufferPointer) -> IntEntry? {
        guard key.count == bytes else { return nil }
        let value = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 4, as: UInt64.self))
        let row = UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 12, as: UInt64.self))
        return IntEntry(
            value: Int64(bitPattern: value ^ sign), key: Int64(bitPattern: row ^ sign))
    }
}
