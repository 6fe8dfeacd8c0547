import ColumnStorage

/// A write transaction that brings a file to a whole schema and records that in the file.
///
///     let report = try store.withMigration { transaction in
///         var log = transaction.log
///         guard isDue(log) else { return nil }
///         let migrated = try transaction.migrate(to: classes, version: 2) { migration in … }
///         log.apply([entry])
///         return try migrated.commit(recording: log)
///     }
///
/// Used on the store's thread, and only in the closure of ``Store/withMigration(_:)``.
package struct MigrationTransaction {
    /// The record of migrations in the file; no other process can change it before the transaction ends.
    package let log: MigrationLog
    private let store: Store

    fileprivate init(_ store: Store) throws {
        self.store = store
        log = try MigrationLog.read(store.view.snapshot)
    }

    /// Changes the schema, and runs the function that fills, renames and deletes.
    ///
    /// Unlike with ``Store/redefine(_:migration:)``, classes that are not named must be gone by the end: the migration
    /// deletes or renames them, or they are empty. The version may increase or decrease.
    ///
    /// `dropping` names the data that may be lost, as `Class.property` or as the name of a class; other losses are
    /// refused, also if nothing is stored. `key` identifies this migration, so that a resumable loop of an interrupted
    /// run can continue; such loops commit in batches.
    ///
    /// Throws `invalid_schema`, `duplicate_key`, `missing_value`, `invalid_object` for what is found at the end, what
    /// the function throws, and what a write may throw.
    package func migrate(
        to classes: [ClassSchema], version: UInt64, dropping: Set<String> = [],
        resumingAs key: String? = nil, running function: ((Migration) throws -> Void)? = nil
    ) throws -> UncommittedMigration {
        try SchemaValidation.check(classes)
        let change = try SchemaMigration(
            store, to: classes, version: version, allowing: .newVersion, isWhole: true,
            losses: .declared(dropping, isStrict: true), resumeKey: key)
        let before = try change.oldView()
        if let function { try change.apply(running: function) } else { try change.apply() }
        return UncommittedMigration(
            before: before, differences: change.differences, isResumed: change.resumed != nil,
            store: store)
    }
}

/// A migration that is done, in a write transaction that is still open.
package struct UncommittedMigration {
    /// The version before, for reading.
    let before: StoreView
    /// The differences between the schemas.
    package let differences: [SchemaDifference]
    /// Whether an earlier run has done a part, whose conversions are unknown.
    let isResumed: Bool
    let store: Store

    /// Writes the record of migrations and commits; the report says what the migration has changed.
    ///
    /// Throws what a commit may throw; nothing has changed then.
    package func commit(recording log: MigrationLog) throws -> MigrationReport {
        defer { before.close() }
        try log.write(store.writing("the record of migrations"))
        try store.commitWrite()
        return try MigrationReport(self, after: store.view)
    }
}

extension Store {
    /// Runs the closure in a write transaction that migrates the file.
    ///
    /// Nothing changes unless the closure commits the migration. Waits while another thread or process writes.
    ///
    /// Throws `already_in_write`, what the closure throws, and what a write may throw.
    package func withMigration<Result>(
        _ body: (MigrationTransaction) throws -> Result
    ) throws -> Result {
        try check()
        guard !isInWrite else {
            throw StoreError(
                .alreadyInWrite,
                "a file cannot be migrated inside a write transaction; commit it first")
        }
        return try write {
            let result = try body(MigrationTransaction(self))
            if !isClosed, isInWrite { try cancelWrite() }
            return result
        }
    }
}
