import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// `moonpool migrate up STORE --dir DIR`.
struct MigrateUpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Apply the migrations that are pending.",
        discussion: """
            A store that does not exist is made. A copy of the store is made first where values or objects have no place in \
            a new schema; --backup makes one in any case, --no-backup never. --dry-run applies everything to a copy and \
            says what would happen: differences of the schema, objects touched, values dropped, objects that fail, samples \
            before and after, time and memory. Ctrl-C rolls the migration at hand back.
            """)

    @OptionGroup var place: MigrationPlace

    @Option(help: "The number of the last migration to apply.")
    var to: Int?

    @Flag(help: "Try it on a copy and report what would happen.")
    var dryRun = false

    @Flag(inversion: .prefixedNo, help: "Copy the store before anything changes.")
    var backup: Bool?

    func run() throws {
        let (place, to, dryRun, backup) = (place, to, dryRun, backup)
        let notice = WaitNotice(place.store)
        MigrationSession.run(json: place.json, notice: notice) { context in
            let runner = try place.runner(context, notice)
            let progress = runner.showProgress()
            defer { progress.end() }
            if dryRun {
                let report = try runner.dryRun(to: to)
                progress.end()
                let failed = report["applied"].elements.contains { $0["failed"] != .int(0) }
                var lines = MigrationText.lines(report)
                lines.append(
                    "dry run on a copy: '\(place.store)' is as it was; "
                        + MigrationText.cost(report))
                return .init(report: report, lines: lines, exitCode: failed ? 1 : 0)
            }
            var count = 0
            if !place.json {
                runner.didApply = { report in
                    count += 1
                    progress.end()
                    ProcessServices.writeOutput(
                        MigrationText.migration(report).joined(separator: "\n") + "\n")
                }
            }
            let report = try runner.up(to: to, backup: .init(backup))
            return .init(report: report, lines: count == 0 ? MigrationText.lines(report) : [])
        }
    }
}

/// `moonpool migrate down STORE --dir DIR`.
struct MigrateDownCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "down",
        abstract: "Take the last migration back by its down function.")

    @OptionGroup var place: MigrationPlace

    @Flag(inversion: .prefixedNo, help: "Copy the store before anything changes.")
    var backup: Bool?

    func run() throws {
        let (place, backup) = (place, backup)
        let notice = WaitNotice(place.store)
        MigrationSession.run(json: place.json, notice: notice) { context in
            let runner = try place.runner(context, notice)
            let progress = runner.showProgress()
            defer { progress.end() }
            let report = try runner.down(backup: .init(backup))
            progress.end()
            return .init(report: report, lines: MigrationText.down(report))
        }
    }
}

/// `moonpool migrate undo STORE --dir DIR`.
struct MigrateUndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Put the backup that was made before the last migrations in the store's place.",
        discussion: """
            No process may have the store open. What was written since the backup is not in it; the store as it is now is \
            kept as another file.
            """)

    @OptionGroup var place: MigrationPlace

    func run() throws {
        let place = place
        MigrationSession.run(json: place.json) { context in
            let report = try place.runner(context).undo()
            return .init(report: report, lines: MigrationText.undo(report))
        }
    }
}

extension MigrationRunner {
    /// Shows on a terminal how far each loop over objects is.
    fileprivate func showProgress() -> ProgressLine {
        let line = ProgressLine("migrated")
        progress = { _, _, done, total in line.update(done, Double(done) / Double(max(total, 1))) }
        return line
    }
}
