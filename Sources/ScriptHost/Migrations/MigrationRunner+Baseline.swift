import ObjectStore
import StoreBindings

extension MigrationRunner {
    /// The changes of `baseline`.
    package struct BaselineReport {
        /// The path of the store, as given.
        package let store: String
        /// The migrations that were recorded as applied.
        package let recorded: [MigrationFile]

        /// The recorded migrations for scripts and for `--json`.
        package var recordedValue: ReportValue {
            .array(
                recorded.map { .members(["number": .count($0.number), "name": .text($0.name)]) })
        }

        /// The report for scripts and for `--json`.
        package var value: ReportValue {
            .members(["store": .text(store), "recorded": recordedValue])
        }
    }

    /// Records migrations as applied without running them.
    ///
    /// Use it for a store that already has their schema, for example because a program has migrated it. Records the
    /// migrations up to `target`, by default up to the schema version of the store. The schema of the store must equal
    /// that of the last of these migrations. Only the schema version and the record change.
    ///
    /// Throws `migration_needed` if the schema differs, or if the record and the folder do not match,
    /// `invalid_argument` if there is nothing to record, and `version_too_low` for a store of a higher version.
    package func baseline(to target: Int? = nil) throws -> BaselineReport {
        let borrowed = try borrowExisting()
        defer { borrowed.end() }
        let comparison = try comparison(with: borrowed.store)
        let problems = comparison.history.problems
        guard problems.isEmpty else {
            throw StoreError(
                .migrationNeeded,
                problems.map { $0.message(store: store, folder: directory.path) }
                    .joined(separator: "\n"))
        }
        let number = target ?? Int(clamping: comparison.schemaVersion)
        let files = comparison.history.pending.filter { $0.number <= number }
        guard let last = files.last, last.number == number else {
            throw nothingToRecord(number, target, comparison)
        }
        let script = try scripts.script(last)
        let known = comparison.history.applied.last?.entry.number
        let transaction = try borrowed.store.beginMigration()
        defer { transaction.end() }
        try checkVersion(borrowed.store.schema.version, last)
        try requireSchema(of: script, borrowed.store)
        var log = transaction.log
        guard log.entries.last?.number == known else { throw migratedMeanwhile }
        log.apply(files.map(MigrationLog.Entry.init(of:)))
        let change = try transaction.change(to: script.schema, version: UInt64(number))
        try change.apply()
        try change.commit(recording: log)
        return BaselineReport(store: store, recorded: files)
    }

    /// Whether the store does not record a migration as applied.
    func isUnrecorded(_ number: Int) throws -> Bool {
        let borrowed = try borrowExisting(isReadOnly: true)
        defer { borrowed.end() }
        return try comparison(with: borrowed.store).history.pending.contains {
            $0.number == number
        }
    }

    private func nothingToRecord(
        _ number: Int, _ target: Int?, _ comparison: MigrationComparison
    ) -> StoreError {
        if comparison.lastNumber > 0, number <= comparison.lastNumber {
            return StoreError(
                .invalidArgument, "'\(store)' is already at migration \(comparison.lastNumber)")
        }
        let reason =
            target == nil
            ? "'\(store)' has schema version \(number), and '\(directory.path)' has no migration of "
                + "that number; name the one that the store is at with --to"
            : "there is no migration \(number) in '\(directory.path)'; the last one is "
                + "\(directory.files.last?.number ?? 0)"
        return StoreError(.invalidArgument, reason)
    }

    private func requireSchema(of script: MigrationScript, _ store: Store) throws {
        let differences = try SchemaDifference.between(store.schema, and: script.schema)
        guard !differences.isEmpty else { return }
        throw StoreError(
            .migrationNeeded,
            "'\(self.store)' does not have the schema of '\(script.file.fileName)': "
                + differences.map(\.description).joined(separator: ", ")
                + "; up runs the missing migrations")
    }
}
