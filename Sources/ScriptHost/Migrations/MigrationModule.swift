import EventLoops
import LuaHost
import ObjectStore
import Reference
import StoreBindings
import SystemCalls

/// The functions of `moonpool.migrate`, which correspond to the command `moonpool migrate`.
///
/// Their bodies are in `lua/migrate/api.lua`.
enum MigrationModule {
    private enum Kind {
        case count, flag, seconds, percentage
    }

    /// The functions of a store and a folder, and their options.
    private static let functions: [String: KeyValuePairs<String, Kind>] = [
        "status": [:], "check": [:],
        "up": [
            "to": .count, "dry_run": .flag, "backup": .flag, "keep": .count, "sample": .count,
            "lock_timeout": .seconds,
        ], "down": ["to": .count, "backup": .flag, "lock_timeout": .seconds],
        "undo": ["discard_later_writes": .flag], "baseline": ["to": .count],
        "start": ["pace": .percentage, "max_failures": .count],
        "complete": ["wait": .seconds, "force": .flag, "backup": .flag], "abort": ["force": .flag],
        "repair": ["dry_run": .flag],
    ]

    /// Installs the table `moonpool.migrate` in a script.
    static func install(in context: ScriptContext) {
        let module = context.storeModule
        let table = context.state.makeTable(fields: 16)
        /// Adds a function of a store; one that changes nothing takes a store in memory too.
        func add(
            _ name: String, changes: @escaping (LuaTable?) -> Bool = { _ in false },
            _ arguments: @escaping (borrowing LuaCall) throws -> [LuaValue]
        ) {
            table[name] = .function(
                context.state.makeFunction(name, of: "moonpool.migrate") {
                    [weak context, unowned module] call in
                    let rest = try arguments(call)
                    return try Self.withFile(call, module, mayCopy: !changes(rest.first?.table)) {
                        try call.answer(Self.call(name, [.text($0)] + rest, context))
                    }
                })
        }
        add("plan") { call in
            let options = try call.options(3, ["dir", "name"])
            return [.table(try call.table(2)), options.map(LuaValue.table) ?? .nil]
        }
        add("lint") { call in [.table(try call.table(2))] }
        for (name, options) in functions {
            add(
                name,
                changes: {
                    !["status", "check"].contains(name) && $0?["dry_run"].isTruthy != true
                }
            ) { call in [try Self.options(options, call)] }
        }
        table["test"] = .function(
            context.state.makeFunction("test", of: "moonpool.migrate") { [weak context] call in
                try call.answer(Self.call("test", [.text(call.text(1))], context))
            })
        context.add("schema_text") { context, call in
            guard case .store(let handle)? = context.storeModule.inspect(call[1]) else {
                throw call.typeError(1, "store")
            }
            let name = call.isNil(2) ? "lua" : try call.text(2)
            guard let format = SchemaFormat(rawValue: name) else {
                let known = SchemaFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw call.argumentError(2, "unknown format '\(name)'; use \(known)")
            }
            return call.answer(.text(SchemaDocument(handle.store.schema).text(as: format)))
        }
        context.module["migrate"] = .table(table)
        module.sessionMigrator = { [weak context] store, version, name, folder in
            guard let context else { return .nil }
            let results = try Self.call(
                "migration_since",
                [
                    MigrationHost.attached(to: context).definitions(of: store, since: version),
                    version.map { .integer(Int64(clamping: $0)) } ?? .nil, .optional(name),
                    .text(folder),
                ], context)
            return results.first ?? .nil
        }
        module.migrator = { [weak context] store, folder, version in
            let limit = version.map { LuaValue.integer(Int64(clamping: $0)) } ?? .nil
            _ = try Self.call("on_opening", [.text(store), .text(folder), limit], context)
        }
    }

    /// Calls a function with the path of the store in argument 1; that of a copy for a store in memory, if it may be one.
    private static func withFile(
        _ call: borrowing LuaCall, _ module: StoreModule, mayCopy: Bool,
        _ body: (String) throws -> LuaAnswer
    ) throws -> LuaAnswer {
        guard mayCopy, case .store(let handle)? = module.inspect(call[1]), handle.store.path == nil
        else { return try body(call.storePath(1)) }
        guard let folder = ProcessServices.makePrivateFolder(named: "moonpool") else {
            throw StoreError(.invalidArgument, "cannot create a folder for temporary files")
        }
        defer { ProcessServices.removeFolder(folder) }
        let path = folder + "/" + handle.name.replacing("/", with: "_")
        try handle.store.backup(to: path)
        return try body(path)
    }

    private static func call(
        _ name: String, _ arguments: [LuaValue], _ context: ScriptContext?
    ) throws -> [LuaValue] {
        guard let context else { throw StoreError(.closed, "the script has ended") }
        return try MigrationHost.attached(to: context).call(name, of: "api", arguments)
    }

    /// Returns a table of the options, whose types are checked.
    private static func options(
        _ known: KeyValuePairs<String, Kind>, _ call: borrowing LuaCall
    ) throws -> LuaValue {
        guard let options = try call.options(2, ["dir"] + known.map(\.key)) else {
            throw call.typeError(2, "table of options")
        }
        guard options["dir"].text != nil else {
            throw call.argumentError(
                2, "option 'dir' must be the path of the folder of the migrations")
        }
        let result = call.state.makeTable(fields: known.count + 1)
        result["dir"] = options["dir"]
        for (name, kind) in known where !options[name].isNil {
            let value = options[name]
            let expected: String? =
                switch kind {
                case .count:
                    value.integer.map { $0 >= 0 } == true ? nil : "a whole number, 0 or more"
                case .percentage:
                    value.integer.map { (1...100).contains($0) } == true
                        ? nil : "a percentage from 1 to 100"
                case .flag: value.boolean != nil ? nil : "true or false"
                case .seconds:
                    value.number.map { $0 >= 0 } == true ? nil : "a number of seconds, 0 or more"
                }
            if let expected {
                throw call.argumentError(2, "option '\(name)' must be \(expected)")
            }
            result[name] = kind == .count ? value.integer.map { .integer($0) } ?? .nil : value
        }
        return .table(result)
    }
}
