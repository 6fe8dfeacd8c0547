import LuaHost
import ObjectStore
import StoreBindings

/// The tables that the migrations of a folder return; each file runs once.
///
/// Confined to the thread of a script.
final class MigrationTables {
    private let module: StoreModule
    /// The state in which the files run.
    var state: LuaState { module.state }
    private let folder: String
    private var tables: [String: Result<LuaTable, any Error>] = [:]
    /// The files in the folder that each migration has loaded, by the path of the migration and by name.
    private(set) var helpers: [String: [String: String]] = [:]

    init(_ module: StoreModule, folder: String) {
        self.module = module
        self.folder = folder
    }

    /// Runs a file, and returns the description in its table; empty for a file that fails.
    ///
    /// Throws only an interrupt; ``table(_:)`` throws the error of the file.
    func heading(_ path: String, _ source: [UInt8]) throws -> MigrationHeading {
        let result = Result<LuaTable, any Error> {
            let environment = try environment(of: path)
            defer { environment.end() }
            return try MigrationScript.table(
                source, path: path, module, form: MigrationScript.form)
        }
        tables[path] = result
        switch result {
        case .success(let table): return MigrationHeading(table)
        case .failure(let error):
            if MigrationFailure.code(of: error) == "interrupted" { throw error }
            return MigrationHeading()
        }
    }

    /// Returns the table of a file; throws the errors of the file.
    func table(_ file: MigrationFile) throws -> LuaTable {
        if tables[file.path] == nil { _ = try heading(file.path, file.source) }
        guard let result = tables[file.path] else {
            throw StoreError(.closed, "the script has ended")
        }
        return try result.get()
    }

    /// Begins to run code of a migration.
    ///
    /// Until the environment ends, `require`, `dofile` and `loadfile` search the folder first, and the loaded files count
    /// as part of the migration; `os.exit` is an error.
    func environment(of path: String) throws -> MigrationEnvironment {
        try MigrationEnvironment(module.state, folder: folder) { [weak self] name, checksum in
            self?.helpers[path, default: [:]][name] = checksum
        }
    }
}

/// The keys of a migration that describe where the file belongs, without its schema and its functions.
struct MigrationHeading: Sendable {
    /// The checksums of the file before `migrate merge` rewrote it: `merged_from`.
    private(set) var formerChecksums: [String] = []
    /// The checksums of the last migration that this file replaces: `squashes`.
    private var squashedChecksums: [String] = []
    /// Whether the file adopts changes that were made to a store outside of the migrations: `adopts`.
    ///
    /// Such a store already has these changes when the pending files that precede this file are applied.
    private(set) var isAdoption = false
    /// The identity of the folder that the file was written against: `parent`.
    private(set) var parent: String?
    /// Whether the file contains the changes of the schema, and not the whole schema.
    private(set) var isDelta = false
    /// Whether the file has a function `up`.
    private(set) var hasUp = false
    /// The checksum of the functions, which a merge of branches does not change; empty if the file failed.
    private(set) var codeChecksum = ""

    /// Whether the file replaces earlier ones.
    var isSquash: Bool { !squashedChecksums.isEmpty }

    /// Returns whether a record is that of the last migration that this file replaces.
    func replaces(_ record: String) -> Bool {
        CodeIdentity.checksums(in: record).contains(where: squashedChecksums.contains)
    }

    init() {}

    init(_ table: LuaTable) {
        func checksums(_ key: String) -> [String] {
            table[key].table?.array.compactMap(\.text) ?? table[key].text.map { [$0] } ?? []
        }
        formerChecksums = checksums("merged_from")
        squashedChecksums = checksums("squashes")
        codeChecksum = CodeIdentity.checksum(
            of: ["up", "down"].compactMap { table[$0].function })
        isAdoption = !table["adopts"].isNil
        parent = table["parent"].text
        isDelta = !table["changes"].isNil
        hasUp = !table["up"].isNil
    }
}
