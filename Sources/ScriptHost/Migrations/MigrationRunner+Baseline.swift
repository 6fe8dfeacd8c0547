import ObjectStore
import StoreBindings

extension MigrationRunner {
    /// Records migrations as applied without running them: of a store that got their schema in another way.
    ///
    /// Up to `target`, or up to the store's schema version where nobody says. The store's schema must be what the last of
    /// them says; nothing but its version and the record changes.
    ///
    /// Throws `migration_needed` where the schema is another one, or store and folder do not belong together,
    /// `invalid_argument` where there is nothing to record, `version_too_low` for a store of a higher version.
    package func baseline(to target: Int? = nil) throws -> ReportValue {
        try withExisting { handle in
            let state = try state(of: handle)
            try state.requireSound()
            let number = target ?? Int(clamping: state.schemaVersion)
            let files = state.pending.filter { $0.number <= number }
            guard let last = files.last, last.number == number else {
                throw nothingToRecord(number, target, state)
            }
            let script = try last.load(module)
            isWaiting?(true)
            let report = try handle.store.migrate(
                to: script.schema, version: UInt64(number),
                if: { log in
                    isWaiting?(false)
                    try checkVersion(handle.store.schema.version, last)
                    try requireSchema(of: script, handle)
                    return log.entries.last?.number == state.applied.last?.number
                },
                recording: { log in
                    log.backupOfDown = nil
                    log.entries += files.map {
                        MigrationLog.Entry(
                            number: $0.number, name: $0.name, checksum: $0.checksum,
                            appliedAt: .now, backup: nil)
                    }
                })
            guard report != nil else { throw migratedMeanwhile }
            return .members([
                "store": .text(store),
                "recorded": .array(
                    files.map { .members(["number": .count($0.number), "name": .text($0.name)]) }),
            ])
        }
    }

    private func nothingToRecord(
        _ number: Int, _ target: Int?, _ state: MigrationState
    ) -> StoreError {
        if let last = state.applied.last?.number, number <= last {
            return StoreError(.invalidArgument, "'\(store)' is at migration \(last) already")
        }
        let reason =
            target == nil
            ? "'\(store)' has schema version \(number), and '\(directory.path)' has no migration of "
                + "that number; say which one the store is at"
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
