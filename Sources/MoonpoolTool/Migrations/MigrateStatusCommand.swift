import ArgumentParser
import ScriptHost

/// `moonpool migrate status STORE --dir DIR`.
struct MigrateStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tell which migrations were applied, and which are pending.")

    @OptionGroup var place: MigrationPlace

    func run() throws {
        let place = place
        MigrationSession.run(json: place.json) { context in
            let state = try place.runner(context).state()
            return .init(report: state.report, lines: state.lines)
        }
    }
}

/// `moonpool migrate check STORE --dir DIR`.
struct MigrateCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Tell by the exit code whether a store is up to date.",
        discussion: """
            0 when it is, 1 when migrations are pending, 2 when something is wrong: the schema was changed by hand, a \
            migration was edited, in more than comments and white space, after it was applied, the store is newer than the \
            folder, or there is no store.
            """)

    @OptionGroup var place: MigrationPlace

    func run() throws {
        let place = place
        MigrationSession.run(json: place.json, failure: 2) { context in
            let state = try place.runner(context).state()
            return .init(
                report: state.report, lines: state.problems.isEmpty ? [state.summary] : state.lines,
                exitCode: state.code)
        }
    }
}
