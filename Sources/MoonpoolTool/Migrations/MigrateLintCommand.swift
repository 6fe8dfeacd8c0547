import ArgumentParser
import LuaHost
import ScriptHost

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
