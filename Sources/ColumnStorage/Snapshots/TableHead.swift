import LMDBStorage

/// What a table records about itself: in the tail table, under `(table + 1) << 48`.
struct TableHead: Equatable {
    /// All keys ever given are below this.
    var keyBound: Int64 = 0
    /// Rows that are present.
    var count: Int64 = 0

    static let size = 16

    static func key(_ table: TableID) -> UInt64 { (UInt64(table.rawValue) + 1) << 48 }

    /// Clusters that keys below the bound lie in.
    var clusterCount: Int { (Int(keyBound) + Cluster.rows - 1) / Cluster.rows }

    /// Nil when the bytes make no sense.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.size else { return nil }
        keyBound = bytes.loadUnaligned(as: Int64.self)
        count = bytes.loadUnaligned(fromByteOffset: 8, as: Int64.self)
        // The key of a leaf has 32 bits for the cluster.
        guard keyBound >= 0, keyBound < Int64(Cluster.rows) << 32, count >= 0, count <= keyBound
        else { return nil }
    }

    init() {}

    func write(
        _ table: TableID, in transaction: TransactionHandle, _ target: Table
    ) throws(StorageError) {
        let place = try transaction.reserve(target, Self.key(table), count: Self.size)
        place.storeBytes(of: keyBound, as: Int64.self)
        place.storeBytes(of: count, toByteOffset: 8, as: Int64.self)
    }
}
