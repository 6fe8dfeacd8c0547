import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

// The operations of `moonpool migrate` and `moonpool.migrate` on a store and a folder of numbered migrations.
//
// A migration file is a Lua script that returns a schema and two functions. Each migration is one write transaction,
// which also records it in the store's file, so it is applied completely or not at all. Two processes that migrate the
// same store run one after the other: the second process detects the migrations of the first. A runner is confined to
// the thread of one script.

/// Applies the numbered migrations of a folder to a store.
package final class MigrationRunner {
    /// Whether to make a backup of the store before migrations.
    package enum Backup: Sendable {
        /// If a migration overwrites or removes values or objects.
        case whenLosing
        /// Always.
        case always
        /// Never.
        case never

        /// Creates the choice of a flag; returns nil if the flag was not given.
        package init(_ choice: Bool?) {
            switch choice {
            case true?: self = .always
            case false?: self = .never
            case nil: self = .whenLosing
            }
        }
    }

    /// Receives the progress of a migration: the name of its file, the class, the processed objects, and all objects.
    package typealias Progress = (_ file: String, _ className: String, _ done: Int, _ total: Int) ->
        Void

    let module: StoreModule
    let store: String
    let directory: MigrationDirectory
    let scripts: MigrationScripts
    /// Receives the progress of a migration.
    package var progress: Progress?
    /// Receives each applied migration, before the next one starts.
    package var didApply: ((AppliedMigration) -> Void)?
    /// The maximum wait for the write lock in seconds; 0 for no wait.
    package var lockTimeout: Double = 60
    /// The number of backups of the store to keep; nil for all.
    package var keptBackups: Int?
    /// Whether a migration whose file was edited after an interruption continues after its last batch.
    package var continuesEdited = false
    /// Whether this is a rehearsal on a copy: failed objects are recorded and skipped.
    var isTrial = false

    /// Creates a runner for a store's file.
    package init(_ module: StoreModule, store: String, directory: MigrationDirectory) {
        self.module = module
        self.store = store
        self.directory = directory
        scripts = MigrationScripts(directory, module)
    }

    /// Opens the store, which must already exist.
    func borrowExisting(isReadOnly: Bool = false) throws -> BorrowedStore {
        // An empty file is a new store, which must be created first.
        let isEmpty = try StoreFiles.isEmpty(store)
        return try borrow(StoreConfiguration(.file(store), isReadOnly: isReadOnly && !isEmpty))
    }

    /// Opens the store; a wait for the write lock that takes longer than ``lockTimeout`` throws `limit_exceeded`.
    private func borrow(_ configuration: StoreConfiguration) throws -> BorrowedStore {
        let timeout = lockTimeout
        var start: ContinuousClock.Instant?
        var last = ContinuousClock.now
        return try module.borrow(configuration) { store in
            let now = ContinuousClock.now
            // The function is called about fifty times a second, so a longer pause means that another wait has started.
            if start == nil || last.duration(to: now) > .seconds(1) { start = now }
            last = now
            guard let start, start.duration(to: now) >= .seconds(timeout) else { return }
            throw StoreError(
                .limitExceeded,
                "\(store.writerDescription) is writing to \(store.title), and the lock was not free within "
                    + "\(timeout == timeout.rounded() ? "\(Int(timeout))" : "\(timeout)") seconds",
                advice: "try again, or wait longer with --lock-timeout")
        }
    }

    // MARK: Up

    /// Applies pending migrations up to a number; creates the store if it does not exist.
    ///
    /// Throws `migration_needed` if the store and the folder do not match, `invalid_argument` for a number that does
    /// not exist, `limit_exceeded` if the write lock is not free in time, and ``MigrationFailure`` for an error of a
    /// migration. After a failure, the earlier migrations have been applied.
    package func up(to target: Int? = nil, backup: Backup = .whenLosing) throws -> UpReport {
        let start = ContinuousClock.now
        var reports: [AppliedMigration] = []
        var configuration = StoreConfiguration(.file(store))
        if isTrial { configuration.durability = .memory }
        let borrowed = try borrow(configuration)
        defer { borrowed.end() }
        let comparison = try comparison(with: borrowed.store)
        try requireSound(comparison)
        try check(target, comparison)
        // All files are read before the first one is applied, so that an invalid file prevents all changes.
        let due = try comparison.history.pending.filter { $0.number <= target ?? .max }
            .map { try scripts.script($0) }
        if due.isEmpty, comparison.history.isOutdated {
            try recordNumbers(borrowed.store, comparison)
        }
        // The objects that the migrations of this run create need no backup, and one backup is enough for all of them.
        var choice = try backup == .whenLosing && !borrowed.store.hasObjects ? .never : backup
        for script in due {
            let applied: AppliedMigration?
            do {
                applied = try apply(script, to: borrowed.handle, choice)
            } catch var failure as MigrationFailure {
                failure.applied = reports
                throw failure
            }
            guard let applied else { continue }
            reports.append(applied)
            if applied.backup != nil { choice = .never }
            didApply?(applied)
            if isTrial, applied.failureCount > 0 { break }
        }
        if let keptBackups, !reports.isEmpty { pruneBackups(keeping: keptBackups) }
        return UpReport(
            store: store, applied: reports, isRehearsal: isTrial,
            seconds: Self.seconds(since: start), peakMemory: ProcessServices.peakMemory)
    }

    private func check(_ target: Int?, _ comparison: MigrationComparison) throws {
        guard let target else { return }
        guard directory.file(target) != nil else {
            throw StoreError(
                .invalidArgument,
                "there is no migration \(target) in '\(directory.path)'; the last one is "
                    + "\(directory.files.last?.number ?? 0)")
        }
        if target < comparison.lastNumber {
            throw StoreError(
                .invalidArgument,
                "'\(store)' is already at migration \(comparison.lastNumber); down --to reverts migrations, "
                    + "undo restores the last backup")
        }
    }

    /// Applies one migration, unless another process has applied it in the meantime.
    ///
    /// Makes a backup of the version before the migration as `backup` requires.
    private func apply(
        _ script: MigrationScript, to handle: StoreHandle, _ backup: Backup
    ) throws -> AppliedMigration? {
        let (file, store) = (script.file, handle.store)
        let attempt = MigrationAttempt(file)
        let target = try target(of: script, store)
        do {
            let transaction = try store.beginMigration()
            defer { transaction.end() }
            var log = transaction.log
            let history = MigrationHistory(log, directory)
            guard !history.applied.contains(where: { $0.file?.number == file.number }) else {
                return nil
            }
            if history.last?.number ?? 0 < file.number {
                try checkVersion(store.schema.version, file)
            }
            // The backup from before the first batch is the one to restore.
            var isResumed = false
            if let interrupted = try store.interruptedMigration(),
                continues(interrupted, with: file)
            {
                attempt.resumeKey = interrupted.key
                // A rehearsal has no backup beside its copy.
                attempt.backup =
                    isTrial
                    ? nil : log.backupOfInterrupted.map { Self.path($0, beside: self.file) }
                isResumed = true
            }
            let change = try transaction.change(
                to: target.schema, version: UInt64(target.version), dropping: script.drops,
                resumingAs: attempt.resumeKey)
            // The attempt refers to the change through its migration.
            defer { change.willCommitFirstBatch = nil }
            // Batches are committed before the end, so their effects are not known yet.
            change.willCommitFirstBatch = { [self] in
                if backup != .never { try makeBackup(attempt, store, log) }
                log.backupOfInterrupted = attempt.backup.map(Self.fileName)
                try transaction.record(log)
            }
            try change.apply { [self] migration in
                observe(migration, attempt)
                try scripts.call(script.up, of: script, with: migration, on: handle)
            }
            let isDue = try backup == .always || backup != .never && change.needsBackup()
            if isDue, !isResumed, attempt.backup == nil { try makeBackup(attempt, store, log) }
            log.replaceEntries(history.recorded)
            log.apply([
                entry(of: file, attempt: attempt, differences: change.differences, in: store)
            ])
            return attempt.finished(try change.commit(recording: log))
        } catch {
            throw failure(error, of: attempt, store)
        }
    }

    func makeBackup(_ attempt: MigrationAttempt, _ store: Store, _ log: MigrationLog) throws {
        attempt.backup = try makeBackup(of: store, log: log)
        attempt.hasMadeBackup = attempt.backup != nil
    }

    /// Reports the progress of a migration, and records the objects that it cannot migrate.
    func observe(_ migration: Migration, _ attempt: MigrationAttempt) {
        attempt.migration = migration
        migration.progressHandler = { [progress] className, done, total in
            progress?(attempt.file.fileName, className, done, total)
        }
        if isTrial {
            migration.failureHandler = { attempt.failed($0, $1) }
        }
    }

    /// Returns the error of an attempt that was rolled back, and removes its backup.
    func failure(
        _ error: any Error, of attempt: MigrationAttempt, _ store: Store
    ) -> MigrationFailure {
        let isInterrupted = attempt.isInterrupted(store)
        // A backup of an unchanged store would only take space.
        if attempt.hasMadeBackup, let backup = attempt.backup, !isInterrupted {
            removeStore(backup)
        }
        return MigrationFailure(
            cause: error, file: attempt.file, object: attempt.migration?.currentObject,
            isResumable: isInterrupted)
    }

    /// Returns the schema and the version after a migration.
    ///
    /// A migration that precedes applied ones changes the current schema of the store instead, and keeps the number of
    /// the last migration as the version.
    private func target(
        of script: MigrationScript, _ store: Store
    ) throws -> (schema: [ClassSchema], version: Int) {
        let history = MigrationHistory(try store.migrationLog(), directory)
        guard let last = history.last, last.number > script.file.number else {
            return (script.schema, script.file.number)
        }
        return (try delta(of: script.file).applied(to: store.schema.classes), last.number)
    }

    private func entry(
        of file: MigrationFile, attempt: MigrationAttempt, differences: [SchemaDifference],
        in store: Store
    ) -> MigrationLog.Entry {
        var entry = MigrationLog.Entry(of: file)
        entry.backup = attempt.backup.map(Self.fileName)
        entry.helpers = scripts.helpers(of: file)
        entry.version = store.version + 1
        entry.added = differences.compactMap(\.addition)
        return entry
    }

    /// Records the current numbers of applied migrations.
    private func recordNumbers(_ store: Store, _ comparison: MigrationComparison) throws {
        guard let last = comparison.history.last else { return }
        let schema = try scripts.schema(after: last)
        let transaction = try store.beginMigration()
        defer { transaction.end() }
        var log = transaction.log
        log.replaceEntries(MigrationHistory(log, directory).recorded)
        let change = try transaction.change(to: schema, version: UInt64(last.number))
        try change.apply()
        try change.commit(recording: log)
    }

    /// Throws `version_too_low` for a store that has a higher version than a migration.
    func checkVersion(_ version: UInt64, _ file: MigrationFile) throws {
        guard version > UInt64(file.number) else { return }
        throw StoreError(
            .versionTooLow,
            "'\(store)' already has schema version \(version), and '\(file.fileName)' migrates to "
                + "\(file.number)",
            advice:
                "number the migrations from \(version + 1), or record those that were applied to the store with "
                + "moonpool migrate baseline")
    }

    /// The error for a log that has changed during the wait for the write lock.
    var migratedMeanwhile: StoreError {
        StoreError(
            .invalidArgument,
            "another process has migrated '\(store)'; run moonpool migrate status")
    }

    static func seconds(since start: ContinuousClock.Instant) -> Double {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return Double(seconds) + Double(attoseconds / 1_000_000_000_000) / 1e6
    }
}
