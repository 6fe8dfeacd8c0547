import ArgumentParser
import ScriptHost

/// `moonpool migrate`: changes of schema and data as numbered scripts.
struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Change a store's schema and data by numbered scripts.",
        discussion: """
            Migrations are files of a folder, 0001_what_it_does.lua and so on, each of which returns { schema = { … }, \
            up = function(m) … end, down = function(m) … end } with the whole schema after it. Each is done whole or not at \
            all, in one transaction, and recorded in the store.
            """,
        subcommands: [
            MigratePlanCommand.self, MigrateLintCommand.self, MigrateUpCommand.self,
            MigrateStatusCommand.self, MigrateCheckCommand.self, MigrateDownCommand.self,
            MigrateUndoCommand.self, MigrateBaselineCommand.self, MigrateTestCommand.self,
        ])
}

/// The store and the folder that most of the commands are about.
struct MigrationPlace: ParsableArguments {
    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @Flag(help: "Report as JSON, errors too.")
    var json = false
}

extension MigrationPlace {
    /// What brings the store through the folder's migrations; `notice` says when it has to wait.
    func runner(_ context: ScriptContext, _ notice: WaitNotice? = nil) throws -> MigrationRunner {
        let runner = MigrationRunner(
            context.storeModule, store: store, directory: try MigrationDirectory(folder))
        runner.isWaiting = notice?.note
        return runner
    }
}
