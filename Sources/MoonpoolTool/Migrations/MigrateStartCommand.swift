import ArgumentParser
import LuaHost
import ScriptHost

/// The command `moonpool migrate start STORE --dir DIR`.
struct MigrateStartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start the next migration while programs use the store.",
        discussion: """
            Programs of the old version continue to read, write and observe. When all objects are converted, programs that \
            open the store with the schema version of the migration can use it too, and a write through one version appears \
            in the other. complete then ends the old version, and abort the new one. A migration with a function 'up' cannot \
            be started: declare 'renames', and functions for one object in 'each'. Ctrl-C and SIGTERM pause the \
            conversion; start continues it. The exit code is 1 if objects cannot be converted.
            """)

    @OptionGroup var location: MigrationLocation
    @OptionGroup var timeout: LockTimeout

    @Option(help: "The percentage of the time for which the conversion may write, from 1 to 100.")
    var pace = 50

    @Option(help: "Stop after more than N objects that cannot be converted.")
    var maxFailures = 100

    func validate() throws {
        guard (1...100).contains(pace) else {
            throw ValidationError("--pace: expected a percentage from 1 to 100")
        }
        guard maxFailures >= 0 else {
            throw ValidationError("--max-failures: expected a number, 0 or more")
        }
    }

    func run() throws {
        MigrationSession.perform(
            "start",
            .init(
                location,
                [
                    "lock_timeout": .number(timeout.seconds), "pace": .count(pace),
                    "max_failures": .count(maxFailures),
                ]), showsProgress: true)
    }
}

/// The command `moonpool migrate complete STORE --dir DIR`.
struct MigrateCompleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "complete",
        abstract: "End a started migration: only the new version remains.",
        discussion: """
            Nothing changes, and the exit code is 1, while a program has the old version open; the error names the processes. \
            Makes a backup first if the migration drops values; --backup always makes one, --no-backup never.
            """)

    @OptionGroup var location: MigrationLocation
    @OptionGroup var timeout: LockTimeout

    @Option(help: "Wait at most this number of seconds for programs of the old version.")
    var wait = 0.0

    @Flag(help: "Do not ask whether a program has the old version open.")
    var force = false

    @Flag(inversion: .prefixedNo, help: "Make a backup of the store first.")
    var backup: Bool?

    func validate() throws {
        guard wait >= 0 else {
            throw ValidationError("--wait: expected a number of seconds, 0 or more")
        }
    }

    func run() throws {
        MigrationSession.perform(
            "complete",
            .init(
                location,
                [
                    "lock_timeout": .number(timeout.seconds), "wait": .number(wait),
                    "force": .boolean(force), "backup": .optional(backup),
                ]))
    }
}

/// The command `moonpool migrate abort STORE --dir DIR`.
struct MigrateAbortCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "abort",
        abstract: "Take a started migration back: only the old version remains.",
        discussion: """
            Reports the objects and values that only the new version had. Nothing changes, and the exit code is 1, while a \
            program has the new version open; the error names the processes.
            """)

    @OptionGroup var location: MigrationLocation
    @OptionGroup var timeout: LockTimeout

    @Flag(help: "Do not ask whether a program has the new version open.")
    var force = false

    func run() throws {
        MigrationSession.perform(
            "abort",
            .init(
                location,
                ["lock_timeout": .number(timeout.seconds), "force": .boolean(force)]))
    }
}
