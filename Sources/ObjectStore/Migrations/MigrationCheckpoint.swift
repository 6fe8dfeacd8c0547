import ColumnStorage

/// The progress of a migration that commits in batches, as recorded in the file.
///
/// The next run of the same migration continues from there. Until the last checkpoint, the file has the old schema and
/// also the properties and classes of the new one.
struct MigrationCheckpoint {
    /// The key of the migration.
    var key: String
    /// The file's schema before the migration, as the catalog stores it.
    var original: [UInt8]
    /// The migration's schema at this point.
    var interim: [UInt8]
    /// The schema catalog of the interrupted run; if it has changed since, the migration starts again.
    var catalog: [UInt8]
    /// The number of the current resumable loop of the migration, counted from 0.
    var loop: Int
    /// The key of the last migrated object; -1 before the first one.
    var position: Int64
    /// The numbers of visited objects and of all objects of the loop.
    var done: Int
    var total: Int
    /// The version of the commit that stored the checkpoint.
    var version: UInt64

    private static let blob = "migration checkpoint"
    private static let format: UInt64 = 1

    /// Reads the checkpoint of a version, if there is one.
    static func read(_ snapshot: Snapshot) throws -> MigrationCheckpoint? {
        let bytes = try StoreError.wrapping { () throws(StorageError) in
            try snapshot.metadata(blob)
        }
        guard let bytes, !bytes.isEmpty else { return nil }
        return try StoreError.decoding(bytes, "state of a migration", of: snapshot.file, decode)
    }

    private static func decode(_ reader: inout ByteReader) throws -> MigrationCheckpoint? {
        // A checkpoint of another format is ignored; the migration then starts again.
        guard try reader.number() == format else { return nil }
        return MigrationCheckpoint(
            key: try reader.text(), original: try reader.data(), interim: try reader.data(),
            catalog: try reader.data(), loop: try reader.number(as: Int.self),
            position: Int64(bitPattern: try reader.number()),
            done: try reader.number(as: Int.self),
            total: try reader.number(as: Int.self), version: try reader.number())
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

    /// Removes the checkpoint.
    static func remove(_ session: WriteSession) throws { try store([], session) }

    private static func store(_ bytes: [UInt8], _ session: WriteSession) throws {
        try StoreError.wrapping { () throws(StorageError) in
            try session.setMetadata(blob, bytes)
        }
    }
}

extension MigrationCheckpoint {
    /// Returns whether the schema has not changed since the checkpoint was committed.
    func isCurrent(_ view: StoreView) throws -> Bool {
        try SchemaCatalog.bytes(view.snapshot) == catalog
    }

    /// Removes the data of an interrupted run from the file, in the open write transaction.
    ///
    /// The numbers of tables and columns are not reused.
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
            for removed in present.classes where old.find(table: removed.table) == nil {
                try session.removeTable(removed.table)
            }
            try session.setMetadata(SchemaCatalog.name, bytes)
        }
        store.adoptInWrite(schema)
    }
}

extension Store {
    /// Returns the progress of an interrupted migration that can be resumed: its key, and the numbers of visited
    /// objects and of all objects.
    ///
    /// Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func interruptedMigration() throws -> (key: String, done: Int, total: Int)? {
        try check()
        guard let found = try MigrationCheckpoint.read(view.snapshot), found.catalog == catalog
        else { return nil }
        return (found.key, found.done, found.total)
    }
}
