import EventLoops
import ObjectStore
import StoreBindings

// Backups of the store before a migration.
//
// A backup is made at the end of a migration, from the version before it: only then it is known whether the migration
// has overwritten or removed values.
extension MigrationRunner {
    /// Makes a backup of the version before the open write transaction; returns its path.
    func makeBackup(of store: Store, log: MigrationLog) throws -> String? {
        guard store.path != nil else { return nil }
        let path = Self.freePath(backupBase(log))
        try store.backup(to: path)
        return path
    }

    /// The path of the store's file, which backups are next to; a symbolic link to it may be in another folder.
    var file: String { StoreFiles.pathBehindLink(store) }

    private func backupBase(_ log: MigrationLog) -> String {
        "\(file).backup-\(log.entries.last?.number ?? 0)"
    }

    static func fileName(_ path: String) -> String {
        path.split(separator: "/").last.map(String.init) ?? path
    }

    /// Returns the path of a backup; backups are recorded by name, so that a folder can be moved as a whole.
    static func path(_ name: String, beside store: String) -> String {
        guard let end = store.lastIndex(of: "/") else { return name }
        return store[...end] + name
    }

    /// Returns the first of `base`, `base-2`, `base-3` … that does not exist.
    static func freePath(_ base: String) -> String {
        var path = base
        var count = 1
        while ProcessServices.size(of: path) != nil {
            count += 1
            path = "\(base)-\(count)"
        }
        return path
    }

    /// Removes the files of a store.
    func removeStore(_ path: String) {
        for name in [path, path + "-lock", path + "-log"] { ProcessServices.remove(name) }
    }

    /// Removes the oldest backups of the store.
    func pruneBackups(keeping count: Int) {
        let file = file
        let folder = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? "."
        let prefix = Self.fileName(file) + ".backup-"
        let names = (ProcessServices.names(in: folder) ?? []).filter {
            $0.hasPrefix(prefix) && !$0.hasSuffix("-lock") && !$0.hasSuffix("-log")
        }
        // Sorted by number and then by count, which is the order of creation.
        func order(_ name: String) -> [Int] {
            name.dropFirst(prefix.count).split(separator: "-").map { Int($0) ?? 0 }
        }
        let oldest = names.sorted { order($0).lexicographicallyPrecedes(order($1)) }
        for name in oldest.dropLast(max(count, 0)) {
            removeStore(Self.path(name, beside: file))
        }
    }
}

extension Store {
    var hasObjects: Bool {
        get throws { try schema.classes.contains { try view.count(of: $0) > 0 } }
    }
}
