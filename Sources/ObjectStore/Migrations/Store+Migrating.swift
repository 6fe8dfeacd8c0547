import ColumnStorage

extension Store {
    /// Brings the file to a whole schema, in one transaction that also records what was done.
    ///
    /// Unlike with ``redefine(_:migration:)``, classes that are not named must be gone by the end: the migration
    /// deletes or renames them, or they are empty. `isDue` receives the file's log once no other process can write and
    /// before anything has changed. If it returns false, the store stays unchanged and the result is nil. The version
    /// may increase or decrease.
    ///
    /// `dropping` names the data that may be lost, as `Class.property` or as the name of a class; other losses are
    /// refused, also if nothing is stored. `key` identifies this migration, so that a resumable loop of an interrupted
    /// run can continue.
    ///
    /// Throws `already_in_write`, `invalid_schema`, `duplicate_key`, `missing_value`, `invalid_object`
    /// for what is found at the end, what the functions throw, and what a write may throw; nothing has
    /// changed then.
    package func migrate(
        to classes: [ClassSchema], version: UInt64, dropping: Set<String> = [],
        resumingAs key: String? = nil,
        if isDue: (MigrationLog) throws -> Bool,
        recording update: (inout MigrationLog, [SchemaDifference]) -> Void,
        migration function: ((Migration) throws -> Void)? = nil
    ) throws -> MigrationReport? {
        try check()
        guard !isInWrite else {
            throw StoreError(
                .alreadyInWrite,
                "a file cannot be migrated inside a write transaction; commit it first")
        }
        try SchemaValidation.check(classes)
        var draft: MigrationReport.Draft?
        try write {
            var log = try MigrationLog.read(view.snapshot)
            guard try isDue(log) else { return try cancelWrite() }
            let migration = try SchemaMigration(
                self, to: classes, version: version, allowing: .newVersion, isWhole: true,
                losses: .declared(dropping, isStrict: true), resumeKey: key)
            let before = try migration.oldView()
            if let function { try migration.run(function) } else { try migration.run() }
            update(&log, migration.differences)
            try log.write(writing("the record of migrations"))
            draft = MigrationReport.Draft(
                before: before, differences: migration.differences,
                isResumed: migration.resumed != nil)
        }
        guard let draft else { return nil }
        defer { draft.before.close() }
        return try MigrationReport(draft, after: self)
    }
}
