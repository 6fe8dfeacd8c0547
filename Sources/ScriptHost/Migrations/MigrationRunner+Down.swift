import ObjectStore
import StoreBindings

extension MigrationRunner {
    /// The changes of `down`.
    package struct DownReport {
        /// The path of the store, as given.
        package let store: String
        /// The reversed migrations, starting with the last one.
        package let undone: [AppliedMigration]
        /// The duration in seconds.
        package let seconds: Double

        /// The report for scripts and for `--json`.
        package var value: ReportValue {
            .members([
                "store": .text(store), "down": undone.first?.value ?? .null,
                "all": .array(undone.map(\.value)), "seconds": .double(seconds),
            ])
        }
    }

    /// Reverses migrations with their `down` functions: the last one, or all after a number.
    ///
    /// Later writes are kept as far as `down` converts them; the report counts dropped values that were written after
    /// the migration. Throws `invalid_argument` if a migration has no `down` (before any change), `migration_needed` if
    /// the store and the folder do not match, and ``MigrationFailure`` for an error of a function. After a failure, the
    /// migrations that were reversed before the failed one remain reversed.
    package func down(to target: Int? = nil, backup: Backup = .whenLosing) throws -> DownReport {
        let start = ContinuousClock.now
        var undone: [AppliedMigration] = []
        let borrowed = try borrowExisting()
        defer { borrowed.end() }
        let comparison = try comparison(with: borrowed.store)
        try requireSound(comparison)
        let applied = comparison.history.applied.compactMap(\.file)
        guard let last = applied.last else {
            throw StoreError(.invalidArgument, "no migration was applied to '\(store)'")
        }
        if let skipped = comparison.history.pending.first(where: { $0.number < last.number }) {
            throw StoreError(
                .invalidArgument,
                "'\(skipped.path)' is pending and comes before '\(last.fileName)', which was applied; run up first"
            )
        }
        let target = target ?? directory.file(before: last.number)?.number ?? 0
        guard target < last.number, target >= 0,
            target == 0 || applied.contains(where: { $0.number == target })
        else {
            throw StoreError(
                .invalidArgument,
                "'\(store)' is at migration \(last.number); revert it to a lower applied one, or "
                    + "to 0")
        }
        let due = try applied.filter { $0.number > target }
            .sorted { $0.number > $1.number }.map { try scripts.script($0) }
        for script in due where script.down == nil {
            throw StoreError(
                .invalidArgument,
                "'\(script.file.path)' has no 'down' function; write a migration that reverses it"
                    + (comparison.history.applied.contains { $0.entry.backup != nil }
                        ? ", or restore the last backup with undo" : ""))
        }
        for script in due {
            undone.append(
                try revert(script, borrowed.handle, undone.isEmpty ? backup : .never))
        }
        return DownReport(store: store, undone: undone, seconds: Self.seconds(since: start))
    }

    private func revert(
        _ script: MigrationScript, _ handle: StoreHandle, _ backup: Backup
    ) throws -> AppliedMigration {
        let (file, store) = (script.file, handle.store)
        let previous = directory.file(before: file.number)
        let classes = try scripts.schema(after: previous)
        let attempt = MigrationAttempt(file)
        let entry = try store.migrationLog().entries.last
        let added =
            try entry?.added
            ?? SchemaDifference.between(classes, and: script.schema).compactMap(\.addition)
        do {
            let transaction = try store.beginMigration()
            defer { transaction.end() }
            var log = transaction.log
            guard log.entries.last?.number == file.number else { throw migratedMeanwhile }
            attempt.writtenSince = try writtenValues(
                store, since: entry?.version ?? 0, missingIn: classes)
            let change = try transaction.change(
                to: classes, version: UInt64(previous?.number ?? 0),
                dropping: script.downDrops.union(added))
            try change.apply { [self] migration in
                observe(migration, attempt)
                try scripts.call(script.down, of: script, with: migration, on: handle)
            }
            if try backup == .always || backup != .never && change.needsBackup() {
                try makeBackup(attempt, store, log)
            }
            log.revertLast(
                backup: attempt.backup.map(Self.fileName), version: store.version + 1)
            return attempt.finished(try change.commit(recording: log))
        } catch {
            throw failure(error, of: attempt, store)
        }
    }

    /// Returns the number of values that were written since a version, for each property and class that `classes` does
    /// not contain.
    ///
    /// Returns nil if the history is incomplete.
    private func writtenValues(
        _ store: Store, since version: UInt64, missingIn classes: [ClassSchema]
    ) throws -> [String: Int]? {
        guard let changes = try store.changes(since: version) else { return nil }
        var counts: [String: Int] = [:]
        for difference in try SchemaDifference.between(store.schema, and: classes) {
            let qualifiedName: String
            switch difference.loss {
            case .objects(let name): qualifiedName = name
            case .values(let property, let name, _): qualifiedName = "\(name).\(property.name)"
            case nil: continue
            }
            counts[qualifiedName] = try store.writtenCount(qualifiedName, in: changes)
        }
        return counts
    }
}
