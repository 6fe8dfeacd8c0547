import EventLoops
import ObjectStore
import StoreBindings

// Copies of the store: before a migration, to try one out, and back.
extension MigrationRunner {
    /// Makes a copy of the store as it is now if that is wanted for what comes; its path.
    func makeBackup(
        _ handle: StoreHandle, _ log: MigrationLog, _ schemas: [[ClassSchema]], _ choice: Backup
    ) throws -> String? {
        guard choice != .never, !schemas.isEmpty, handle.store.path != nil else { return nil }
        let isWanted =
            try choice == .always
            || schemas.contains { try SchemaLint.loses(handle.store, for: $0) }
        guard isWanted else { return nil }
        let path = Self.paths(backupBase(log)).free
        try handle.store.backup(to: path)
        return path
    }

    private func backupBase(_ log: MigrationLog) -> String {
        "\(store).backup-\(log.entries.last?.number ?? 0)"
    }

    /// The copy that was made last at the state that a log describes, if there is one.
    func lastBackup(_ log: MigrationLog) -> String? { Self.paths(backupBase(log)).last }

    static func fileName(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// Backups are recorded by their names, so that a folder can be moved as a whole.
    private static func path(_ name: String, beside store: String) -> String {
        guard let end = store.lastIndex(of: "/") else { return name }
        return store[...end] + name
    }

    /// Of `base`, `base-2`, `base-3` …: the last one that exists, and the first that does not.
    private static func paths(_ base: String) -> (last: String?, free: String) {
        var last: String?
        var path = base
        var count = 1
        while ProcessServices.size(of: path) != nil {
            last = path
            count += 1
            path = "\(base)-\(count)"
        }
        return (last, path)
    }

    /// Applies what is pending to a copy, which is removed, and reports what would happen.
    ///
    /// Throws as ``up(to:backup:)``.
    package func dryRun(to target: Int? = nil) throws -> ReportValue {
        let path = "\(store).dry-run-\(UUIDValue.random())"
        defer {
            ProcessServices.remove(path)
            ProcessServices.remove(path + "-lock")
            ProcessServices.remove(path + "-log")
        }
        if ProcessServices.size(of: store) ?? 0 > 0 {
            try withExisting(isReadOnly: true) { try $0.store.backup(to: path) }
        }
        let trial = MigrationRunner(module, store: path, directory: directory)
        trial.isTrial = true
        trial.progress = progress
        let report = try trial.up(to: target, backup: .never)
        return .members([
            "store": .text(store), "dry_run": .bool(true), "applied": report["applied"],
            "seconds": report["seconds"], "peak_memory": report["peak_memory"],
        ])
    }

    /// Puts the last backup in the store's place; nobody may have the store open.
    ///
    /// What was there is kept as another copy. Throws `invalid_argument` where there is no backup, or
    /// somebody has the store open.
    package func undo() throws -> ReportValue {
        let log = try withExisting(isReadOnly: true) { try $0.store.migrationLog() }
        let entry = log.entries.last { $0.backup != nil }
        guard let name = log.backupOfDown ?? entry?.backup else {
            throw StoreError(
                .invalidArgument, "no backup was made when '\(store)' was migrated; down may help")
        }
        let backup = Self.path(name, beside: store)
        guard ProcessServices.size(of: backup) != nil else {
            throw StoreError(
                .invalidArgument, "the backup '\(backup)' is not there any more")
        }
        guard !module.isOpen(store) else {
            throw StoreError(.invalidArgument, "'\(store)' is open; close it first")
        }
        // Objects that nobody holds any more, such as those of a migration, keep the file open until they are collected.
        _ = try module.state.run("collectgarbage() collectgarbage()")
        let kept = Self.paths("\(store).undone-\(log.entries.last?.number ?? 0)").free
        try StoreFiles.backup(store, to: kept)
        do {
            try StoreFiles.backup(backup, to: store, isReplacing: true)
        } catch {
            ProcessServices.remove(kept)
            throw error
        }
        return .members([
            "store": .text(store), "restored": .text(backup), "kept": .text(kept),
            "undone": log.backupOfDown == nil ? entry.map { .count($0.number) } ?? .null : .null,
        ])
    }
}
