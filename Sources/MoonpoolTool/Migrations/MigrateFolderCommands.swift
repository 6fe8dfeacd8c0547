import ArgumentParser
import LuaHost
import ScriptHost

/// The command `moonpool migrate init STORE --dir DIR`.
struct MigrateInitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Start a folder of migrations from the schema of a store.",
        discussion: """
            Writes the first migration with the current schema of the store, and records it as applied. Its number is the \
            schema version of the store, or 1.
            """)

    @OptionGroup var location: MigrationLocation

    func run() throws { MigrationSession.perform("init", .init(location)) }
}

/// The command `moonpool migrate baseline STORE --dir DIR`.
struct MigrateBaselineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "baseline",
        abstract: "Record migrations as applied without running them.",
        discussion: """
            Use it for a store that already has the schema of the migrations, for example because a program migrated it. \
            The schema must equal that of the last recorded migration. Objects are not changed.
            """)

    @OptionGroup var location: MigrationLocation

    @Option(
        help:
            "The number of the last migration to record. Default: the schema version of the store.")
    var to: Int?

    func run() throws {
        MigrationSession.perform("baseline", .init(location, ["to": .optional(to)]))
    }
}

/// The command `moonpool migrate merge [FILE] --dir DIR`.
struct MigrateMergeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Renumber the migrations of another branch to follow the others.",
        discussion: """
            Renumbers FILE and the later files of its branch to follow the other migrations, and adds the changes of the other \
            migrations to their schemas. Name all files of a branch if they do not record their parents. Without FILE, moves \
            the files that the store of --store has not applied. Without --store, the command asks which files to move; \
            without a terminal, it exits with 1. Stores that applied a file under its old number recognize it.
            """)

    @Argument(help: "The migrations to move.", completion: .file(extensions: ["lua"]))
    var files: [String] = []

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @Option(help: "Move the files that this store has not applied.")
    var store: String?

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func run() throws {
        MigrationSession.perform(
            "merge",
            .init(
                [
                    "dir": .text(folder), "store": .optional(store), "yes": .boolean(yes),
                    "json": .boolean(json),
                ], list: files))
    }
}

/// The command `moonpool migrate repair STORE --dir DIR`.
struct MigrateRepairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Fix differences between the record of a store and a folder.",
        discussion: """
            Shows a plan first. Accepts edited files, records renumbered files under their new numbers, and removes deleted \
            files from the record. Schema changes by deleted files or other programs become a new migration file. Values are never \
            removed. Without --yes and without a terminal, nothing changes and the exit code is 1.
            """)

    @OptionGroup var location: MigrationLocation

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func run() throws {
        MigrationSession.perform("repair", .init(location, ["yes": .boolean(yes)]))
    }
}

/// The command `moonpool migrate squash --to N --dir DIR`.
struct MigrateSquashCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "squash",
        abstract: "Replace the migrations up to a number with one equivalent migration.",
        discussion: """
            The new file contains the schema after migration N, and the data that migrations 1 to N create in an empty \
            store. The old files move to DIR/squashed. Stores at N or later continue; older stores need the old files first.
            """)

    @Option(help: "The number of the last migration to replace.")
    var to: Int

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func run() throws {
        MigrationSession.perform(
            "squash",
            .init(["to": .count(to), "dir": .text(folder), "json": .boolean(json)]))
    }
}

/// The command `moonpool migrate lint STORE schema.lua`, or `moonpool migrate lint STORE --dir DIR`.
struct MigrateLintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract:
            "Report data that a schema change or the pending migrations would lose or break.",
        discussion: """
            With a schema script, checks the data: lost values and objects, values that do not fit a new type, required \
            properties without values, duplicate keys. With --dir, compiles the pending migrations and applies them to a \
            copy. The exit code is 0 without findings, 1 with findings, 2 after an error, and 3 if --fail-on rejects a \
            migration.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(
        help: "A script that returns the new schema.",
        completion: .file(extensions: ["lua"]))
    var schema: String?

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String?

    @OptionGroup var gate: MigrationGate
    @OptionGroup var output: FindingOptions

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func validate() throws {
        guard (schema == nil) != (folder == nil) else {
            throw ValidationError("expected either a schema script or --dir DIR")
        }
        guard folder != nil || gate.failOn == nil else {
            throw ValidationError("--fail-on needs --dir")
        }
    }

    func run() throws {
        MigrationSession.perform(
            "lint",
            .init([
                "store": .text(store), "schema": .optional(schema), "dir": .optional(folder),
                "fail_on": gate.kinds, "format": .optional(output.format?.rawValue),
                "json": .boolean(json),
            ]), failure: 2)
    }
}

/// The command `moonpool migrate test DIR`.
struct MigrateTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run the tests of the migrations in a folder.",
        discussion: """
            A test file such as 0002_name_test.lua returns { before = function(store) … end, after = function(store) … \
            end }, or an array of such tables. before fills an in-memory store with the schema of the earlier migrations, \
            after checks the result of up, and down checks the result of down. Every down function is tested. The exit code \
            is 1 if a test fails.
            """)

    @Argument(help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @OptionGroup var output: FindingOptions

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func run() throws {
        MigrationSession.perform(
            "test",
            .init([
                "dir": .text(folder), "format": .optional(output.format?.rawValue),
                "json": .boolean(json),
            ]))
    }
}

/// The command `moonpool migrate plan [STORE] schema.lua`.
struct MigratePlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Write the difference to a schema as an editable migration script.",
        discussion: """
            plan STORE schema.lua compares a store with the schema and writes the script to standard output or --output. \
            plan --dir DIR schema.lua compares the last migration of a folder with the schema, without a store, and writes \
            the next numbered file with only the changed classes. At a terminal, the command asks about probable renames. \
            Without a terminal, it marks them in the script: it performs a rename without an alternative, and otherwise \
            writes a script that fails until a rename is chosen. plan \
            --dir DIR FILE.realm writes the schema of a Realm file as the first migration.
            """)

    @Argument(
        help: """
            The store (not with --dir), and a script that returns the new schema. With --dir, also a \
            Realm file.
            """,
        completion: .file(extensions: ["moonpool", "realm", "lua"]))
    var arguments: [String] = []

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String?

    @Option(help: "With --dir: a description for the file name.")
    var name: String?

    @Option(help: "The file of the script, which must not exist. Default: standard output.")
    var output: String?

    @OptionGroup var realm: RealmOptionGroup

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func validate() throws {
        if folder == nil, arguments.count != 2 {
            throw ValidationError("expected a store and a schema script: plan STORE schema.lua")
        }
        if folder != nil, arguments.count != 1 {
            throw ValidationError("expected a schema script: plan --dir DIR schema.lua")
        }
        if folder == nil, name != nil { throw ValidationError("--name needs --dir") }
        if output != nil, name != nil {
            throw ValidationError("--output names the whole file; remove --name")
        }
        if let name,
            name.isEmpty
                || name.contains(where: {
                    !$0.isASCII || !($0.isLetter || $0.isNumber || $0 == "_")
                })
        {
            throw ValidationError("--name: expected letters, digits and _, got '\(name)'")
        }
    }

    func run() throws {
        let (file, folder, realm) = (arguments[0], folder, realm)
        MigrationSession.perform(
            "plan",
            .init(
                [
                    "dir": .optional(folder), "name": .optional(name), "output": .optional(output),
                    "json": .boolean(json),
                ], list: arguments)
        ) { host in
            // Writes the schema of a Realm file as the first migration; returns nil for another file.
            host.add("write_realm") { _, _ in
                guard try realm.isRealm(file), let folder else { return .nil }
                return .text(try RealmMigration.write(file, realm.options, in: folder))
            }
        }
    }
}

/// The command `moonpool migrate status STORE --dir DIR`.
struct MigrateStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show applied and pending migrations.",
        discussion: """
            With a pattern of stores, such as 'tenants/*.moonpool', prints a table with one line for each store, and then \
            the problems.
            """)

    @OptionGroup var location: MigrationLocation

    func run() throws {
        MigrationSession.perform("status", .init(location))
    }
}

/// The command `moonpool migrate check STORE --dir DIR`.
struct MigrateCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Check whether a store is up to date and its pending migrations work.",
        discussion: """
            Compiles every pending file and applies it to a copy of the store. The exit code is 0 if the store is up to \
            date, 1 if migrations are pending, and 2 after an error. Errors are: a pending file does not compile or fails; the \
            schema was changed outside of the migrations; an applied migration was edited (except comments and white space); \
            the store is newer than the folder; there is no store. With --fail-on, the exit code is 3 if a pending migration drops or rewrites \
            values.
            """)

    @OptionGroup var location: MigrationLocation
    @OptionGroup var gate: MigrationGate
    @OptionGroup var output: FindingOptions

    func run() throws {
        MigrationSession.perform(
            "check",
            .init(
                location,
                ["fail_on": gate.kinds, "format": .optional(output.format?.rawValue)]), failure: 2)
    }
}
