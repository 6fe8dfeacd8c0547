import LMDBStorage

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
    package func indexes(of table: TableID) -> Table { indexShards[Self.shard(of: table)] }

    package static func shard(of table: TableID) -> Int { Int(table.rawValue) % shards }

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
