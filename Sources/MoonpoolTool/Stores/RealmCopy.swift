import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import SystemCalls
import Transfer

/// The options for reading a Realm file.
struct RealmOptionGroup: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Key of an encrypted Realm file: 128 hexadecimal digits, Base64, or @FILE.",
            valueName: "key"))
    var key: String?

    @Flag(help: "Read the readable part of a damaged Realm file, and report the rest.")
    var rescue = false

    @Flag(
        name: .customLong("dotnet-guids"),
        help: "Swap the byte order of UUIDs that .NET wrote until 2022.")
    var dotNetGUIDs = false

    /// Returns the columns that identify objects of a PostgreSQL database, by table; an empty name applies to every
    /// table.
    func keyColumns() throws -> [String: String] {
        var columns: [String: String] = [:]
        for part in key?.split(separator: ",") ?? [] {
            guard part.contains("=") else {
                columns[""] = String(part)
                continue
            }
            let (table, column) = try OptionPair.split(String(part), "--key", "table=column")
            columns[table] = column
        }
        return columns
    }

    /// Returns whether a file is a Realm file.
    ///
    /// Throws `invalid_argument` for an option that has no effect on another file.
    func isRealm(_ path: String) throws -> Bool {
        if RealmCopy.isRealm(path) { return true }
        let given = [("--key", key != nil), ("--rescue", rescue), ("--dotnet-guids", dotNetGUIDs)]
        guard let option = given.first(where: \.1) else { return false }
        throw StoreError(
            .invalidArgument,
            "\(option.0) has no effect on '\(path)', which is not a Realm file")
    }

    var options: RealmOptions {
        RealmOptions(key: key, isRescue: rescue, hasDotNetGUIDs: dotNetGUIDs)
    }
}

/// Copies of Realm files in stores, for commands that only read.
enum RealmCopy {
    /// Returns whether a file is a Realm file; an encrypted file is recognized by its name, any other file by its
    /// content.
    static func isRealm(_ path: String) -> Bool {
        if FileKind(file: path) == .realm { return true }
        return path.lowercased().hasSuffix(".realm") && !StoreFile.isStore(path)
            && ProcessServices.read(path, limit: 1)?.isEmpty == false
    }

    /// Opens a store for reading, or an in-memory copy of a Realm file.
    static func open(
        _ path: String, _ group: RealmOptionGroup, _ version: SchemaVersionOption
    ) throws -> Store {
        guard try group.isRealm(path) else {
            return try CommandStore.open(path, isReadOnly: true, version)
        }
        let copy = try CommandStore.openInMemory()
        let report = try read(path, into: copy, group.options)
        for note in report.notes { ProcessServices.writeError("moonpool: note: \(note)\n") }
        return copy
    }

    /// Opens a store for reading its schema, or an empty in-memory store with the schema of a Realm file.
    static func openSchema(
        _ path: String, _ group: RealmOptionGroup, _ version: SchemaVersionOption
    ) throws -> Store {
        guard try group.isRealm(path) else {
            return try CommandStore.open(path, isReadOnly: true, version)
        }
        let copy = try CommandStore.openInMemory()
        try copy.define(try RowFormats.realm.required().classes(path, group.options))
        return copy
    }

    /// Imports a Realm file into a store.
    static func read(_ path: String, into store: Store, _ options: RealmOptions) throws
        -> ImportReport
    {
        var importOptions = ImportOptions()
        importOptions.realm = options
        let progress = ProgressLine("read")
        defer { progress.end() }
        return try Importer(into: store, importOptions, progress: progress.update)
            .read(path, as: .realm)
    }
}
