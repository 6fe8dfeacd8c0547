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
    /// The files in the folder that each migration has loaded, by name.
    private(set) var helpers: [Int: [String: String]] = [:]

    init(_ directory: MigrationDirectory, _ module: StoreModule) {
        self.directory = directory
        self.module = module
    }

    /// Returns the script of a migration, and runs its file if necessary.
    ///
    /// Throws `invalid_argument`, `invalid_schema`, and the errors of the file.
    func script(_ file: MigrationFile) throws -> MigrationScript {
        if let known = scripts[file.number] { return known }
        let previous = directory.file(before: file.number)
        let isDelta = SourceChecksum.mentions("changes", in: file.source)
        let base = try isDelta ? schema(after: previous) : []
        let environment = try environment(of: file)
        defer { environment.end() }
        let loaded = try MigrationScript(file, on: base, module)
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

    /// Begins to run code of a migration.
    ///
    /// Until the environment ends, `require`, `dofile` and `loadfile` search the folder first, and the loaded files count
    /// as part of the migration; `os.exit` is an error.
    func environment(of file: MigrationFile) throws -> MigrationEnvironment {
        try MigrationEnvironment(module.state, folder: directory.path) {
            [weak self] name, checksum in
            self?.helpers[file.number, default: [:]][name] = checksum
        }
    }
}

/// The environment of migration code in a Lua state.
struct MigrationEnvironment {
    private let restore: LuaFunction

    /// Changes the functions that load files; `didLoad` receives the name and the checksum of each file of the folder
    /// that is loaded.
    fileprivate init(
        _ state: LuaState, folder: String,
        didLoad: @escaping (_ name: String, _ checksum: String) -> Void
    ) throws {
        let chunk = try state.load(LuaString(bytes: Array(Self.source.utf8)), name: "=migrate")
        let note = state.makeFunction("migrate.loaded") { call in
            let name = try call.text(1)
            let path = MigrationListing.path(name, in: folder)
            if let source = try? MigrationFile.source(of: path) {
                didLoad(name, SourceChecksum.of(source))
            }
            return .none
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
        local prefix = #folder + 2
        local fresh = {}
        local function within(name)
          if type(name) ~= "string" or name:sub(1, 1) == "/" then
            if type(name) == "string" and name:sub(1, prefix - 1) == folder .. "/" then return name end
            return nil
          end
          if name:sub(1, prefix - 1) == folder .. "/" then return name end
          local found = folder .. "/" .. name
          local file = io.open(found)
          if file then file:close() return found end
        end
        local _G = _G
        if package then
          package.path = search .. ";" .. path
          _G.require = function(name)
            local found = type(name) == "string" and package.searchpath(name, search)
            if not found then return require(name) end
            note(found:sub(prefix))
            if not fresh[name] then fresh[name], loaded[name] = true, nil end
            return require(name)
          end
        end
        _G.dofile = function(name)
          local found = within(name)
          if not found then return dofile(name) end
          note(found:sub(prefix))
          return dofile(found)
        end
        _G.loadfile = function(name, ...)
          local found = within(name)
          if not found then return loadfile(name, ...) end
          note(found:sub(prefix))
          return loadfile(found, ...)
        end
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
