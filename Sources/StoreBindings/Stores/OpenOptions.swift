import LuaHost
import ObjectStore

/// Parses the arguments of `moonpool.open`.
struct OpenOptions {
    /// Returns the configuration from a path or a table of options, the declared schema and the migration function.
    static func configuration(
        _ call: borrowing LuaCall, _ module: StoreModule
    ) throws -> (StoreConfiguration, schema: DeclaredSchema?, migration: LuaFunction?) {
        if case .string = call[1] {
            return (
                StoreConfiguration(.file(try path(call.text(1), call, module.rights.isReadOnly))),
                nil, nil
            )
        }
        guard case .table = call[1] else { throw call.typeError(1, "path or table of options") }
        guard let options = try call.options(1) else {
            throw call.typeError(1, "path or table of options")
        }
        var configuration = StoreConfiguration(try location(options, call, module))
        var declared: DeclaredSchema?
        if !options["schema"].isNil {
            guard let schema = options["schema"].table else {
                throw call.argumentError(1, "option 'schema' must be a table")
            }
            declared = try module.schema(in: schema)
            configuration.schema = declared?.classes
        } else if let name = ["migration", "drops"]
            .first(where: { !options[$0].isNil })
        {
            throw call.argumentError(
                1, "option '\(name)' requires 'schema'")
        }
        configuration.schemaVersion = UInt64(try integer("schema_version", options, call) ?? 0)
        configuration.isReadOnly = try boolean("read_only", options, call) ?? false
        configuration.history = try integer("history", options, call) ?? configuration.history
        configuration.maximumSize = try integer("max_size", options, call)
        configuration.maximumLiveVersions = try integer(
            "max_live_versions", from: 1, options, call)
        configuration.threads = try integer("threads", from: 1, options, call)
        if !options["durability"].isNil {
            guard let text = options["durability"].text,
                let durability = StoreConfiguration.Durability(rawValue: text)
            else {
                throw call.argumentError(
                    1, "option 'durability' must be \"full\", \"async\" or \"memory\"")
            }
            configuration.durability = durability
        }
        configuration.deletesIfMigrationNeeded =
            try boolean("delete_if_migration_needed", options, call) ?? false
        guard options["migration"].isNil || options["migration"].function != nil else {
            throw call.argumentError(1, "option 'migration' must be a function")
        }
        configuration.drops = try drops(options["drops"], call)
        if configuration.isReadOnly { try checkReadOnly(options, call) }
        try applyMigrations(options, to: configuration, call: call, module: module)
        return (configuration, declared, options["migration"].function)
    }

    /// Throws if the options include one that changes the file.
    private static func checkReadOnly(_ options: LuaTable, _ call: borrowing LuaCall) throws {
        let changing = [
            "migration", "migrations", "drops", "delete_if_migration_needed", "should_compact",
        ]
        for name in changing where options[name].isTruthy {
            throw call.argumentError(
                1,
                "option '\(name)' changes the file, which 'read_only' does not allow; pass only one of them"
            )
        }
    }

    private static func drops(_ value: LuaValue, _ call: borrowing LuaCall) throws -> Set<String> {
        if value.isNil { return [] }
        guard let names = value.table?.texts else {
            throw call.argumentError(
                1, "option 'drops' must be an array of names such as { \"Person.phone\", \"Toy\" }")
        }
        return Set(names)
    }

    /// Applies the migrations of the folder in `migrations` to the file, before it is opened.
    private static func applyMigrations(
        _ options: LuaTable, to configuration: StoreConfiguration, call: borrowing LuaCall,
        module: StoreModule
    ) throws {
        if options["migrations"].isNil { return }
        guard let folder = options["migrations"].text else {
            throw call.argumentError(1, "option 'migrations' must be the path of a folder")
        }
        guard options["migration"].isNil else {
            throw call.argumentError(1, "pass either 'migrations' or 'migration', not both")
        }
        guard case .file(let path) = configuration.location, !configuration.isReadOnly else {
            throw call.argumentError(
                1, "option 'migrations' needs a store in a file that is opened for writing")
        }
        guard let migrator = module.migrator else {
            throw call.argumentError(
                1, "option 'migrations' is not available in a sandboxed script")
        }
        let version = options["schema_version"].isNil ? nil : configuration.schemaVersion
        try migrator(path, folder, version)
    }

    /// Returns the function that decides whether to compact a file before it is opened.
    static func shouldCompact(_ call: borrowing LuaCall) throws -> ((Int, Int) throws -> Bool)? {
        guard case .table(let options) = call[1] else { return nil }
        let value = options["should_compact"]
        if value.isNil { return nil }
        guard let function = value.function else {
            throw call.argumentError(1, "option 'should_compact' must be a function")
        }
        return { total, used in
            try function.call([.integer(Int64(total)), .integer(Int64(used))])
                .first?.isTruthy == true
        }
    }

    private static func location(
        _ options: LuaTable, _ call: borrowing LuaCall, _ module: StoreModule
    ) throws -> StoreConfiguration.Location {
        switch (options["path"], options["in_memory"]) {
        case (.string(let text), .nil):
            guard let text = text.text else {
                throw call.argumentError(1, "the path is not valid UTF-8")
            }
            let isReadOnly = module.rights.isReadOnly || options["read_only"].isTruthy
            return .file(try path(text, call, isReadOnly))
        case (.nil, .string(let name)):
            guard !name.bytes.isEmpty else {
                throw call.argumentError(1, "'in_memory' is the name of a store, not an empty text")
            }
            return .memory(module.rights.memoryPrefix + name.description)
        case (.nil, .nil): throw call.argumentError(1, "option 'path' or 'in_memory' is missing")
        default:
            throw call.argumentError(
                1, "pass either 'path' or 'in_memory', as a string")
        }
    }

    private static func path(
        _ text: String, _ call: borrowing LuaCall, _ isReadOnly: Bool
    ) throws -> String {
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw call.argumentError(1, "the path is empty or has a zero byte")
        }
        return try call.state.files.check(text, for: isReadOnly ? .reading : .writing)
    }

    private static func integer(
        _ name: String, from minimum: Int64 = 0, _ options: LuaTable, _ call: borrowing LuaCall
    ) throws -> Int? {
        let value = options[name]
        if value.isNil { return nil }
        guard let number = value.integer, number >= minimum, number <= 1 << 50 else {
            throw call.argumentError(
                1, "option '\(name)' must be a whole number from \(minimum) to 2^50")
        }
        return Int(number)
    }

    private static func boolean(
        _ name: String, _ options: LuaTable, _ call: borrowing LuaCall
    ) throws -> Bool? {
        let value = options[name]
        if value.isNil { return nil }
        guard let flag = value.boolean else {
            throw call.argumentError(1, "option '\(name)' must be true or false")
        }
        return flag
    }
}

/// The permissions of a script for the stores that it opens.
///
/// The `files` of the script's state determine which files the script can open.
package struct StoreRights: Sendable, Equatable {
    /// Whether files are opened read-only regardless of the script's options.
    ///
    /// In-memory stores are not restricted.
    package var isReadOnly = false
    /// The prefix for names of in-memory stores.
    ///
    /// A script with its own prefix does not share in-memory stores with other scripts.
    package var memoryPrefix = ""
    /// The maximum size of each file that the script opens, in bytes; nil for the store's own limit.
    package var maximumSize: Int?
    /// The maximum number of open stores; nil without a limit.
    package var maximumCount: Int?

    /// Creates unrestricted permissions.
    package init() {}

    /// Applies the permissions to a configuration.
    func limit(_ configuration: inout StoreConfiguration) {
        guard case .file = configuration.location else { return }
        if isReadOnly { configuration.isReadOnly = true }
        if let maximumSize {
            configuration.maximumSize = min(configuration.maximumSize ?? maximumSize, maximumSize)
        }
    }

    /// Throws `limit_exceeded` if the script has reached the maximum number of open stores.
    func checkCount(_ openStores: Int) throws(StoreError) {
        if let maximumCount, openStores >= maximumCount {
            throw StoreError(
                .limitExceeded, "this script can have at most \(maximumCount) stores open")
        }
    }
}
