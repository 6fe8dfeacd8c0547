import ColumnStorage

/// The progress of a migration that commits in batches, as the file records it.
///
/// Lets the next run of the same migration continue from there. Until the last checkpoint, the file has the old schema
/// and also the properties and classes of the new one.
struct MigrationCheckpoint {
    /// Which migration it is of.
    var key: String
    /// The file's schema before, as the catalogue stores it.
    var original: [UInt8]
    /// The migration's schema so far.
    var interim: [UInt8]
    /// The catalogue of the interrupted run: if it has changed, the migration begins again.
    var catalog: [UInt8]
    /// Which of the migration's resumable loops it is in, from 0 on.
    var loop: Int
    /// The object that was migrated last; -1 before the first.
    var position: Int64
    /// How many objects of the loop have been passed, and how many there were.
    var done: Int
    var total: Int
    /// The version that this was committed as.
    var version: UInt64

    private static let blob = "migration checkpoint"
    private static let format: UInt64 = 1

    /// Reads the checkpoint of a version, if there is one.
    static func read(_ snapshot: Snapshot) throws -> MigrationCheckpoint? {
        let bytes = try StoreError.wrapping { () throws(StorageError) in
            try snapshot.metadata(blob)
        }
        guard let bytes, !bytes.isEmpty else { return nil }
        return try StoreError.decoding("state of a migration", of: snapshot.file) {
            try decode(bytes)
        }
    }

    private static func decode(_ bytes: [UInt8]) throws -> MigrationCheckpoint? {
        var reader = ByteReader(bytes)
        // One of another format is no use, and nothing is lost without it.
        guard try reader.number() == format else { return nil }
        return MigrationCheckpoint(
            key: try reader.text(), original: try reader.data(), interim: try reader.data(),
            catalog: try reader.data(), loop: try Int(exactly: reader.number()).orDamaged(),
            position: Int64(bitPattern: try reader.number()),
            done: try Int(exactly: reader.number()).orDamaged(),
            total: try Int(exactly: reader.number()).orDamaged(), version: try reader.number())
    }

    /// Stores the checkpoint in the open write transaction.
    func write(_ session: WriteSession) throws {
        var writer = ByteWriter()
        writer.number(Self.format)
        writer.text(key)
        writer.data(original)
        writer.data(interim)
        writer.data(catalog)
        writer.number(UInt64(max(loop, 0)))
        writer.number(UInt64(bitPattern: position))
        writer.number(UInt64(max(done, 0)))
        writer.number(UInt64(max(total, 0)))
        writer.number(version)
        try Self.store(writer.bytes, session)
    }

    /// Forgets the checkpoint.
    static func remove(_ session: WriteSession) throws { try store([], session) }

    private static func store(_ bytes: [UInt8], _ session: WriteSession) throws {
        try StoreError.wrapping { () throws(StorageError) in
            try session.setMetadata(blob, bytes)
        }
    }
}

extension MigrationCheckpoint {
    /// Whether the schema is still what it was when this was committed.
    func isCurrent(_ view: StoreView) throws -> Bool {
        try SchemaCatalog.bytes(view.snapshot) == catalog
    }

    /// Frees what an interrupted run has left in the file, in the open write transaction.
    ///
    /// Numbers of tables and columns are never used again.
    func discard(_ store: Store, _ session: WriteSession) throws {
        try Self.remove(session)
        guard try isCurrent(store.view) else { return }
        let present = store.view.schema
        let old = try SchemaCatalog.decode(original, of: store.view.snapshot.file)
        let schema = Schema(
            classes: old.classes.map { classSchema in
                ClassSchema(
                    classSchema.name, classSchema.properties, table: classSchema.table,
                    columnCount: present.find(table: classSchema.table)?.columnCount
                        ?? classSchema.columnCount,
                    isEmbedded: classSchema.isEmbedded, indexes: classSchema.indexes)
            }, version: old.version, nextTable: present.nextTable)
        let bytes = SchemaCatalog.encode(schema)
        try StoreError.wrapping { () throws(StorageError) in
            for classSchema in schema.classes {
                let definition = schema.tableDefinition(of: classSchema)
                if store.view.snapshot.definition(of: classSchema.table) != definition {
                    try session.define(definition)
                }
            }
            for gone in present.classes where old.find(table: gone.table) == nil {
                try session.removeTable(gone.table)
            }
            try session.setMetadata(SchemaCatalog.name, bytes)
        }
        store.adoptInWrite(schema)
    }
}

extension Store {
    /// How far an interrupted migration has come that may be resumed: which one, objects passed, objects in all.
    ///
    /// Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func interruptedMigration() throws -> (key: String, done: Int, total: Int)? {
        try check()
        guard let found = try MigrationCheckpoint.read(view.snapshot), found.catalog == catalog
        else { return nil }
        return (found.key, found.done, found.total)
    }
}
