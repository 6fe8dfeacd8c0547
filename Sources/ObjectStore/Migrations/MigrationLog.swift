import ColumnStorage

/// The record in a file of the numbered migrations that were applied to it.
///
/// The transaction of each migration writes the record, so the record always agrees with the data.
package struct MigrationLog: Hashable, Sendable {
    /// The record of one applied migration.
    package struct Entry: Hashable, Sendable {
        /// The number, which is the schema version after the migration.
        package var number: Int
        /// The name of the migration's file, without number and extension.
        package var name: String
        /// The checksum of the source, without comments and white space.
        package var checksum: String
        /// The time at which the migration was applied.
        package var appliedAt: Timestamp
        /// The copy of the file created before the migration, if there is one.
        package var backup: String?
        /// The additions of the migration, as `Class.property` or the name of a class; the `down` function may remove
        /// them again.
        ///
        /// Nil if the additions are unknown because the migration was recorded without being run, or by an earlier
        /// build.
        package var added: [String]?
        /// The checksum of the source without the schema, which changes when branches are merged; empty if unknown.
        package var codeChecksum = ""
        /// The checksums of the files that the migration loaded from its folder, by name.
        package var helpers: [String: String] = [:]
        /// The version that committed the migration; 0 if unknown.
        package var version: UInt64 = 0

        /// Creates the record of an applied migration.
        package init(
            number: Int, name: String, checksum: String, appliedAt: Timestamp, backup: String? = nil
        ) {
            self.number = number
            self.name = name
            self.checksum = checksum
            self.appliedAt = appliedAt
            self.backup = backup
        }
    }

    /// The applied migrations in ascending order of their numbers.
    package private(set) var entries: [Entry] = []
    /// The copy of the file created before the last `down`; nil after another migration was applied.
    package var backupOfDown: String?
    /// The version that committed the last `down`; 0 if unknown.
    package var versionOfDown: UInt64 = 0

    /// The copy of the file that an earlier build created before an ``UnfinishedMigration``; nil if there is none.
    package private(set) var backupOfUnfinished: String?

    /// Creates a log without entries.
    package init() {}

    /// Replaces the entries, for example after migrations were renumbered or squashed.
    package mutating func replaceEntries(_ new: [Entry]) {
        entries = new.sorted { $0.number < $1.number }
    }

    private static let blob = "migrations"
    private static let format: UInt64 = 2

    /// Reads the log of a version; the log is empty if no migration was ever recorded.
    static func read(_ snapshot: Snapshot) throws -> MigrationLog {
        let bytes = try StoreError.wrapping(snapshot.metadata(blob))
        guard let bytes, !bytes.isEmpty else { return MigrationLog() }
        return try StoreError.decoding(bytes, "record of migrations", of: snapshot.file, decode)
    }

    private static func decode(_ reader: inout ByteReader) throws -> MigrationLog {
        let written = try reader.number()
        guard written == format || written == 1 else {
            throw StoreError(
                .fileFormatTooNew,
                "the file's record of migrations was written by a newer Moonpool; update to read it"
            )
        }
        var log = MigrationLog()
        for _ in 0..<(try reader.count()) {
            let number = try reader.number(as: Int.self)
            let name = try reader.text()
            let checksum = try reader.text()
            let appliedAt = Timestamp(microseconds: Int64(bitPattern: try reader.number()))
            let backup = try reader.text()
            var entry = Entry(
                number: number, name: name, checksum: checksum, appliedAt: appliedAt,
                backup: backup.isEmpty ? nil : backup)
            if written > 1 { try entry.decodeDetails(&reader) }
            log.entries.append(entry)
        }
        func name() throws -> String? {
            let text = try reader.text()
            return text.isEmpty ? nil : text
        }
        if !reader.isAtEnd { log.backupOfDown = try name() }
        // Earlier builds did not write the version and the second name.
        if !reader.isAtEnd { log.versionOfDown = try reader.number() }
        if !reader.isAtEnd { log.backupOfUnfinished = try name() }
        return log
    }

    /// Stores the log in the open write transaction.
    func write(_ session: WriteSession) throws {
        var writer = ByteWriter()
        writer.number(Self.format)
        writer.number(UInt64(entries.count))
        for entry in entries {
            writer.number(UInt64(max(entry.number, 0)))
            writer.text(entry.name)
            writer.text(entry.checksum)
            writer.number(UInt64(bitPattern: entry.appliedAt.microseconds))
            writer.text(entry.backup ?? "")
            entry.encodeDetails(&writer)
        }
        if let backupOfDown {
            writer.text(backupOfDown)
            writer.number(versionOfDown)
        }
        let bytes = writer.bytes
        try StoreError.wrapping(session.setMetadata(Self.blob, bytes, effect: .none))
    }
}

extension MigrationLog.Entry {
    fileprivate mutating func decodeDetails(_ reader: inout ByteReader) throws {
        if try reader.number() == 1 {
            added = try (0..<(try reader.count())).map { _ in try reader.text() }
        }
        codeChecksum = try reader.text()
        for _ in 0..<(try reader.count()) {
            let name = try reader.text()
            helpers[name] = try reader.text()
        }
        version = try reader.number()
    }

    fileprivate func encodeDetails(_ writer: inout ByteWriter) {
        writer.number(added == nil ? 0 : 1)
        if let added {
            writer.number(UInt64(added.count))
            for name in added { writer.text(name) }
        }
        writer.text(codeChecksum)
        writer.number(UInt64(helpers.count))
        for (name, checksum) in helpers.sorted(by: { $0.key < $1.key }) {
            writer.text(name)
            writer.text(checksum)
        }
        writer.number(version)
    }
}

/// A migration that an earlier build of Moonpool committed in batches, and that was interrupted between two of them.
///
/// The file has values of two schemas in one, which only that build distinguishes, so its schema cannot be changed.
package struct UnfinishedMigration {
    /// The number of the migration; nil for the migration function of a program.
    package let number: Int?
    /// The version that committed the last batch.
    package let version: UInt64

    private static let blob = "migration checkpoint"

    /// Reads the migration of a version; nil if there is none.
    static func read(_ snapshot: Snapshot) throws -> UnfinishedMigration? {
        let bytes = try StoreError.wrapping(snapshot.metadata(blob))
        guard let bytes, !bytes.isEmpty else { return nil }
        return try StoreError.decoding(bytes, "state of a migration", of: snapshot.file) { reader in
            _ = try reader.number()  // the format
            let key = try reader.text()
            for _ in 0..<3 { _ = try reader.data() }  // schemas
            for _ in 0..<4 { _ = try reader.number() }  // the position in the loop
            return UnfinishedMigration(
                number: Int(key.prefix { $0.isNumber }), version: try reader.number())
        }
    }

    /// Removes the record, together with the data, in the open write transaction.
    static func remove(_ session: WriteSession) throws {
        try StoreError.wrapping(session.setMetadata(blob, []))
    }

    /// The error for a change of the schema.
    package var refusal: StoreError {
        StoreError(
            .migrationNeeded,
            "an earlier build of Moonpool was interrupted in \(number.map { "migration \($0)" } ?? "a migration")",
            advice:
                "return to its backup with moonpool migrate undo, or finish the migration with that build"
        )
    }
}

extension Store {
    /// Returns the migration that an earlier build has not finished; nil if there is none.
    ///
    /// Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func unfinishedMigration() throws -> UnfinishedMigration? {
        try check()
        return try UnfinishedMigration.read(view.snapshot)
    }

    /// Returns the record of the numbered migrations that were applied to the file.
    ///
    /// Throws `closed`, `wrong_thread`, `file_corrupt`, `file_format_too_new`.
    package func migrationLog() throws -> MigrationLog {
        try check()
        return try MigrationLog.read(view.snapshot)
    }
}
