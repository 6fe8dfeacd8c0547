import ColumnStorage

/// The objects of a class that a migration goes through, in the order of their creation.
public final class MigrationWalk {
    /// The class as it was.
    public let oldClass: ClassSchema
    /// The class as it is going to be.
    public let newClass: ClassSchema
    private let migration: Migration
    private let oldRows: TableReader
    private let newRows: TableReader
    private let total: Int
    private var done = 0
    private var current: ObjectKey?
    private var cluster = 0
    private var word = 0
    private var bits: UInt64 = 0
    private var clusterBits = ClusterBits.zero

    private static let progressInterval = 1 << 12

    init(_ migration: Migration, _ oldClass: ClassSchema, _ newClass: ClassSchema) {
        self.migration = migration
        self.oldClass = oldClass
        self.newClass = newClass
        oldRows = migration.old.table(oldClass)
        newRows = migration.store.view.table(newClass)
        total = oldRows.count
        migration.currentWalk = self
        if oldRows.clusterCount > 0 {
            clusterBits = oldRows.presence(0)
            bits = clusterBits[0]
        }
    }

    /// The key of the next object that still exists, nil at the end.
    ///
    /// Throws `invalid_argument` once the migration is over, and what a progress handler throws.
    public func next() throws -> ObjectKey? {
        if done & (Self.progressInterval - 1) == 0 { try report() }
        while let key = advance() {
            done += 1
            current = key
            if newRows.isPresent(key) { return key }
            if done & (Self.progressInterval - 1) == 0 { try report() }
        }
        current = nil
        migration.currentWalk = nil
        try report()
        return nil
    }

    /// The class and what identifies the object that was given out last.
    public var currentName: String? {
        current.map {
            "\(newClass.name) "
                + migration.old.name(of: ObjectReference(table: oldClass.table, key: $0))
        }
    }

    private func report() throws {
        try migration.check()
        try migration.progressHandler?(oldClass.name, done, total)
    }

    private func advance() -> ObjectKey? {
        while bits == 0 {
            word += 1
            if word == Cluster.words {
                word = 0
                cluster += 1
                guard cluster < oldRows.clusterCount else {
                    cluster = oldRows.clusterCount
                    word = Cluster.words - 1
                    return nil
                }
                clusterBits = oldRows.presence(cluster)
            }
            bits = clusterBits[word]
        }
        let row = cluster * Cluster.rows + word * 64 + bits.trailingZeroBitCount
        bits &= bits - 1
        return ObjectKey(rawValue: Int64(row))
    }

    /// The object as it was.
    public func oldObject(_ key: ObjectKey) -> LiveObject {
        LiveObject(.frozen(migration.old), oldClass, key)
    }

    /// The object as it is going to be.
    public func newObject(_ key: ObjectKey) -> LiveObject {
        LiveObject(.store(migration.store), newClass, key)
    }
}
