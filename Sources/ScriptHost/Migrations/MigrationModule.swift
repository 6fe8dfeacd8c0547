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
    /// The functions of a store.
    private static let ofStores = [
        "init", "status", "check", "up", "down", "undo", "baseline", "start", "complete", "abort",
        "repair",
    ]
    /// The functions of a folder.
    private static let ofFolders = ["test", "merge", "squash"]

    /// Installs the table `moonpool.migrate` in a script.
    static func install(in context: ScriptContext) {
        let module = context.storeModule
        let table = context.state.makeTable(fields: 16)
        func add(
            _ name: String,
            _ arguments: @escaping (borrowing LuaCall) throws -> LuaTable
        ) {
            table[name] = .function(
                context.state.makeFunction(name, of: "moonpool.migrate") {
                    [weak context, unowned module] call in
                    let arguments = try arguments(call)
                    let run = { (key: String, path: String) in
                        arguments[key] = .text(path)
                        return try Self.call(name, [.table(arguments)], context)
                    }
                    guard !ofFolders.contains(name) else {
                        return try call.answer(run("dir", call.text(1)))
                    }
                    let isReading = ["status", "check", "plan", "lint"].contains(name)
                    return try Self.withFile(
                        call, module, mayCopy: isReading || arguments["dry_run"].isTruthy
                    ) { try call.answer(run("store", $0)) }
                })
        }
        for name in ["plan", "lint"] {
            add(name) { call in
                let classes = try call.table(2)
                let arguments = try Self.options(name, 3, call)
                arguments["classes"] = .table(classes)
                return arguments
            }
        }
        for name in ofStores + ofFolders { add(name) { try Self.options(name, 2, $0) } }
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

    /// Returns a copy of the options at an index, whose types are those of the description of the API.
    private static func options(
        _ name: String, _ index: Int, _ call: borrowing LuaCall
    ) throws -> LuaTable {
        let options = try call.options(index)
        let result = call.state.makeTable(fields: 8)
        for (key, type) in HelpCatalog.options(of: "moonpool.migrate", name, index) {
            let value = options?[key] ?? .nil
            if value.isNil, type.hasSuffix("?") { continue }
            if options == nil { throw call.typeError(index, "table of options") }
            let expected: String? =
                switch type.prefix(while: { $0 != "?" }) {
                case "integer":
                    value.integer.map { $0 >= 0 } == true ? nil : "a whole number, 0 or more"
                case "number":
                    value.number.map { $0 >= 0 } == true ? nil : "a number of seconds, 0 or more"
                case "boolean": nil
                case "string": value.text != nil ? nil : "a text"
                default:
                    value.table?.texts != nil ? nil : "an array of texts"
                }
            if let expected {
                throw call.argumentError(index, "option '\(key)' must be \(expected)")
            }
            result[key] = value.integer.map { .integer($0) } ?? value
        }
        return result
    }
}
