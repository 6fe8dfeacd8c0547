import ArgumentParser
import LuaHost
import ScriptHost

/// The command `moonpool migrate up STORE --dir DIR`.
struct MigrateUpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Apply the pending migrations.",
        discussion: """
            Creates the store if it does not exist. Makes a backup if a migration overwrites or removes values or objects; \
            --backup always makes one, --no-backup never. --dry-run applies the migrations to a copy, or with --sample to a \
            sample of the objects, and reports schema differences, changed objects, dropped and rewritten values, failing \
            objects, samples, time and memory. --report writes the report to a file. Ctrl-C and SIGTERM roll back the \
            current migration. With a pattern of stores, such as 'tenants/*.moonpool', each store is migrated in its own \
            process; a second run continues where the first one stopped.
            """)

    @OptionGroup var location: MigrationLocation
    @OptionGroup var timeout: LockTimeout
    @OptionGroup var gate: MigrationGate

    @Option(help: "The number of the last migration to apply.")
    var to: Int?

    @Flag(help: "Apply the migrations to a copy and report the effects.")
    var dryRun = false

    @Option(help: "With --dry-run: copy N objects of each class and the objects that they link to.")
    var sample: Int?

    @Option(help: "With --dry-run: write the report to a file ending in .txt or .json.")
    var report: String?

    @Option(help: "With --dry-run: write the report to standard output as txt or json.")
    var format: RehearsalFormat?

    @Flag(inversion: .prefixedNo, help: "Make a backup of the store first.")
    var backup: Bool?

    @Option(help: "Keep the newest N backups of the store and remove the others.")
    var keep: Int?

    @Option(help: "With a pattern of stores: migrate N stores at a time, by default one.")
    var jobs: Int?

    @Option(
        help:
            "With a pattern of stores: begin with N stores, and continue only if all of them succeed."
    )
    var canary: Int?

    @Option(help: "With a pattern of stores: start no other store after N failures.")
    var stopAfterFailures: Int?

    func validate() throws {
        for (name, value) in [
            ("--sample", sample), ("--keep", keep), ("--canary", canary),
        ] where value.map({ $0 < 0 }) == true {
            throw ValidationError("\(name): expected a number, 0 or more")
        }
        guard jobs.map({ $0 > 0 }) != false else {
            throw ValidationError("--jobs: expected a number, 1 or more")
        }
        guard dryRun || (sample == nil && report == nil && format == nil) else {
            throw ValidationError("--sample, --report and --format need --dry-run")
        }
        guard !dryRun || (backup == nil && keep == nil) else {
            throw ValidationError(
                "--dry-run makes no backup; remove --backup, --no-backup or --keep")
        }
        guard location.isPattern || (jobs == nil && canary == nil && stopAfterFailures == nil)
        else {
            throw ValidationError(
                "--jobs, --canary and --stop-after-failures need a pattern of stores")
        }
    }

    func run() throws {
        MigrationSession.perform(
            "up",
            .init(
                location,
                [
                    "lock_timeout": .number(timeout.seconds), "fail_on": gate.kinds,
                    "to": .optional(to), "dry_run": .boolean(dryRun), "sample": .optional(sample),
                    "report": .optional(report), "report_format": .optional(format?.rawValue),
                    "backup": .optional(backup),
                    "keep": .optional(keep), "jobs": .count(jobs ?? 1),
                    "canary": .count(canary ?? 0),
                    "most_failures": .optional(stopAfterFailures),
                ], list: argumentsOfMembers), showsProgress: true)
    }

    /// The arguments that the process of each store of a pattern receives.
    private var argumentsOfMembers: [String] {
        var arguments = ["--dir", location.folder, "--lock-timeout", "\(timeout.seconds)"]
        if let to { arguments += ["--to", "\(to)"] }
        if let backup { arguments.append(backup ? "--backup" : "--no-backup") }
        if let keep { arguments += ["--keep", "\(keep)"] }
        if let failOn = gate.failOn { arguments += ["--fail-on", failOn] }
        return arguments
    }
}

/// The formats of a rehearsal report for reviewers.
enum RehearsalFormat: String, CaseIterable, ExpressibleByArgument {
    /// Lines of text.
    case text = "txt"
    /// The documented JSON format, version 1.
    case json

    /// Creates the format from a file extension or from its full name.
    init?(argument: String) { self.init(rawValue: argument == "text" ? "txt" : argument) }
}

/// The command `moonpool migrate down STORE --dir DIR`.
struct MigrateDownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "down",
        abstract: "Revert the last migration, or all after a number, with their down functions.",
        discussion: """
            Later writes are kept as far as the down functions allow. If one of the migrations has no down function, \
            nothing changes and the exit code is 1.
            """)

    @OptionGroup var location: MigrationLocation
    @OptionGroup var timeout: LockTimeout

    @Option(help: "The number of the migration to return to; 0 reverts all migrations.")
    var to: Int?

    @Flag(inversion: .prefixedNo, help: "Make a backup of the store first.")
    var backup: Bool?

    func run() throws {
        MigrationSession.perform(
            "down",
            .init(
                location,
                [
                    "lock_timeout": .number(timeout.seconds), "to": .optional(to),
                    "backup": .optional(backup),
                ]), showsProgress: true)
    }
}

/// The command `moonpool migrate undo STORE --dir DIR`.
struct MigrateUndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract:
            "Restore the backup that was made before the last migrations, and keep later writes.",
        discussion: """
            No process may have the store open. Writes since the migration are applied to the backup if the history of the \
            store contains all of them. The report lists lost writes: values that do not exist in the earlier \
            schema, or the number of lost commits. The current store is kept as another file. A second run restores the \
            backup before that.
            """)

    @OptionGroup var location: MigrationLocation

    @Flag(help: "Restore the backup without the writes since the migration.")
    var discardLaterWrites = false

    func run() throws {
        MigrationSession.perform(
            "undo", .init(location, ["discard_later_writes": .boolean(discardLaterWrites)]))
    }
}

extension LuaValue {
    /// Creates an integer; nil without a number.
    static func optional(_ number: Int?) -> LuaValue { number.map { .count($0) } ?? .nil }
    /// Creates a boolean; nil without a choice.
    static func optional(_ flag: Bool?) -> LuaValue { flag.map { .boolean($0) } ?? .nil }
}
