import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// The scripts of a folder, each of which runs once, and the resulting schemas.
///
/// Confined to the thread of a script.
final class MigrationScripts {
    let directory: MigrationDirectory
    private let module: StoreModule
    private var scripts: [Int: MigrationScript] = [:]

    init(_ directory: MigrationDirectory, _ module: StoreModule) {
        self.directory = directory
        self.module = module
    }

    /// Returns the script of a migration.
    ///
    /// Throws `invalid_argument`, `invalid_schema`, and the errors of the file.
    func script(_ file: MigrationFile) throws -> MigrationScript {
        if let known = scripts[file.number] { return known }
        let previous = directory.file(before: file.number)
        let table = try directory.tables.table(file)
        let base = try file.heading.isDelta ? schema(after: previous) : []
        let loaded = try MigrationScript(file, table, on: base, module)
        scripts[file.number] = loaded
        return loaded
    }

    /// Calls the `up` or `down` of a script with a migration.
    func call(
        _ function: LuaFunction?, of script: MigrationScript, with migration: Migration,
        on handle: StoreHandle
    ) throws {
        let environment = try environment(of: script.file)
        defer { environment.end() }
        try MigrationHandle.call(
            function, with: migration, on: handle, defaults: script.declared)
        try module.state.checkStopping()
    }

    /// Applies a migration to a store without adding it to the store's migration record.
    @discardableResult  // because most callers check the store instead
    func apply(_ script: MigrationScript, to handle: StoreHandle) throws -> MigrationReport {
        let transaction = try handle.store.beginMigration()
        defer { transaction.end() }
        let change = try transaction.change(
            to: script.schema, version: UInt64(script.file.number), dropping: script.drops)
        try change.apply { [self] migration in
            try call(script.up, of: script, with: migration, on: handle)
        }
        return try change.commit(recording: transaction.log)
    }

    /// Returns the schema after a migration; an empty schema for nil, which means before the first migration.
    func schema(after file: MigrationFile?) throws -> [ClassSchema] {
        try file.map { try script($0).schema } ?? []
    }

    /// Begins to run code of a migration, as ``MigrationTables/environment(of:)`` does.
    func environment(of file: MigrationFile) throws -> MigrationEnvironment {
        try directory.tables.environment(of: file.path)
    }

    /// Returns the files in the folder that a migration has loaded, by name.
    func helpers(of file: MigrationFile) -> [String: String] {
        directory.tables.helpers[file.path] ?? [:]
    }
}

/// The environment of migration code in a Lua state.
struct MigrationEnvironment {
    private let restore: LuaFunction

    /// Changes the functions that load files; `didLoad` receives the name and the checksum of each file of the folder
    /// that is loaded.
    init(
        _ state: LuaState, folder: String,
        didLoad: @escaping (_ name: String, _ checksum: String) -> Void
    ) throws {
        let chunk = try state.load(LuaString(bytes: Array(Self.source.utf8)), name: "=migrate")
        let note = state.makeFunction("migrate.loaded") { call in
            // However the path is spelled, a file in the folder belongs to the migration.
            let path = try call.text(1)
            guard let root = ProcessServices.resolved(folder),
                let resolved = ProcessServices.resolved(path), resolved.hasPrefix(root + "/"),
                let source = try? MigrationFile.source(of: resolved)
            else { return call.answer(.boolean(false)) }
            didLoad(
                String(resolved.dropFirst(root.count + 1)),
                CodeIdentity(source, call.state).record)
            return call.answer(.boolean(true))
        }
        guard let restore = try chunk.call(.text(folder), .function(note)).function else {
            throw StoreError(.closed, "the script has ended")
        }
        self.restore = restore
    }

    /// Restores the functions.
    func end() {
        // The error is ignored: the function only assigns globals, which fails only without memory, and then the script
        // fails anyway.
        _ = try? restore.call([])
    }

    private static let source = """
        local folder, note = ...
        local require, dofile, loadfile, exit = require, dofile, loadfile, os.exit
        local path, loaded = package and package.path, package and package.loaded
        local search = folder .. "/?.lua;" .. folder .. "/?/init.lua"
        local fresh = {}
        local function within(name)
          if type(name) ~= "string" or name:sub(1, 1) == "/" then return name end
          local found = folder .. "/" .. name
          local file = io.open(found)
          if not file then return name end
          file:close()
          return found
        end
        local function load(loader, name, ...)
          local found = within(name)
          if type(found) == "string" then note(found) end
          return loader(found, ...)
        end
        local _G = _G
        if package then
          package.path = search .. ";" .. path
          _G.require = function(name)
            local found = type(name) == "string" and package.searchpath(name, package.path)
            if found and note(found) and not fresh[name] then fresh[name], loaded[name] = true, nil end
            return require(name)
          end
        end
        _G.dofile = function(...) return load(dofile, ...) end
        _G.loadfile = function(...) return load(loadfile, ...) end
        if os then
          os.exit = function() error("os.exit ends the process; a migration returns or raises an error", 2) end
        end
        return function()
          _G.require, _G.dofile, _G.loadfile = require, dofile, loadfile
          if os then os.exit = exit end
          if package then
            package.path = path
            for name in pairs(fresh) do loaded[name] = nil end
          end
        end
        """
}
