import EventLoops
import ObjectStore
import StoreBindings

// Backups of the store before a migration.
extension MigrationRunner {
    /// Makes a backup of the current store if the due migrations can overwrite data; returns its path.
    func makeBackup(
        of store: Store, log: MigrationLog, due: [MigrationScript], choice: Backup
    ) throws -> String? {
        guard !due.isEmpty else { return nil }
        return try makeBackup(of: store, log: log, choice: choice) {
            try due.contains { try mayOverwrite($0, store) }
        }
    }

    /// Makes a backup of the current store before a migration is reversed; returns its path.
    func makeBackup(
        of store: Store, log: MigrationLog, takingBack script: MigrationScript,
        to classes: [ClassSchema], choice: Backup
    ) throws -> String? {
        try makeBackup(of: store, log: log, choice: choice) {
            try (script.down != nil && !script.onlyRenames && store.hasObjects)
                || SchemaLint.loses(store, for: classes)
        }
    }

    private func makeBackup(
        of store: Store, log: MigrationLog, choice: Backup,
        mayOverwrite: () throws -> Bool
    ) throws -> String? {
        guard choice != .never, store.path != nil, try choice == .always || mayOverwrite()
        else {
            return nil
        }
        let path = Self.freePath(backupBase(log))
        try store.backup(to: path)
        return path
    }

    /// Returns whether a migration can overwrite or lose data of the store.
    ///
    /// Renames and additions cannot lose data; any other code may.
    private func mayOverwrite(_ script: MigrationScript, _ store: Store) throws -> Bool {
        guard try store.hasObjects else { return false }
        if script.up != nil, !script.onlyRenames { return true }
        let differences = try SchemaLint.differences(from: store.schema, to: script.schema)
        let isSuspect =
            !script.drops.subtracting(script.renamedNames).isEmpty
            || differences.contains { if case .typeChanged = $0 { true } else { false } }
        return try isSuspect && SchemaLint.loses(store, for: script.schema)
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

extension MigrationScript {
    /// Whether the code of the file calls only the methods for renaming, and loads no other file.
    fileprivate var onlyRenames: Bool {
        calls.allSatisfy { $0.name == "rename_property" || $0.name == "rename_class" }
            && !["require", "dofile", "loadfile", "delete"].contains { code.contains($0) }
    }

    /// The old names in renames: `Class.property`, or the name of a class.
    fileprivate var renamedNames: Set<String> {
        Set(
            calls.compactMap { call in
                switch (call.name, call.texts.count) {
                case ("rename_property", 3): "\(call.texts[0]).\(call.texts[1])"
                case ("rename_class", 2): call.texts[0]
                default: nil
                }
            })
    }

    private var code: String {
        String(decoding: SourceChecksum.significant(file.source), as: UTF8.self)
    }

    /// The method calls in the code, with those arguments that are literal texts.
    private var calls: [(name: String, texts: [String])] {
        code.split(separator: ":").dropFirst().map { rest in
            let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            let arguments = rest.dropFirst(name.count).prefix { $0 != ")" }
            let texts = arguments.split(whereSeparator: { $0 == "(" || $0 == "," }).compactMap {
                text -> String? in
                guard let quote = text.first, quote == "\"" || quote == "'", text.last == quote
                else {
                    return nil
                }
                return String(text.dropFirst().dropLast())
            }
            return (String(name), texts)
        }
    }
}

extension Store {
    fileprivate var hasObjects: Bool {
        get throws { try schema.classes.contains { try view.count(of: $0) > 0 } }
    }
}
