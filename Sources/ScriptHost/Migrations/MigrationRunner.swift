import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

// What `moonpool migrate` and the functions of `moonpool.migrate` do with a store and a folder of numbered migrations.
//
// A migration file is a Lua script that returns a whole schema and two functions. Each migration is one write
// transaction, which also records it in the store's file: done whole or not at all. Two processes at once take turns: the
// second finds what the first has done. Everything here belongs to the thread of one script.

/// Brings a store through the numbered migrations of a folder.
package final class MigrationRunner {
    /// Whether a copy of the store is made first.
    package enum Backup: Sendable {
        /// When something that the store holds has no place in the new schema.
        case whenLosing
        /// In any case.
        case always
        /// Never.
        case never

        /// What was asked for; nil where nobody has said.
        package init(_ choice: Bool?) {
            switch choice {
            case true?: self = .always
            case false?: self = .never
            case nil: self = .whenLosing
            }
        }
    }

    /// How far a migration is: its file's name, the class, objects done, objects in all.
    package typealias Progress = (_ file: String, _ className: String, _ done: Int, _ total: Int) ->
        Void

    let module: StoreModule
    let store: String
    let directory: MigrationDirectory
    /// Told how far a migration is.
    package var progress: Progress?
    /// Told of each migration that was applied, before the next one begins.
    package var didApply: ((ReportValue) -> Void)?
    /// Told when the write lock is about to be waited for, and when it was got.
    package var isWaiting: ((Bool) -> Void)?
    /// Whether this is a trial on a copy: objects that fail are noted and passed over.
    var isTrial = false

    /// For a store's file.
    package init(_ module: StoreModule, store: String, directory: MigrationDirectory) {
        self.module = module
        self.store = store
        self.directory = directory
    }

    /// Runs the work with the store, which must exist.
    func withExisting<Result>(
        isReadOnly: Bool = false, _ body: (StoreHandle) throws -> Result
    ) throws -> Result {
        guard let size = ProcessServices.size(of: store) else {
            throw StoreError(.invalidArgument, "there is no store '\(store)'")
        }
        // An empty file is a new store, which has to be made first.
        return try module.withStore(
            StoreConfiguration(.file(store), isReadOnly: isReadOnly && size > 0), body)
    }

    // MARK: Up

    /// Applies what is pending, up to a number; a store that does not exist is made.
    ///
    /// Throws `migration_needed` where store and folder do not belong together, `invalid_argument` for a
    /// number that is not there, and ``MigrationFailure`` for what a migration throws; those before it have
    /// been applied then.
    package func up(to target: Int? = nil, backup: Backup = .whenLosing) throws -> ReportValue {
        let start = ContinuousClock.now
        var reports: [ReportValue] = []
        var configuration = StoreConfiguration(.file(store))
        if isTrial { configuration.durability = .memory }
        try module.withStore(configuration) { handle in
            let state = try state(of: handle)
            try state.requireSound()
            try check(target, state)
            // All of them are read before the first is applied: a misspelt one spoils nothing.
            let due = try state.pending.filter { $0.number <= target ?? .max }
                .map { try $0.load(module) }
            for script in due {
                let first = reports.isEmpty ? due : []
                let applied: ReportValue?
                do {
                    applied = try apply(script, to: handle, copying: (first, backup))
                } catch var failure as MigrationFailure {
                    failure.applied = reports
                    throw failure
                }
                guard let report = applied else { continue }
                reports.append(report)
                didApply?(report)
                if isTrial, report["failed"] != .int(0) { break }
            }
        }
        return .members([
            "store": .text(store), "applied": .array(reports),
            "backup": reports.first?["backup"] ?? .null,
            "seconds": .double(Self.seconds(since: start)),
            "peak_memory": .count(ProcessServices.peakMemory),
        ])
    }

    private func check(_ target: Int?, _ state: MigrationState) throws {
        guard let target else { return }
        guard directory.file(target) != nil else {
            throw StoreError(
                .invalidArgument,
                "there is no migration \(target) in '\(directory.path)'; the last one is "
                    + "\(directory.files.last?.number ?? 0)")
        }
        if let last = state.applied.last?.number, target < last {
            throw StoreError(
                .invalidArgument,
                "'\(store)' is at migration \(last) already; down takes one back, undo restores the "
                    + "last backup")
        }
    }

    /// Applies one migration unless somebody else has meanwhile.
    ///
    /// A copy is made of what is there before it if one of `copying` wants that.
    private func apply(
        _ script: MigrationScript, to handle: StoreHandle,
        copying: (due: [MigrationScript], choice: Backup)
    ) throws -> ReportValue? {
        let file = script.file
        let attempt = Attempt(file)
        isWaiting?(true)
        let report = try attempt.run(on: handle.store) {
            try handle.store.migrate(
                to: script.schema, version: UInt64(file.number), resumingAs: file.resumeKey,
                if: { log in
                    isWaiting?(false)
                    guard !log.entries.contains(where: { $0.number >= file.number }) else {
                        return false
                    }
                    try checkVersion(handle.store.schema.version, file)
                    // The copy from before the first batch is the one to go back to.
                    attempt.backup =
                        attempt.isInterrupted(handle.store)
                        ? lastBackup(log)
                        : try makeBackup(
                            handle, log, copying.due.map(\.schema), copying.choice)
                    return true
                },
                recording: { log in
                    log.backupOfDown = nil
                    log.entries.append(
                        MigrationLog.Entry(
                            number: file.number, name: file.name, checksum: file.checksum,
                            appliedAt: .now, backup: attempt.backup.map(Self.fileName)))
                },
                migration: migrating(script, script.up, handle, attempt))
        }
        return report.map { attempt.report($0) }
    }

    /// Throws `version_too_low` for a store that has a higher version than a migration.
    func checkVersion(_ version: UInt64, _ file: MigrationFile) throws {
        guard version > UInt64(file.number) else { return }
        throw StoreError(
            .versionTooLow,
            "'\(store)' has schema version \(version) already, and '\(file.fileName)' leads to "
                + "\(file.number); number the migrations from \(version + 1) on")
    }

    func migrating(
        _ script: MigrationScript, _ function: LuaFunction?, _ handle: StoreHandle,
        _ attempt: Attempt
    ) -> (Migration) throws -> Void {
        { [self] migration in
            migration.progressHandler = { [progress] className, done, total in
                progress?(script.file.fileName, className, done, total)
            }
            if isTrial {
                migration.failureHandler = { attempt.failed($0, $1) }
            }
            guard let function else { return }
            do {
                try module.run(function, migration, handle, defaults: script.declared)
            } catch {
                attempt.object = migration.currentObject
                throw error
            }
        }
    }

    /// The error where a log is not what it was before the write lock was waited for.
    var migratedMeanwhile: StoreError {
        StoreError(
            .invalidArgument,
            "another process has migrated '\(store)' meanwhile; look at its status")
    }

    static func seconds(since start: ContinuousClock.Instant) -> Double {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return Double(seconds) + Double(attoseconds / 1_000_000_000_000) / 1e6
    }
}
