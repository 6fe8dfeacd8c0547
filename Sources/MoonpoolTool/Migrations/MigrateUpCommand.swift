import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

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

    @Flag(
        name: .customLong("continue"),
        help: "Continue an interrupted migration after its last batch although its file was edited."
    )
    var continuesEdited = false

    @Option(help: "Keep the newest N backups of the store and remove the others.")
    var keep: Int?

    @Option(help: "With a pattern of stores: migrate N stores at a time.")
    var jobs = 1

    @Option(
        help:
            "With a pattern of stores: begin with N stores, and continue only if all of them succeed."
    )
    var canary = 0

    @Option(help: "With a pattern of stores: start no other store after N failures.")
    var stopAfterFailures: Int?

    func validate() throws {
        for (name, value) in [
            ("--sample", sample), ("--keep", keep), ("--canary", canary),
        ] where value.map({ $0 < 0 }) == true {
            throw ValidationError("\(name): expected a number, 0 or more")
        }
        guard jobs > 0 else { throw ValidationError("--jobs: expected a number, 1 or more") }
        guard !continuesEdited || !StorePattern(location.store).isPattern else {
            throw ValidationError("--continue needs a single store")
        }
        guard dryRun || (sample == nil && report == nil && format == nil) else {
            throw ValidationError("--sample, --report and --format need --dry-run")
        }
    }

    func run() throws {
        let command = self
        let pattern = StorePattern(location.store)
        MigrationSession.perform(json: location.json) { context in
            guard pattern.isPattern else {
                return try command.migrateStore(command.location.store, context)
            }
            let stores = try pattern.requirePaths()
            _ = try MigrationDirectory(command.location.folder, context.storeModule)
            guard command.dryRun else { return try command.fleet(stores).migrateStores(context) }
            guard command.report == nil && command.format == nil || stores.count == 1 else {
                throw StoreError(
                    .invalidArgument,
                    "--report and --format need a single store; '\(command.location.store)' matches \(stores.count)"
                )
            }
            return try MigrationSession.each(stores) { store in
                try command.migrateStore(store, context)
            }
        }
    }

    private func migrateStore(
        _ store: String, _ context: ScriptContext
    ) throws -> MigrationSession.Result {
        let runner = try location.runner(context, for: store, timeout: timeout)
        runner.continuesEdited = continuesEdited
        let progress = runner.showProgress()
        defer { progress.end() }
        if dryRun { return try rehearse(runner, progress) }
        if !gate.kinds.isEmpty {
            let rehearsal = try runner.rehearse(to: to)
            let findings = MigrationFinding.gated(rehearsal, gate.kinds)
            guard findings.isEmpty else {
                progress.end()
                return .init(
                    report: .members(["findings": .array(findings.map(\.value))]),
                    lines: [FindingFormat.text.text(findings, suite: store, passed: [])]
                        + ["nothing was applied"], exitCode: 3)
            }
        }
        var count = 0
        if !location.json {
            runner.didApply = { applied in
                count += 1
                progress.end()
                ProcessServices.writeOutput(
                    MigrationText.migration(applied).joined(separator: "\n") + "\n")
            }
        }
        runner.keptBackups = keep
        let report = try runner.up(to: to, backup: .init(backup))
        return .init(report: report.value, lines: count == 0 ? MigrationText.lines(report) : [])
    }

    private func rehearse(
        _ runner: MigrationRunner, _ progress: ProgressLine
    ) throws -> MigrationSession.Result {
        let rehearsal = try runner.rehearse(to: to, sample: sample)
        progress.end()
        let findings = MigrationFinding.gated(rehearsal, gate.kinds)
        let code: Int32 = rehearsal.hasFailures ? 1 : findings.isEmpty ? 0 : 3
        if let report {
            let text = try RehearsalFormat(path: report).text(rehearsal)
            if let reason = ProcessServices.write(text, to: report) {
                throw StoreError(.invalidArgument, "'\(report)' cannot be written: \(reason)")
            }
        }
        if let format {
            let text = format.text(rehearsal)
            return .init(
                report: .null, lines: [text.hasSuffix("\n") ? String(text.dropLast()) : text],
                exitCode: code, isFormatted: true)
        }
        var lines = MigrationText.lines(rehearsal)
        lines.append(
            "dry run on a copy: '\(rehearsal.store)' is unchanged; " + MigrationText.cost(rehearsal)
        )
        lines += findings.map(\.message)
        return .init(report: rehearsal.value, lines: lines, exitCode: code)
    }

    private func fleet(_ stores: [String]) -> MigrationFleet {
        var arguments = ["--dir", location.folder, "--lock-timeout", "\(timeout.seconds)"]
        if let to { arguments += ["--to", "\(to)"] }
        if let backup { arguments.append(backup ? "--backup" : "--no-backup") }
        if let keep { arguments += ["--keep", "\(keep)"] }
        if let failOn = gate.failOn { arguments += ["--fail-on", failOn] }
        return MigrationFleet(
            stores, arguments: arguments,
            .init(
                jobs: jobs, canaries: canary, mostFailures: stopAfterFailures,
                showsProgress: !location.json))
    }
}

extension RehearsalFormat: ExpressibleByArgument {
    /// Creates the format from a file extension or from its full name.
    public init?(argument: String) {
        self.init(rawValue: argument == "text" ? "txt" : argument)
    }
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
        let (location, to, backup, timeout) = (location, to, backup, timeout)
        MigrationSession.perform(json: location.json) { context in
            let runner = try location.runner(context, timeout: timeout)
            let progress = runner.showProgress()
            defer { progress.end() }
            let report = try runner.down(to: to, backup: .init(backup))
            progress.end()
            return .init(report: report.value, lines: MigrationText.down(report))
        }
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
        let (location, isDiscarding) = (location, discardLaterWrites)
        MigrationSession.perform(json: location.json) { context in
            let report = try location.runner(context).undo(discardingLaterWrites: isDiscarding)
            return .init(report: report.value, lines: MigrationText.undo(report))
        }
    }
}

extension MigrationRunner {
    /// Shows the progress of each loop over objects on a terminal.
    fileprivate func showProgress() -> ProgressLine {
        let line = ProgressLine("migrated")
        progress = { _, _, done, total in line.update(done, Double(done) / Double(max(total, 1))) }
        return line
    }
}
