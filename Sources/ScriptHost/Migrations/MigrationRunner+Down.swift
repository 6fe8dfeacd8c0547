import ObjectStore
import StoreBindings

extension MigrationRunner {
    /// Takes the last migration back by its `down` function.
    ///
    /// Throws `invalid_argument` where there is none, `migration_needed` where store and folder do not
    /// belong together, and ``MigrationFailure`` for what it throws.
    package func down(backup: Backup = .whenLosing) throws -> ReportValue {
        let start = ContinuousClock.now
        return try withExisting { handle in
            let state = try state(of: handle)
            try state.requireSound()
            guard let last = state.applied.last, let file = directory.file(last.number) else {
                throw StoreError(.invalidArgument, "no migration was applied to '\(store)'")
            }
            let script = try file.load(module)
            guard let function = script.down else {
                throw StoreError(
                    .invalidArgument,
                    "'\(file.path)' has no 'down' function; undo restores the last backup")
            }
            let previous = directory.file(last.number - 1)
            let classes = try previous?.load(module).schema ?? []
            let version = state.applied.dropLast().last?.number ?? 0
            let attempt = Attempt(file)
            isWaiting?(true)
            let report = try attempt.run(on: handle.store) {
                try handle.store.migrate(
                    to: classes, version: UInt64(version),
                    if: { log in
                        isWaiting?(false)
                        guard log.entries.last?.number == last.number else { return false }
                        attempt.backup = try makeBackup(handle, log, [classes], backup)
                        return true
                    },
                    recording: { log in
                        _ = log.entries.popLast()
                        log.backupOfDown = attempt.backup.map(Self.fileName)
                    },
                    migration: migrating(script, function, handle, attempt))
            }
            guard let report else { throw migratedMeanwhile }
            return .members([
                "store": .text(store), "down": attempt.report(report),
                "seconds": .double(Self.seconds(since: start)),
            ])
        }
    }
}
