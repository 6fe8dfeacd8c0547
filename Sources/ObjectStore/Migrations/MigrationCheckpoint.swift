import ColumnStorage

/// The progress of a migration that commits in batches, as recorded in the file.
///
/// The next run of the same migration continues from there, and no other change of the schema is possible before: it
/// would begin again with values that the interrupted run has already changed. Until the last checkpoint, the file has
/// the old schema and also the properties and classes of the new one.
struct MigrationCheckpoint {
    /// The key of the migration.
    var key: String
    /// The file's schema before the migration, as the catalog stores it.
    var original: [UInt8]
    /// The migration's schema at this point.
    var interim: [UInt8]
    /// The schema catalog of the interrupted run; if it has changed since, the migration cannot continue.
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
        let bytes = try StoreError.wrapping(snapshot.metadata(blob))
        guard let bytes, !bytes.isEmpty else { return nil }
        return try StoreError.decoding(bytes, "state of a migration", of: snapshot.file, decode)
    }

    private static func decode(_ reader: inout ByteReader) throws -> MigrationCheckpoint? {
        guard try reader.number() == format else {
            throw StoreError(
                .fileFormatTooNew,
                "the file contains a migration that a newer Moonpool has begun; update to continue it"
            )
        }
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
        try StoreError.wrapping(session.setMetadata(blob, bytes))
    }
}

extension MigrationCheckpoint {
    /// Returns whether the schema has not changed since the checkpoint was committed.
    func isCurrent(_ view: StoreView) throws -> Bool {
        try SchemaCatalog.bytes(view.snapshot) == catalog
    }

    /// The error for another change of the schema.
    func refusal(_ store: String) -> StoreError {
        let remedy =
            key.first?.isNumber == true
            ? "run moonpool migrate status \(store) --dir DIR for the ways to continue"
            : "finish it first: \(key) with the same migration"
        return StoreError(
            .migrationNeeded,
            "a migration was interrupted after \(done) of \(total) objects, whose values have changed; \(remedy)"
        )
    }
}

extension Store {
    /// Returns the progress of an interrupted migration.
    ///
    /// Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func interruptedMigration() throws -> InterruptedMigration? {
        try check()
        return try MigrationCheckpoint.read(view.snapshot).map {
            InterruptedMigration(
                key: $0.key, done: $0.done, total: $0.total, version: $0.version)
        }
    }
}

/// The progress of a migration that was interrupted between two batches.
package struct InterruptedMigration: Hashable, Sendable {
    /// The key of the migration.
    package let key: String
    /// The number of visited objects.
    package let done: Int
    /// The number of all objects of the loop.
    package let total: Int
    /// The version of the commit that stored the last batch.
    package let version: UInt64
    /// The number of the numbered migration; nil for the migration function of a program.
    package var number: Int? { Int(key.prefix { $0.isNumber }) }
    /// The checksum of the numbered migration.
    package var checksum: String? { part(1) }
    /// The name of the numbered migration.
    package var name: String? { part(2) }

    private func part(_ index: Int) -> String? {
        let parts = key.split(separator: " ", maxSplits: 2)
        return number == nil || parts.count <= index ? nil : String(parts[index])
    }
}
