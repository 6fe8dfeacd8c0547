import ColumnStorage

/// A write transaction that migrates a file to a complete schema and records the migration in the file.
///
///     let report = try store.withMigration { transaction in
///         var log = transaction.log
///         guard isDue(log) else { return nil }
///         let migrated = try transaction.migrate(to: classes, version: 2) { migration in … }
///         log.apply([entry])
///         return try migrated.commit(recording: log)
///     }
///
/// Use it on the store's thread, and only in the closure of ``Store/withMigration(_:)``.
package struct MigrationTransaction {
    /// The record of migrations in the file; no other process can change it before the transaction ends.
    package let log: MigrationLog
    private let store: Store

    fileprivate init(_ store: Store) throws {
        self.store = store
        log = try MigrationLog.read(store.view.snapshot)
    }

    /// Changes the schema, and runs the function that migrates the data.
    ///
    /// Unlike ``Store/redefine(_:migration:)``, this function keeps no classes that are not named: they must be empty,
    /// or the migration must delete or rename them. The version may increase or decrease.
    ///
    /// `dropping` names the data that may be lost, as `Class.property` or as the name of a class; other losses are
    /// refused, even if no data is stored. `key` identifies this migration, so that a resumable loop of an interrupted
    /// run can continue; such loops commit in batches.
    ///
    /// Throws `invalid_schema`, `duplicate_key`, `missing_value`, `invalid_object` for problems found at the end, and
    /// the errors of the function and of a write.
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

/// A finished migration whose write transaction is still open.
package struct UncommittedMigration {
    /// The version before the migration, for reading.
    let before: StoreView
    /// The differences between the schemas.
    package let differences: [SchemaDifference]
    /// Whether an earlier run did a part of the migration; the conversions of that part are unknown.
    let isResumed: Bool
    let store: Store

    /// Writes the record of migrations and commits; returns a report of the changes.
    ///
    /// Throws the errors of a commit; the file is then unchanged.
    package func commit(recording log: MigrationLog) throws -> MigrationReport {
        defer { before.close() }
        try log.write(store.writer(changing: "the record of migrations").session)
        try store.commitWrite()
        return try MigrationReport(self, after: store.view)
    }
}

extension Store {
    /// Runs the closure in a write transaction that migrates the file.
    ///
    /// The file changes only if the closure commits the migration. Waits while another thread or process writes.
    ///
    /// Throws `already_in_write`, and the errors of the closure and of a write.
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
