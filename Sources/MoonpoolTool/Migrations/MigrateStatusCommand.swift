import ArgumentParser
import LuaHost
import ScriptHost

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
