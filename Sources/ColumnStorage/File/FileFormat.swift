import LMDBStorage

/// The number of the file format.
enum FileFormat {
    /// The newest format: that of a file in which an index has had a run; see ``IndexLevels``.
    static let withIndexRuns: UInt32 = 5
    /// The format of every other file.
    static let usual: UInt32 = 4
    /// The oldest format that can be read and written.
    ///
    /// It has no ``ColumnDefinition/contents``, and like the next one no ``CommitIdentity``.
    static let oldest: UInt32 = 2
    static let name = "format"
    static let magic: UInt32 = 0x4C4F_4F50

    /// Throws unless the format of the file is known; writes the number to a new file.
    static func check(_ file: ColumnFile) throws(StorageError) {
        let reader = try ReadTransaction(file.lease())
        let bytes = try stored(reader.handle, file)
        let historyEntries = try reader.handle.statistics(file.tables.history).entries
        reader.end()
        guard let bytes else {
            guard historyEntries == 0 else {
                throw StorageError(.notAStore, call: "format number", file: file.path)
            }
            guard !file.options.isReadOnly, !file.isReadOnly else {
                throw StorageError(.empty, call: "format number", file: file.path)
            }
            return try mark(file)
        }
        guard bytes.count >= 8, number(bytes, at: 0) == magic else {
            throw StorageError(.notAStore, call: "format number", file: file.path)
        }
        let found = number(bytes, at: 4)
        guard (oldest...withIndexRuns).contains(found) else {
            throw StorageError(
                found < oldest ? .olderFormat : .newerFormat, call: "format number",
                file: file.path)
        }
    }

    /// Raises the number of a file in an older format, because the write adds what that format does not have.
    static func raise(
        _ handle: TransactionHandle, _ file: ColumnFile, to format: UInt32
    ) throws(StorageError) {
        assert((oldest...withIndexRuns).contains(format), "a write knows the format of its file")
        guard let stored = try stored(handle, file), number(stored, at: 4) < format else { return }
        try Metadata.write(name, bytes(format), in: handle, file.tables.meta)
    }

    /// Returns the number without its checksum, which earlier formats did not have.
    private static func stored(
        _ handle: TransactionHandle, _ file: ColumnFile
    ) throws(StorageError) -> [UInt8]? {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            guard let stored = try handle.stored(file.tables.meta, key) else { return nil }
            let bytes = [UInt8](stored)
            if bytes.count == 8 { return bytes }
            return try handle.get(file.tables.meta, key).map { [UInt8]($0) }
        }
    }

    /// The format entry of a new file.
    static var entry: InitialEntry {
        InitialEntry(table: FileTables.metaIndex, key: Array(name.utf8), value: bytes(usual))
    }

    private static func bytes(_ format: UInt32) -> [UInt8] {
        [magic, format].flatMap { word in
            stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    private static func mark(_ file: ColumnFile) throws(StorageError) {
        let writer = try WriteTransaction(file.lease(), durability: file.options.durability)
        let handle = writer.handle
        // Another process may have created the tables first.
        if try Metadata.read(name, in: handle, file.tables.meta) != nil {
            writer.abort()
            return try check(file)
        }
        try Metadata.write(name, bytes(usual), in: handle, file.tables.meta)
        try writer.commit()
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// Small named blobs in the file.
enum Metadata {
    static func read(
        _ name: String, in transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) -> [UInt8]? {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            try transaction.get(table, key).map { [UInt8]($0) }
        }
    }

    static func write(
        _ name: String, _ value: [UInt8], in transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            try value.withBytes { value throws(StorageError) in
                try transaction.put(table, key, value)
            }
        }
    }

    static func remove(
        _ name: String, in transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            _ = try transaction.delete(table, key)
        }
    }
}

/// The tables of the file's own layout, opened once with the file.
///
/// Classes do not have their own tables: LMDB's handles cannot be opened safely while other transactions run, and
/// beginning a transaction would take longer with more classes. Instead, leaves and index blocks are spread over a
/// fixed number of tables by table id (so that filling one class is a pure append as long as there are few classes),
/// and every key begins with the table id. All names fit on one page of LMDB's directory.
package struct FileTables: Sendable {
    /// The number of LMDB tables for leaves, and for index blocks.
    package static let shards = 24

    /// Small named blobs: the file's format and the schema.
    package let meta: Table
    /// The change sets, one for each version.
    package let history: Table
    /// The newest rows in row format, and the heads of tables.
    package let tail: Table
    /// Chunks of lists, of sets and of the values of maps; keys are bytes.
    package let lists: Table
    /// Chunks of map keys; keys are bytes.
    package let mapKeys: Table
    /// Long values; keys are bytes.
    package let values: Table
    private let leafShards: [Table]
    private let indexShards: [Table]

    /// Returns the table to which a node of the delta buffer belongs.
    subscript(home: DeltaBuffer.Home) -> Table {
        switch home {
        case .history: history
        case .tail: tail
        }
    }

    /// Returns the LMDB table with the leaves of a table; its keys are table (16 bits) | cluster (32) | column + 1
    /// (16).
    package func leaves(of table: TableID) -> Table { leafShards[Self.shard(of: table)] }

    /// Returns the LMDB table with the index blocks of a table; its keys are bytes and begin with the table's id.
    package func indexes(of table: TableID, _ level: IndexLevel = .base) -> Table {
        indexShards[Self.shard(of: table, level)]
    }

    package static func shard(of table: TableID) -> Int { Int(table.rawValue) % shards }

    /// Returns the shard of the index blocks of a level; no other table has blocks with the same keys there.
    static func shard(of table: TableID, _ level: IndexLevel) -> Int {
        (Int(table.rawValue) + shards / IndexLevel.allCases.count * level.rawValue) % shards
    }

    /// The LMDB table whose greatest key is the newest version.
    static let history = TableName("history", .integers)

    /// The location of the number of the newest version in a file.
    static let versions = VersionLocation(table: history, name: "\(DeltaBuffer.name)") { bytes in
        var newest: UInt64?
        DeltaBuffer(bytes)?.forEach { home, key, _ in
            if home == .history { newest = max(newest ?? 0, key) }
        }
        return newest
    }

    /// The index of ``meta`` among the names.
    static let metaIndex = 0

    static var names: [TableName] {
        [
            TableName("meta", .bytes), history,
            TableName("tail", .integers), TableName("lists", .bytes), TableName("values", .bytes),
            TableName("keys", .bytes),
        ] + (0..<shards).map { TableName("t\($0)", .integers) }
            + (0..<shards).map { TableName("i\($0)", .bytes) }
    }

    init(_ environment: Environment) {
        assert(
            Self.shards % IndexLevel.allCases.count == 0,
            "the levels of an index are in different shards")
        let tables = environment.tables
        meta = tables[0]
        history = tables[1]
        tail = tables[2]
        lists = tables[3]
        values = tables[4]
        mapKeys = tables[5]
        leafShards = Array(tables[6..<6 + Self.shards])
        indexShards = Array(tables[6 + Self.shards..<6 + 2 * Self.shards])
    }
}

/// A part of the entries of an index; see ``IndexLevels``.
package enum IndexLevel: Int, CaseIterable {
    case base
    case added
    case removed
}

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
