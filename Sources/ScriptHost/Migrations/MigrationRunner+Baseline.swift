import ObjectStore
import StoreBindings

extension MigrationRunner {
    /// The changes of `baseline`.
    package struct BaselineReport {
        /// The store, as it was named.
        package let store: String
        /// The migrations that are recorded as applied now.
        package let recorded: [MigrationFile]

        /// The migrations for scripts and for `--json`.
        package var recordedValue: ReportValue {
            .array(
                recorded.map { .members(["number": .count($0.number), "name": .text($0.name)]) })
        }

        /// The report for scripts and for `--json`.
        package var value: ReportValue {
            .members(["store": .text(store), "recorded": recordedValue])
        }
    }

    /// Records migrations as applied without running them: of a store that got their schema in another way, for
    /// example from a program that has migrated it.
    ///
    /// Up to `target`, or otherwise up to the store's schema version. The store's schema must be that of the last of
    /// them; nothing but its version and the record changes.
    ///
    /// Throws `migration_needed` where the schema is another one, or the record and the folder disagree,
    /// `invalid_argument` where there is nothing to record, `version_too_low` for a store of a higher version.
    package func baseline(to target: Int? = nil) throws -> BaselineReport {
        try withExisting { handle in
            let standing = try standing(of: handle)
            let problems = standing.history.problems
            guard problems.isEmpty else {
                throw StoreError(
                    .migrationNeeded,
                    problems.map { $0.message(store: store, folder: directory.path) }
                        .joined(separator: "\n"))
            }
            let number = target ?? Int(clamping: standing.schemaVersion)
            let files = standing.history.pending.filter { $0.number <= number }
            guard let last = files.last, last.number == number else {
                throw nothingToRecord(number, target, standing)
            }
            let script = try scripts.script(last)
            let known = standing.history.applied.last?.entry.number
            isWaiting?(true)
            try handle.store.withMigration { transaction in
                isWaiting?(false)
                try checkVersion(handle.store.schema.version, last)
                try requireSchema(of: script, handle)
                var log = transaction.log
                guard log.entries.last?.number == known else { throw migratedMeanwhile }
                log.apply(files.map(MigrationLog.Entry.init(of:)))
                _ = try transaction.migrate(to: script.schema, version: UInt64(number))
                    .commit(recording: log)
            }
            return BaselineReport(store: store, recorded: files)
        }
    }

    private func nothingToRecord(
        _ number: Int, _ target: Int?, _ standing: MigrationStanding
    ) -> StoreError {
        if standing.lastNumber > 0, number <= standing.lastNumber {
            return StoreError(
                .invalidArgument, "'\(store)' is at migration \(standing.lastNumber) already")
        }
        let reason =
            target == nil
            ? "'\(store)' has schema version \(number), and '\(directory.path)' has no migration of "
                + "that number; name the one that the store is at with --to"
            : "there is no migration \(number) in '\(directory.path)'; the last one is "
                + "\(directory.files.last?.number ?? 0)"
        return StoreError(.invalidArgument, reason)
    }

    private func requireSchema(of script: MigrationScript, _ handle: StoreHandle) throws {
        let differences = try SchemaLint.differences(
            from: handle.store.schema, to: script.schema)
        guard !differences.isEmpty else { return }
        throw StoreError(
            .migrationNeeded,
            "'\(store)' does not have the schema of '\(script.file.fileName)': "
                + differences.map(\.description).joined(separator: ", ")
                + "; up runs the migrations that it lacks")
    }
}
