import EventLoops
import LuaHost
import SystemCalls

/// The modules of a script: the search of `require`, and the modules that a host defines and replaces.
///
/// A confined script has its own `require`, which has no search path that scripts can change and does not load C
/// modules. Use it on the script's thread.
final class ScriptModules {
    private let state: LuaState
    private let files: FileRights
    /// The table of loaded modules, which `require` returns.
    private let loaded: LuaTable
    /// Lua's `package`; nil in a confined script.
    private let package: LuaTable?
    /// The loaders of the host's modules in a confined script; other scripts have `package.preload`.
    private var defined: [String: LuaFunction] = [:]

    /// Uses the `require` of the state, or installs one for a confined script.
    init(_ state: LuaState, files: FileRights, isConfined: Bool, moonpool: LuaTable) {
        self.state = state
        self.files = files
        package = isConfined ? nil : state.globals["package"].table
        if package != nil, let known = state.loadedModules {
            loaded = known
        } else {
            loaded = state.makeTable()
        }
        guard isConfined else { return }
        loaded["moonpool"] = .table(moonpool)
        for name in ["coroutine", "table", "string", "math", "utf8", "os"] {
            loaded[name] = state.globals[name]
        }
        state.globals["require"] = .function(makeRequire())
    }

    // MARK: - Modules of the host

    /// Defines a module for `require`; if the module is loaded, its table gets the new contents.
    ///
    /// Throws the error of source that does not compile or that fails; the old module then remains.
    func define(_ name: String, source: String) throws {
        let loader = try state.load(source, name: "@" + name)
        if !loaded[name].isNil { try replace(name, by: loader, loaderData: .nil) }
        if let package {
            let preload = package["preload"].table ?? state.makeTable()
            preload[name] = .function(loader)
            package["preload"] = .table(preload)
        } else {
            defined[name] = loader
        }
    }

    /// Loads a module again; its existing table gets the new contents.
    ///
    /// Throws the error of a module that is not found, does not compile or fails; the old module then remains.
    func reload(_ name: String) throws {
        let (loader, loaderData) = try find(name)
        try replace(name, by: loader, loaderData: loaderData)
    }

    private func replace(_ name: String, by loader: LuaFunction, loaderData: LuaValue) throws {
        let old = loaded[name]
        loaded[name] = .nil
        do {
            let result = try loader.call([.text(name), loaderData]).first ?? .nil
            if !result.isNil { loaded[name] = result }
        } catch {
            loaded[name] = old
            throw error
        }
        if loaded[name].isNil { loaded[name] = .boolean(true) }
        guard let kept = old.table, let new = loaded[name].table, kept != new else { return }
        for (key, _) in kept.pairs { kept.setRaw(key, .nil) }
        for (key, value) in new.pairs { kept.setRaw(key, value) }
        kept.metatable = new.metatable
        loaded[name] = old
    }

    private func find(_ name: String) throws -> (loader: LuaFunction, loaderData: LuaValue) {
        guard let package else {
            if let loader = defined[name] { return (loader, .nil) }
            let (source, path) = try file(ofModule: name)
            return (try state.load(LuaString(bytes: source), name: "@" + path), .text(path))
        }
        var reasons = ""
        for searcher in package["searchers"].table?.array ?? [] {
            let found = try state.call(searcher, [.text(name)])
            if let loader = found.first?.function {
                return (loader, found.count > 1 ? found[1] : .nil)
            }
            reasons += found.first?.text ?? ""
        }
        throw LuaArgumentError("module '\(name)' not found:\(reasons)")
    }

    // MARK: - Confined scripts

    private func makeRequire() -> LuaFunction {
        state.makeFunction("require") { [weak self] call in
            guard let self else { return .none }
            let name = try call.text(1)
            if !loaded[name].isNil { return call.answer(loaded[name]) }
            let (loader, loaderData) = try find(name)
            let result = try loader.call([.text(name), loaderData]).first ?? .nil
            if loaded[name].isNil { loaded[name] = result.isNil ? .boolean(true) : result }
            return call.answer(loaded[name])
        }
    }

    private func file(ofModule name: String) throws -> (bytes: [UInt8], path: String) {
        let file = name.split(separator: ".", omittingEmptySubsequences: false)
            .joined(separator: "/")
        for folder in files.readableFolders {
            guard let path = try? files.check("\(folder)/\(file).lua", for: .reading) else {
                continue
            }
            do {
                return (try ProcessServices.readWhole(path, limit: 4 << 20), path)
            } catch {
                // If the file cannot be read in this folder, it may exist in another folder, as in Lua's own search.
                guard case .tooLong = error else { continue }
                throw LuaArgumentError("module '\(name)' cannot be read: \(error.reason)")
            }
        }
        throw LuaArgumentError("module '\(name)' is not available to this script")
    }
}
