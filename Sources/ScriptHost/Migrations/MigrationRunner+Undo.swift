import EventLoops
import ObjectStore
import StoreBindings

extension MigrationRunner {
    /// The changes of `undo`.
    package struct UndoReport {
        /// The outcome of the writes since the migration.
        package enum LaterCommits {
            /// The writes were applied to the restored backup, except for the losses.
            case kept(LaterWrites)
            /// The writes are not in the store, because the history is incomplete or the caller discards them.
            ///
            /// The number of commits is nil if it is unknown.
            case lost(Int?, isChoice: Bool)
        }

        /// The path of the store, as given.
        package let store: String
        /// The path of the backup that was restored.
        package let restored: String
        /// The path of a copy of the store before `undo`.
        package let kept: String
        /// The numbers of the migrations that were undone, in ascending order; empty if a `down` was undone.
        package let undone: [Int]
        /// The outcome of the writes since the migration.
        package let laterCommits: LaterCommits
        /// The number of commits between the migrations, which are not in the store, including batches of resumable
        /// loops.
        package let commitsBetween: Int

        /// The report for scripts and for `--json`.
        package var value: ReportValue {
            let writes: LaterWrites? =
                if case .kept(let writes) = laterCommits { writes } else { nil }
            let lost: ReportValue =
                switch laterCommits {
                case .kept: .count(commitsBetween)
                case .lost(let count, _): count.map { .count($0 + commitsBetween) } ?? .null
                }
            return .members([
                "store": .text(store), "restored": .text(restored), "kept": .text(kept),
                "undone": undone.first.map(ReportValue.count) ?? .null,
                "migrations": .array(undone.map(ReportValue.count)),
                "lost_commits": lost,
                "later": writes.map(Self.value) ?? .null,
            ])
        }

        private static func value(_ writes: LaterWrites) -> ReportValue {
            .members([
                "commits": .count(writes.commits), "created": .count(writes.created),
                "changed": .count(writes.changed), "deleted": .count(writes.deleted),
                "not_kept": .array(
                    writes.losses.map {
                        .members([
                            "name": .text($0.qualifiedName), "count": .count($0.count),
                            "reason": .text($0.reason.explanation),
                        ])
                    }),
            ])
        }
    }

    /// Restores the last backup, and applies the writes since the migration to it.
    ///
    /// No process may have the store open. The current store is kept as another copy. Writes are kept if the history
    /// contains all of them; the report lists values that do not exist in the schema before the migration. With
    /// `discardingLaterWrites`, the store becomes the backup without these writes.
    ///
    /// Throws `invalid_argument` if there is no backup, or if the store is open.
    package func undo(discardingLaterWrites isDiscarding: Bool = false) throws -> UndoReport {
        // If the store does not exist, the error must name the store, not the work folder.
        _ = try StoreFiles.isEmpty(store)
        return try StoreFiles.withWorkFolder(beside: store) { folder in
            try undo(discardingLaterWrites: isDiscarding, with: "\(folder)/store")
        }
    }

    /// Implements ``undo(discardingLaterWrites:)`` with the path of a working copy.
    private func undo(
        discardingLaterWrites isDiscarding: Bool, with candidate: String
    ) throws -> UndoReport {
        let plan = try prepareUndo(candidate, isDiscarding)
        guard !module.isOpen(store) else {
            throw StoreError(.invalidArgument, "'\(store)' is open; close it first")
        }
        // Unreachable objects that have not been collected, such as those of a migration, keep the file open.
        _ = try module.state.run("collectgarbage() collectgarbage()")
        let kept = Self.freePath("\(file).undone-\(plan.number)")
        try StoreFiles.backup(store, to: kept)
        do {
            try StoreFiles.leavingNoLockFile(of: kept) {
                try requireVersion(plan.version, of: kept)
            }
            try StoreFiles.backup(candidate, to: store, isReplacing: true)
        } catch {
            removeStore(kept)
            throw error
        }
        return UndoReport(
            store: store, restored: plan.backup, kept: kept, undone: plan.undone,
            laterCommits: plan.laterCommits, commitsBetween: plan.commitsBetween)
    }

    /// The plan of `undo`, before the store is replaced.
    private struct UndoPlan {
        let backup: String
        /// The number of the last migration that was applied to the store.
        let number: Int
        /// The version of the store.
        let version: UInt64
        let undone: [Int]
        let laterCommits: UndoReport.LaterCommits
        let commitsBetween: Int
    }

    /// Writes the future content of the store to a file.
    private func prepareUndo(
        _ candidate: String, _ isDiscarding: Bool
    ) throws -> UndoPlan {
        let borrowed = try borrowExisting(isReadOnly: true)
        defer { borrowed.end() }
        let log = try borrowed.store.migrationLog()
        let entry = log.entries.last { $0.backup != nil }
        let interrupted = try borrowed.store.interruptedMigration()
        if let interrupted, log.backupOfInterrupted == nil {
            throw StoreError(
                .invalidArgument,
                "migration \(interrupted.number ?? 0) of '\(store)' was interrupted, and no backup was made before it; "
                    + "continue it with up")
        }
        let backupInstead = log.backupOfInterrupted ?? log.backupOfDown
        guard let name = backupInstead ?? entry?.backup else {
            throw StoreError(
                .invalidArgument,
                "no backup was made when '\(store)' was migrated; down reverts the last migration if it has a "
                    + "'down' function"
            )
        }
        let backup = Self.path(name, beside: file)
        guard ProcessServices.size(of: backup) != nil else {
            throw StoreError(.invalidArgument, "the backup '\(backup)' no longer exists")
        }
        try StoreFiles.backup(backup, to: candidate)
        let undone =
            backupInstead == nil
            ? log.entries.map(\.number).filter { $0 >= entry?.number ?? 0 }
            : interrupted.flatMap(\.number).map { [$0] } ?? []
        let base =
            interrupted?.version
            ?? (backupInstead == nil ? log.entries.last?.version ?? 0 : log.versionOfDown)
        let number = interrupted?.number ?? log.entries.last?.number ?? 0
        let version = borrowed.store.version
        if !isDiscarding,
            let writes = try borrowed.store.applyWrites(since: base, toCopyAt: candidate)
        {
            let steps = undone.isEmpty ? 1 : undone.count
            let between = Int(base) - Int(writes.baseVersion) - steps
            return UndoPlan(
                backup: backup, number: number, version: version, undone: undone,
                laterCommits: .kept(writes),
                commitsBetween: max(0, between))
        }
        // The records of earlier builds contain no version.
        let lost = base > 0 ? Int(version) - Int(base) : nil
        return UndoPlan(
            backup: backup, number: number, version: version, undone: undone,
            laterCommits: .lost(lost.map { max(0, $0) }, isChoice: isDiscarding),
            commitsBetween: 0)
    }

    /// Throws `invalid_argument` if another process has written to the store since it was read.
    private func requireVersion(_ version: UInt64, of copy: String) throws {
        let borrowed = try module.borrow(StoreConfiguration(.file(copy), isReadOnly: true))
        defer { borrowed.end() }
        guard borrowed.store.version == version else {
            throw StoreError(
                .invalidArgument,
                "another process has written to '\(store)' in the meantime; stop it and run undo again"
            )
        }
    }
}

extension LaterWrites.Reason {
    /// The reason for the loss as text.
    package var explanation: String {
        switch self {
        case .noSuchProperty: "the schema before the migration does not have it"
        case .notConvertible: "the value does not convert exactly to the earlier type"
        case .createdByMigration: "the migration created the object"
        case .missingValue: "new objects have no value for it, so they have the default or zero"
        case .refused(let message): message
        }
    }
}
