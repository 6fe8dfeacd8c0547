import EventLoops
import LuaHost
import ScriptHost
import StoreBindings

/// Runs changed files of a session again, and replaces the observers and timers of the old text.
///
/// If a file cannot be compiled, or its main part fails, nothing changes: the old observers continue, even if the new
/// text has released their tokens, and globals keep their values.
///
/// Thread: the script's thread.
final class ModuleReloader {
    private struct Source {
        var path: String
        var stamp: String?
    }

    private let context: ScriptContext
    private let evaluator: Evaluator
    private let transplant: LuaFunction?
    private let functionInfo: LuaFunction?
    private var modules: [String: Source] = [:]
    private var withoutFile: Set<String> = []
    private var files: [String: Source] = [:]
    /// The observers of files whose reload failed, until they are replaced; this may be the only reference to their
    /// tokens.
    private var survivors: [String: [TokenHandle]] = [:]

    // Scripts reference the old table, so the new functions move into it, and upvalues that refer to the new table are
    // rebound.
    private static let transplanting = """
        local get, set, type, next, rawset = debug.getupvalue, debug.setupvalue, type, next, rawset
        local rawequal, metatable, setmetatable, pcall = rawequal, debug.getmetatable, debug.setmetatable, pcall
        return function(old, new)
          local seen = {}
          local function point(f)
            if seen[f] then return end
            seen[f] = true
            for index = 1, 255 do
              local name, value = get(f, index)
              if not name then return end
              -- Native functions keep their upvalues.
              if rawequal(value, new) then pcall(set, f, index, old)
              elseif type(value) == "function" then point(value) end
            end
          end
          for key in next, old do rawset(old, key, nil) end
          for key, value in next, new do
            if type(value) == "function" then point(value) end
            rawset(old, key, value)
          end
          setmetatable(old, metatable(new))
        end
        """

    init(_ context: ScriptContext, _ evaluator: Evaluator) {
        self.context = context
        self.evaluator = evaluator
        transplant =
            (try? context.state.run(Self.transplanting, name: "=moonpool"))?.first?.function
        functionInfo = context.state.globals["debug"].table?["getinfo"].function
        noteLoaded()
    }

    // MARK: - Loaded modules

    /// Records the files of modules that have been loaded since the last call.
    func noteLoaded() {
        guard let loaded = context.state.loadedModules else { return }
        for name in loaded.pairs.compactMap(\.key.text)
        where modules[name] == nil && !withoutFile.contains(name) {
            if let path = path(of: name) {
                modules[name] = Source(path: path, stamp: ProcessServices.stamp(of: path))
            } else {
                withoutFile.insert(name)
            }
        }
    }

    /// Records a file that `.load` has run.
    func noteLoaded(file path: String) {
        files[path] = Source(path: path, stamp: ProcessServices.stamp(of: path))
    }

    /// The names of modules and files that can be reloaded.
    var names: [String] { (Array(modules.keys) + Array(files.keys)).sorted() }

    /// The names of files that have changed since they were loaded; required modules precede the modules that require
    /// them.
    var changed: [String] {
        let changed = names.filter { name in
            guard let source = modules[name] ?? files[name] else { return false }
            return ProcessServices.stamp(of: source.path) != source.stamp
        }
        return ModuleOrder.sorted(changed) { name in
            (modules[name] ?? files[name]).flatMap { try? ProcessServices.readWhole($0.path) }
        }
    }

    /// The folders of all modules and files that can be reloaded.
    var folders: Set<String> {
        Set(
            (Array(modules.values) + Array(files.values)).map { source in
                source.path.lastIndex(of: "/").map { String(source.path[...$0]) } ?? "."
            })
    }

    /// Returns the current stamp of a name's file, for comparisons; nil if the file cannot be found.
    func stamp(of name: String) -> String? {
        (modules[name] ?? files[name]).flatMap { ProcessServices.stamp(of: $0.path) }
    }

    private func path(of name: String) -> String? {
        guard let package = context.state.globals["package"].table,
            let search = package["searchpath"].function,
            let found = try? search.call([.text(name), package["path"]])
        else { return nil }
        return found.first?.text
    }

    // MARK: - Reloading

    /// Runs the text of a module or a loaded file again and returns the numbers of old and new observers.
    ///
    /// If the text fails, throws its error and leaves everything unchanged.
    func reload(_ name: String) throws -> (before: Int, after: Int) {
        guard let source = modules[name] ?? files[name] else {
            let near = nearestName(to: name, in: names)
            throw CommandError(
                "no module '\(name)' was loaded from a file"
                    + (near.map { "; did you mean '\($0)'?" } ?? ""))
        }
        let stamp = ProcessServices.stamp(of: source.path)
        let text = try SourceText.read(source.path, named: source.path)
        let chunk = try context.state.load(text, name: "@" + source.path)
        let isModule = modules[name] != nil
        let outcome = try replacingObservers(of: shortName(of: chunk) ?? source.path) {
            if isModule {
                let values = try context.entry { () throws in
                    try chunk.call([.text(name), .text(source.path)])
                }
                adopt(values.first ?? .nil, as: name)
            } else {
                // As with `.load`, the locals of the file become locals of the session, which keep its tokens alive.
                _ = try evaluator.evaluate(text, named: source.path) { body in
                    try context.entry { () throws in try body() }
                }
            }
        }
        if modules[name] != nil { modules[name]?.stamp = stamp } else { files[name]?.stamp = stamp }
        return outcome
    }

    /// Returns the name of a chunk's file in messages and observers.
    private func shortName(of chunk: LuaFunction) -> String? {
        let information = try? functionInfo?.call([.function(chunk), "S"]).first?.table
        return information?["short_src"].text
    }

    private func adopt(_ value: LuaValue, as name: String) {
        guard let loaded = context.state.loadedModules else { return }
        let old = loaded[name]
        if let transplant, case .table = old, case .table = value, old != value,
            (try? transplant.call([old, value])) != nil
        {
            return
        }
        loaded[name] = value.isNil ? (old.isNil ? true : old) : value
    }

    private func replacingObservers(of source: String, _ run: () throws -> Void) throws -> (
        before: Int, after: Int
    ) {
        let module = context.storeModule
        let earlier = module.activeTokens
        let numbers = Set(earlier.map(\.number))
        let timers = context.activeTimers
        func added() -> [TokenHandle] {
            module.activeTokens.filter { !numbers.contains($0.number) }
        }
        let globals = TableCopy(context.state.globals)
        let loaded = context.state.loadedModules.map(TableCopy.init)
        do {
            try run()
        } catch {
            for token in added() { token.invalidate() }
            globals.restore()
            // The observers of a module that was required for the first time have been removed, so the module must run
            // again.
            loaded?.restore()
            survivors[source] = earlier.filter { Self.file(of: $0.location) == source }
            for timer in context.activeTimers where !timers.contains(where: { $0 === timer }) {
                timer.cancel()
            }
            throw error
        }
        let old = earlier.filter { Self.file(of: $0.location) == source }
        for token in old { token.invalidate() }
        for timer in timers where Self.file(of: timer.location) == source { timer.cancel() }
        survivors[source] = nil
        return (old.count, added().count)
    }

    /// A copy of the content of a table, for restoring it.
    private struct TableCopy {
        let table: LuaTable
        let pairs: [(key: LuaValue, value: LuaValue)]

        init(_ table: LuaTable) {
            self.table = table
            pairs = table.pairs
        }

        func restore() {
            for (key, _) in table.pairs { table.setRaw(key, .nil) }
            for (key, value) in pairs { table.setRaw(key, value) }
        }
    }

    /// Returns the file of a source location: `zoo.lua` for `zoo.lua:12`.
    private static func file(of location: String) -> Substring {
        location.lastIndex(of: ":").map { location[..<$0] } ?? location[...]
    }
}
