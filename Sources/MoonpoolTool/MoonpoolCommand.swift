import ArgumentParser
import EventLoops

/// The commands, and what `moonpool --help` shows.
struct MoonpoolCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "moonpool",
        abstract: "A live object store with a Lua prompt.",
        usage: """
            moonpool [options of lua] [script or store [args ...]]
            moonpool <command>
            """,
        discussion: Texts.discussion,
        version: Texts.versionLine,
        subcommands: [
            RunScripts.self, ImportCommand.self, ExportCommand.self, BackupCommand.self,
            CheckCommand.self, CompactCommand.self, SchemaCommand.self, StatsCommand.self,
            AnnotationsCommand.self, LintCommand.self, MigrateCommand.self, TranscriptCommand.self,
            WatchCommand.self, AttachCommand.self,
        ])

    /// The script for a shell that needs more than the commands: bash, which offers files where no command is meant.
    ///
    /// Nil for all others, whose scripts are made as they are.
    static func completionScript(for shell: String) -> String? {
        guard shell == "bash" else { return nil }
        return completionScript(for: .bash).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map {
            $0.hasPrefix("complete -o filenames ")
                ? "complete -o default" + $0.dropFirst("complete".count) : String($0)
        }.joined(separator: "\n") + "\n"
    }

    /// Runs a command line; errors in it are shown as the command would show its own.
    static func run(_ words: [String]) {
        do {
            var command = try parseAsRoot(words)
            try command.run()
        } catch {
            if words.first == MigrateCommand.configuration.commandName, words.contains("--json"),
                exitCode(for: error) == .validationFailure
            {
                ProcessServices.writeOutput(MigrationSession.report(usage: message(for: error)))
                ProcessServices.exit(ExitCode.validationFailure.rawValue)
            }
            exit(withError: error)
        }
    }

    /// Whether a command line with this first word is one for the commands, and not for `lua`'s reading of it.
    static func takes(_ word: String) -> Bool {
        let general: Set = [
            "--help", "-h", "help", "--version", "--generate-completion-script",
            "--experimental-dump-help",
        ]
        return general.contains(word)
            || configuration.subcommands.contains { $0.configuration.commandName == word }
    }
}
