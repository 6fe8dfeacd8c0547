import ArgumentParser
import LuaHost

/// The command `moonpool migrate`: changes of schema and data as numbered scripts.
struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Change a store's schema and data with numbered scripts.",
        discussion: """
            Migrations are numbered files in a folder, such as 0001_add_owners.lua. Each returns { schema = { … }, \
            up = function(m) … end, down = function(m) … end }. schema is the complete schema after the migration; instead, \
            changes = { … } contains only the differences. Each migration runs in one transaction and is recorded in the \
            store.
            """,
        subcommands: [
            MigrateInitCommand.self, MigratePlanCommand.self, MigrateLintCommand.self,
            MigrateTestCommand.self, MigrateUpCommand.self, MigrateStatusCommand.self,
            MigrateCheckCommand.self, MigrateStartCommand.self, MigrateCompleteCommand.self,
            MigrateAbortCommand.self, MigrateDownCommand.self, MigrateUndoCommand.self,
            MigrateBaselineCommand.self, MigrateMergeCommand.self, MigrateRepairCommand.self,
            MigrateSquashCommand.self,
        ])
}

/// The store and the folder, which most commands need.
struct MigrationLocation: ParsableArguments {
    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    /// Whether the store is a pattern such as `tenants/*.moonpool`.
    var isPattern: Bool {
        store.split(separator: "/").last?.contains { $0 == "*" || $0 == "?" } == true
    }
}

/// The maximum time that a command waits for other writers.
struct LockTimeout: ParsableArguments {
    @Option(
        name: .customLong("lock-timeout"),
        help: ArgumentHelp(
            "Time limit for waiting for the write lock; 0 does not wait.",
            valueName: "seconds"))
    var seconds: Double = 60

    func validate() throws {
        guard seconds >= 0 else {
            throw ValidationError("--lock-timeout: expected a number of seconds, 0 or more")
        }
    }
}

/// The option `--fail-on drops,rewrites`: the findings that fail a check.
struct MigrationGate: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Exit with 3 if a pending migration drops or rewrites values: drops, rewrites, or drops,rewrites.",
            valueName: "kinds"))
    var failOn: String?

    /// The kinds for the command.
    var kinds: LuaValue { .text(failOn ?? "") }

    func validate() throws {
        let names = failOn?.split(separator: ",", omittingEmptySubsequences: false) ?? []
        for name in names where name != "drops" && name != "rewrites" {
            throw ValidationError(
                "--fail-on: expected drops, rewrites, or drops,rewrites; got '\(name)'")
        }
    }
}

/// The output format of findings.
struct FindingOptions: ParsableArguments {
    /// The formats.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case text, json, github, junit
    }

    @Option(help: "The format of the findings: text, json, github or junit.")
    var format: Format?
}
