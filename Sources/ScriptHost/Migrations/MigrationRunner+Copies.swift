import EventLoops
import ObjectStore
import StoreBindings

// Copies of the store: before a migration, and back.
extension MigrationRunner {
    /// Makes a copy of the store as it is now if the migrations that are due may lose something; returns its path.
    func makeBackup(
        _ handle: StoreHandle, _ log: MigrationLog, _ due: [MigrationScript], _ choice: Backup
    ) throws -> String? {
        guard !due.isEmpty else { return nil }
        return try makeBackup(handle, log, choice) {
            try due.contains { try mayLose($0, handle.store) }
        }
    }

    /// The same for a schema that the store is brought back to.
    func makeBackup(
        _ handle: StoreHandle, _ log: MigrationLog, to classes: [ClassSchema], _ choice: Backup
    ) throws -> String? {
        try makeBackup(handle, log, choice) { try SchemaLint.loses(handle.store, for: classes) }
    }

    private func makeBackup(
        _ handle: StoreHandle, _ log: MigrationLog, _ choice: Backup, _ mayLose: () throws -> Bool
    ) throws -> String? {
        guard choice != .never, handle.store.path != nil, try choice == .always || mayLose() else {
            return nil
        }
        let path = Self.paths(backupBase(log)).free
        try handle.store.backup(to: path)
        return path
    }

    /// Whether a migration may lose something that the store holds.
    ///
    /// Losses are declared, so that a migration without a declaration, without code that deletes and without a changed
    /// type needs no copy: renames lose nothing.
    private func mayLose(_ script: MigrationScript, _ store: Store) throws -> Bool {
        let code = String(decoding: SourceChecksum.significant(script.file.source), as: UTF8.self)
        let differences = try SchemaLint.differences(from: store.schema, to: script.schema)
        let isSuspect =
            !script.drops.isEmpty || code.contains("delete")
            || differences.contains { if case .typeChanged = $0 { true } else { false } }
        return try isSuspect && SchemaLint.loses(store, for: script.schema)
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

    /// Removes a store's file and the files beside it.
    func removeStore(_ path: String) {
        for name in [path, path + "-lock", path + "-log"] { ProcessServices.remove(name) }
    }

    /// Removes the oldest backups of the store.
    func pruneBackups(keeping count: Int) {
        let folder = store.lastIndex(of: "/").map { String(store[..<$0]) } ?? "."
        let prefix = Self.fileName(store) + ".backup-"
        let names = (ProcessServices.names(in: folder) ?? []).filter {
            $0.hasPrefix(prefix) && !$0.hasSuffix("-lock") && !$0.hasSuffix("-log")
        }
        // By number and then by count, which is the order in which they were made.
        func order(_ name: String) -> [Int] {
            name.dropFirst(prefix.count).split(separator: "-").map { Int($0) ?? 0 }
        }
        let oldest = names.sorted { order($0).lexicographicallyPrecedes(order($1)) }
        for name in oldest.dropLast(max(count, 0)) {
            removeStore(Self.path(name, beside: store))
        }
    }

    /// Puts the last backup in the store's place; no process may have the store open.
    ///
    /// The store as it was until then is kept as another copy. Throws `invalid_argument` where there is no backup, or
    /// the store is open.
    package func undo() throws -> ReportValue {
        let (log, version) = try withExisting(isReadOnly: true) {
            (try $0.store.migrationLog(), $0.store.version)
        }
        let entry = log.entries.last { $0.backup != nil }
        guard let name = log.backupOfDown ?? entry?.backup else {
            throw StoreError(
                .invalidArgument,
                "no backup was made when '\(store)' was migrated; down takes the last migration back"
            )
        }
        let backup = Self.path(name, beside: store)
        guard ProcessServices.size(of: backup) != nil else {
            throw StoreError(
                .invalidArgument, "the backup '\(backup)' does not exist any more")
        }
        guard !module.isOpen(store) else {
            throw StoreError(.invalidArgument, "'\(store)' is open; close it first")
        }
        // Objects that are only waiting to be collected, such as those of a migration, keep the file open.
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
            "lost_commits": lostCommits(log, version).map(ReportValue.count) ?? .null,
        ])
    }

    /// How many commits the store has had since its last migration, which a backup does not have; nil if unknown.
    private func lostCommits(_ log: MigrationLog, _ version: UInt64) -> Int? {
        // Records of older builds have no version.
        guard let last = log.entries.last?.version, last > 0 else { return nil }
        return version > last ? Int(version - last) : 0
    }
}
