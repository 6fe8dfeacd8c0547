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
