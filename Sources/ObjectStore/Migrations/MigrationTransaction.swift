import ColumnStorage

/// A write transaction that migrates a file to a complete schema and records the migration in the file.
///
///     let transaction = try store.beginMigration()
///     defer { transaction.end() }
///     var log = transaction.log
///     guard isDue(log) else { return nil }
///     let change = try transaction.change(to: classes, version: 2)
///     try change.apply { migration in … }
///     log.apply([entry])
///     return try change.commit(recording: log)
///
/// Use it on the store's thread.
package struct MigrationTransaction {
    /// The record of migrations in the file; no other process can change it before the transaction ends.
    package let log: MigrationLog
    let store: Store

    fileprivate init(_ store: Store) throws {
        self.store = store
        log = try MigrationLog.read(store.view.snapshot)
    }

    /// Computes the change to a schema without applying it.
    ///
    /// Unlike ``Store/redefine(_:migration:)``, the change keeps no classes that are not named: they must be empty, or
    /// the migration must delete or rename them. The version may increase or decrease.
    ///
    /// `dropping` names the data that may be lost, as `Class.property` or as the name of a class; other losses are
    /// refused, even if no data is stored. `key` identifies this migration, so that a resumable loop of an interrupted
    /// run can continue; such loops commit in batches.
    ///
    /// Throws `invalid_schema`, `migration_needed` if another migration was interrupted, and the errors of a write.
    package func change(
        to classes: [ClassSchema], version: UInt64, dropping: Set<String> = [],
        renaming renames: [String: String] = [:], resumingAs key: String? = nil
    ) throws -> SchemaMigration {
        try store.requireNoTransition()
        try SchemaValidation.check(classes)
        return try SchemaMigration(
            store, to: classes, version: version, allowing: .newVersion, isWhole: true,
            renaming: renames, losses: .declared(dropping, isStrict: true), resumeKey: key)
    }

    /// Writes the record of migrations; a batch of a resumable loop commits it before the end of the migration.
    package func record(_ log: MigrationLog) throws {
        try log.write(store.writer(changing: "the record of migrations").session)
    }

    /// Rolls the transaction back unless it was committed.
    package func end() {
        guard !store.isClosed, store.isInWrite else { return }
        // because: the caller needs the reason why the migration failed, not the failure to read the file afterward.
        try? store.cancelWrite()
    }
}

extension Store {
    /// Begins a write transaction that migrates the file.
    ///
    /// Waits while another thread or process writes. Throws `already_in_write`, and the errors of ``beginWrite(timeout:)``.
    package func beginMigration() throws -> MigrationTransaction {
        try check()
        guard !isInWrite else {
            throw alreadyInWrite(
                "a file cannot be migrated inside a write transaction", "commit it first")
        }
        try beginWrite()
        do {
            return try MigrationTransaction(self)
        } catch {
            try cancelWrite()
            throw error
        }
    }
}
