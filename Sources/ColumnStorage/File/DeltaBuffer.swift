import LMDBStorage

/// The newest nodes of the history and of the tails, in one node next to the names of the tables.
///
/// Every commit writes the page of the names anyway. With the history entry and the tail rows on this page, a commit of
/// one row changes no page of their tables. When the page is full, all rows move to their tables together. A node in
/// the buffer replaces the one with the same key in its table.
///
///     u8   the node's table
///     u64  the node's key
///     u16  the node's size, then its bytes; and so on for the next node
struct DeltaBuffer {
    /// The table that a node belongs to.
    enum Home: UInt8 {
        case history = 1
        case tail = 2
    }

    static let name: StaticString = "recent"
    /// The maximum size of all nodes in bytes, which fits on the page with the names.
    static let limit = 696
    static let headSize = 11

    let bytes: UnsafeRawBufferPointer

    static var none: DeltaBuffer {
        DeltaBuffer(unchecked: UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Creates a buffer of bytes that were validated before.
    init(unchecked bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Creates a buffer of bytes; nil if they are not valid.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset < bytes.count {
            guard offset + Self.headSize <= bytes.count, Home(rawValue: bytes[offset]) != nil
            else { return nil }
            offset += Self.headSize + Self.size(bytes, offset)
        }
        guard offset == bytes.count else { return nil }
        self.bytes = bytes
    }

    /// Reads the buffer of a transaction; it is empty if none was stored yet.
    static func read(_ transaction: TransactionHandle) throws(StorageError) -> DeltaBuffer {
        let key = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        guard let bytes = try transaction.get(.names, key) else { return .none }
        guard let nodes = DeltaBuffer(bytes) else {
            throw StorageError(.damaged, call: "reading recent nodes", file: transaction.file)
        }
        return nodes
    }

    @inline(__always)
    static func key(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: offset + 1, as: UInt64.self)
    }

    @inline(__always)
    static func size(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int {
        Int(bytes.loadUnaligned(fromByteOffset: offset + 9, as: UInt16.self))
    }

    /// Returns the offset of a node; nil if the buffer does not have it.
    func offset(_ home: Home, _ key: UInt64) -> Int? {
        var offset = 0
        while offset < bytes.count {
            if bytes[offset] == home.rawValue && Self.key(bytes, offset) == key { return offset }
            offset += Self.headSize + Self.size(bytes, offset)
        }
        return nil
    }

    func find(_ home: Home, _ key: UInt64) -> UnsafeRawBufferPointer? {
        offset(home, key).map(node)
    }

    private func node(at offset: Int) -> UnsafeRawBufferPointer {
        let start = offset + Self.headSize
        return UnsafeRawBufferPointer(rebasing: bytes[start..<start + Self.size(bytes, offset)])
    }

    func forEach<Failure: Error>(
        _ body: (Home, UInt64, UnsafeRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var offset = 0
        while offset < bytes.count {
            // because: the initializer has validated the homes.
            try body(Home(rawValue: bytes[offset])!, Self.key(bytes, offset), node(at: offset))
            offset += Self.headSize + Self.size(bytes, offset)
        }
    }
}
