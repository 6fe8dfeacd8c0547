import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

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

    func run() throws {
        let location = location
        MigrationSession.perform(json: location.json) { context in
            if ProcessServices.size(of: location.folder) == nil,
                let reason = ProcessServices.makeFolder(location.folder)
            {
                throw StoreError(
                    .invalidArgument, "the folder '\(location.folder)' cannot be created: \(reason)"
                )
            }
            guard try MigrationListing(location.folder, context.storeModule).files.isEmpty else {
                throw StoreError(
                    .invalidArgument,
                    "the folder '\(location.folder)' already contains migrations; record the applied ones with "
                        + "moonpool migrate baseline")
            }
            let planning = MigrationPlanning(context.storeModule)
            let (text, version) = try planning.initialScript(ofStore: location.store)
            let number = max(version, 1)
            let digits = String(number)
            let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            let path = "\(location.folder)/\(padded)_start.lua"
            try MigrationFolderEdit.create(path, text)
            let report = try location.runner(context).baseline(to: Int(clamping: number))
            return .init(
                report: .members(["file": .text(path), "recorded": report.recordedValue]),
                lines: ["wrote \(path)"] + MigrationText.baseline(report))
        }
    }
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
        let (location, to) = (location, to)
        MigrationSession.perform(json: location.json) { context in
            let runner = try location.runner(context)
            let report = try runner.baseline(to: to)
            return .init(report: report.value, lines: MigrationText.baseline(report))
        }
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
        let command = self
        MigrationSession.perform(json: json) { context in
            if let result = try FolderEditing.resume(command.folder) { return result }
            let merge = try MigrationMerge(context.storeModule, folder: command.folder)
            if let edit = merge.unfinished {
                return try FolderEditing.confirm(
                    edit, isConfirmed: true, json: command.json, context)
            }
            guard let files = try command.choose(merge, context) else {
                return .init(
                    report: .members(["steps": .array([])]), lines: ["nothing to merge"])
            }
            let edit = try merge.edit(moving: files)
            return try FolderEditing.confirm(
                edit, isConfirmed: command.yes || !command.files.isEmpty || command.store != nil,
                json: command.json, context)
        }
    }

    private func choose(
        _ merge: MigrationMerge, _ context: ScriptContext
    ) throws -> [MigrationFile]? {
        if !files.isEmpty { return try merge.files(named: files) }
        let candidates = merge.candidates
        guard !candidates.isEmpty else {
            let renumbered = merge.renumbered
            return renumbered.isEmpty ? nil : renumbered
        }
        if let store, let found = try merge.unapplied(inStore: store) { return found }
        guard FolderEditing.canAsk(json: json) else {
            throw StoreError(
                .invalidArgument,
                "several migrations have the same number ("
                    + candidates.map(\.fileName).joined(separator: ", ")
                    + "); name the files to move, or use --store with a store that has applied the other branch"
            )
        }
        for candidate in candidates
        where try FolderEditing.ask("Move '\(candidate.fileName)' after the others?", context) {
            return merge.branch(from: candidate)
        }
        return nil
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
        let (location, yes) = (location, yes)
        MigrationSession.perform(json: location.json) { context in
            _ = try MigrationFolderEdit.resume(location.folder)
            let edit = try location.runner(context).repair()
            return try FolderEditing.confirm(
                edit, isConfirmed: yes, json: location.json, context)
        }
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
        let (to, folder, json) = (to, folder, json)
        MigrationSession.perform(json: json) { context in
            if let result = try FolderEditing.resume(folder) { return result }
            if let edit = try MigrationSquash.unfinished(context.storeModule, folder: folder) {
                return try FolderEditing.confirm(edit, isConfirmed: true, json: json, context)
            }
            let squash = MigrationSquash(
                context.storeModule, directory: try MigrationDirectory(folder, context.storeModule))
            return try FolderEditing.confirm(
                try squash.edit(to: to), isConfirmed: true, json: json, context)
        }
    }
}

/// Asks for confirmation at a terminal before files of a folder change.
enum FolderEditing {
    /// Returns whether the command can ask a question.
    static func canAsk(json: Bool) -> Bool {
        !json && ProcessServices.isTerminal(0) && ProcessServices.isTerminal(2)
    }

    /// Finishes an interrupted change of a folder; nil if there is none.
    static func resume(_ folder: String) throws -> MigrationSession.Result? {
        guard let steps = try MigrationFolderEdit.resume(folder) else { return nil }
        return .init(
            report: .members(["steps": .texts(steps), "difference": .array([])]),
            lines: ["finished an interrupted change of '\(folder)':"] + steps.map { "  \($0)" })
    }

    /// Shows a change and applies it if the user confirms it.
    static func confirm(
        _ edit: MigrationFolderEdit, isConfirmed: Bool, json: Bool, _ context: ScriptContext
    ) throws -> MigrationSession.Result {
        guard !edit.isEmpty else { return .init(report: edit.value, lines: ["nothing to do"]) }
        let lines = edit.steps + edit.difference.map { "  \($0)" }
        if isConfirmed {
            try edit.apply()
            return .init(report: edit.value, lines: lines)
        }
        guard canAsk(json: json) else {
            return .init(
                report: edit.value, lines: lines + ["nothing was changed; confirm with --yes"],
                exitCode: 1)
        }
        ProcessServices.writeError(lines.joined(separator: "\n") + "\n")
        guard try ask("Make this change?", context) else {
            return .init(report: edit.value, lines: ["nothing was changed"], exitCode: 1)
        }
        try edit.apply()
        return .init(report: edit.value, lines: ["done"])
    }

    /// Asks until the answer is valid; the end of the input means no.
    static func ask(_ question: String, _ context: ScriptContext) throws -> Bool {
        while true {
            ProcessServices.writeError("\(question) [y/n] ")
            guard let line = try context.state.run("return io.read 'l'").first?.text else {
                ProcessServices.writeError("\n")
                return false
            }
            switch line.lowercased() {
            case "y", "yes": return true
            case "n", "no": return false
            default: continue
            }
        }
    }
}
