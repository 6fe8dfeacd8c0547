import LMDBStorage

/// The tables of the file's own layout, opened once with the file.
///
/// Classes do not have tables of their own: LMDB's handles cannot be opened safely while other
/// transactions run, and a transaction's begin would grow with the number of classes. Instead leaves
/// and index blocks are spread over a fixed number of tables by table id (so that filling one
/// class is a pure append as long as there are few classes), and the table id leads every key.
/// All names fit on one page of LMDB's directory.
package struct FileTables: Sendable {
    /// How many tables leaves, and index blocks, are spread over.
    package static let shards = 24

    /// Small named blobs: the file's format, the schema.
    package let meta: Table
    /// One change set per version, by version.
    package let history: Table
    /// Row-shaped newest rows and the heads of tables.
    package let tail: Table
    /// Chunks of lists, of sets and of the values of maps; keys are bytes.
    package let lists: Table
    /// Chunks of the keys of maps; keys are bytes.
    package let mapKeys: Table
    /// Long values; keys are bytes.
    package let values: Table
    private let leafShards: [Table]
    private let indexShards: [Table]

    /// Where a recent node belongs.
    subscript(home: DeltaBuffer.Home) -> Table {
        switch home {
        case .history: history
        case .tail: tail
        }
    }

    /// The leaves of a table: key = table (16 bits) | cluster (32) | column + 1 (16).
    package func leaves(of table: TableID) -> Table { leafShards[Self.shard(of: table)] }

    /// The index blocks of a table; keys are bytes and begin with the table's id.
    package func indexes(of table: TableID) -> Table { indexShards[Self.shard(of: table)] }

    package static func shard(of table: TableID) -> Int { Int(table.rawValue) % shards }

    /// The table whose greatest key is the newest version.
    static let history = TableName("history", .integers)

    /// Where a file says what its newest version is.
    static let versions = VersionPlace(table: history, name: "\(DeltaBuffer.name)") { bytes in
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
