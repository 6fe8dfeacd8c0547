/// The metadata record of a table, in the file's tail table.
///
/// The tail table contains, for each table, the rows of its newest cluster that are not packed into leaves yet, one
/// node each under `table << 48 | key`, and after them the head. The newest nodes are in the ``DeltaBuffer``.
struct TableHead: Equatable {
    /// The upper bound of all keys that were ever used, exclusive.
    var keyBound: Int64 = 0
    /// The number of existing rows.
    var count: Int64 = 0
    /// The last version that changed the table in other ways than adding rows to the newest cluster.
    var tailStamp: UInt64 = 0
    /// Whether there are rows in the tail.
    var hasTailRows = false

    static let size = 25
    private static let keys: UInt64 = 1 << 48

    /// Returns the key of the head.
    static func key(_ table: TableID) -> UInt64 { (UInt64(table.rawValue) + 1) * keys - 1 }

    /// Returns the key of a row.
    static func key(_ table: TableID, _ row: Int64) -> UInt64 {
        UInt64(table.rawValue) * keys + UInt64(row)
    }

    /// The number of clusters of the keys below the bound.
    var clusterCount: Int { (Int(keyBound) + Cluster.rows - 1) / Cluster.rows }

    /// Decodes a head; nil if the bytes are not valid.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.size else { return nil }
        keyBound = bytes.loadUnaligned(as: Int64.self)
        count = bytes.loadUnaligned(fromByteOffset: 8, as: Int64.self)
        tailStamp = bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        hasTailRows = bytes[24] & 1 != 0
        // The key of a leaf has 32 bits for the cluster.
        guard keyBound >= 0, keyBound < Int64(Cluster.rows) << 32, count >= 0, count <= keyBound
        else { return nil }
    }

    init() {}

    func write(to bytes: UnsafeMutableRawBufferPointer) {
        bytes.storeBytes(of: keyBound, as: Int64.self)
        bytes.storeBytes(of: count, toByteOffset: 8, as: Int64.self)
        bytes.storeBytes(of: tailStamp, toByteOffset: 16, as: UInt64.self)
        bytes[24] = hasTailRows ? 1 : 0
    }
}
