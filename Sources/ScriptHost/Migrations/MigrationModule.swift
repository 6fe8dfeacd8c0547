import LuaHost
import ObjectStore
import StoreBindings

/// The functions of `moonpool.migrate`, which correspond to the command `moonpool migrate`.
///
/// Their bodies are in `lua/migrate/api.lua`.
enum MigrationModule {
    private enum Kind {
        case count, flag, seconds
    }

    /// The functions of a store and a folder, and their options.
    private static let functions: [String: KeyValuePairs<String, Kind>] = [
        "status": [:], "check": [:],
        "up": [
            "to": .count, "dry_run": .flag, "backup": .flag, "keep": .count, "sample": .count,
            "lock_timeout": .seconds, "continue": .flag,
        ], "down": ["to": .count, "backup": .flag, "lock_timeout": .seconds],
        "undo": ["discard_later_writes": .flag], "baseline": ["to": .count],
        "repair": ["dry_run": .flag],
    ]

    /// Installs the table `moonpool.migrate` in a script.
    static func install(in context: ScriptContext) {
        let module = context.storeModule
        let table = context.state.makeTable(fields: 12)
        func add(
            _ name: String, _ arguments: @escaping (borrowing LuaCall) throws -> [LuaValue]
        ) {
            table[name] = .function(
                context.state.makeFunction(name, of: "moonpool.migrate") { [weak context] call in
                    let arguments = try arguments(call)
                    return call.answer(try Self.call(name, arguments, context))
                })
        }
        for name in ["plan", "lint"] {
            add(name) { call in [.text(try call.storePath(1)), .table(try call.table(2))] }
        }
        for (name, options) in functions {
            add(name) { call in
                [.text(try call.storePath(1)), try Self.options(options, call)]
            }
        }
        add("test") { call in [.text(try call.text(1))] }
        context.module["migrate"] = .table(table)
        module.sessionMigrator = { [weak context] store, version, name, folder in
            guard let context else { return .nil }
            return try Self.call(
                "migration_since",
                [
                    MigrationHost.attached(to: context).definitions(of: store, since: version),
                    version.map { .integer(Int64(clamping: $0)) } ?? .nil, .optional(name),
                    .text(folder),
                ], context)
        }
        module.migrator = { [weak context] store, folder, version in
            let limit = version.map { LuaValue.integer(Int64(clamping: $0)) } ?? .nil
            _ = try Self.call("on_opening", [.text(store), .text(folder), limit], context)
        }
    }

    private static func call(
        _ name: String, _ arguments: [LuaValue], _ context: ScriptContext?
    ) throws -> LuaValue {
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
