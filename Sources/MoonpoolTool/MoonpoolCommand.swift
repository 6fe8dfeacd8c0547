import ArgumentParser
import EventLoops
import ObjectStore
import Reference
import SystemCalls

/// The root command with its subcommands and help.
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
            DecryptCommand.self, CheckCommand.self, CompactCommand.self, SchemaCommand.self,
            StatsCommand.self,
            AnnotationsCommand.self, LintCommand.self, MigrateCommand.self, TranscriptCommand.self,
            WatchCommand.self, StudioCommand.self, AttachCommand.self, PublishCommand.self,
            FollowCommand.self, ClusterCommand.self,
        ])

    /// Returns the completion script for bash, changed to offer file names if the word is not a command.
    ///
    /// Returns nil for other shells, whose generated scripts need no change.
    static func completionScript(for shell: String) -> String? {
        guard shell == "bash" else { return nil }
        return completionScript(for: .bash).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map {
            $0.hasPrefix("complete -o filenames ")
                ? "complete -o default" + $0.dropFirst("complete".count) : String($0)
        }.joined(separator: "\n") + "\n"
    }

    /// Runs a command line and reports its errors.
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
            report(error, isWrapped: words.first?.hasPrefix("--") != true || words == ["--help"])
        }
    }

    /// Prints help on standard output or an error on standard error, and exits.
    ///
    /// Texts for other programs, such as completion scripts, are not wrapped.
    private static func report(_ error: any Error, isWrapped: Bool) -> Never {
        let code = exitCode(for: error)
        let descriptor: Int32 = code.isSuccess ? 1 : 2
        var text = fullMessage(for: error)
        if isWrapped { text = HelpLines(descriptor: descriptor).wrapped(text) }
        if !text.isEmpty {
            code.isSuccess
                ? ProcessServices.writeOutput(text + "\n") : ProcessServices.writeError(text + "\n")
        }
        ProcessServices.exit(code.rawValue)
    }

    /// Returns the command whose name is most similar to a misspelled word.
    static func nearest(to word: String) -> String? {
        NearestName.find(
            word, among: configuration.subcommands.compactMap { $0.configuration.commandName })
    }

    /// Returns whether the first argument selects a command instead of the syntax of `lua`.
    static func takes(_ word: String) -> Bool {
        // Composing the help of all commands takes a millisecond, which each start of a script would need.
        guard word.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }) else {
            assert(!isSubcommand(word), "the names of commands have lowercase letters only")
            return [
                "-h", "--help", "--version", "--generate-completion-script",
                "--experimental-dump-help",
            ].contains(word)
        }
        return word == "help" || isSubcommand(word)
    }

    private static func isSubcommand(_ word: String) -> Bool {
        configuration.subcommands.contains { $0.configuration.commandName == word }
    }
}

/// Wraps the help and the errors of commands at the width of the terminal.
///
///     HelpLines(columns: 60).wrapped("USAGE: moonpool export <store> <file> [--class <class>] …")
///
/// ArgumentParser wraps descriptions, but not usage lines and errors.
struct HelpLines {
    /// The width of the terminal.
    let columns: Int

    /// Creates a wrapper for lines of at most `columns` columns.
    init(columns: Int) { self.columns = columns }

    /// Creates a wrapper with the width of a terminal, or of the variable COLUMNS if it is set; 80 columns if both are
    /// missing.
    init(descriptor: Int32) {
        columns =
            ProcessServices.environment("COLUMNS").flatMap { Int($0) }
            ?? Descriptor.windowSize(descriptor)?.columns ?? 80
    }

    /// Returns the text with its long lines wrapped.
    func wrapped(_ text: String) -> String {
        let wrap = TextWrap(columns: columns)
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            guard line.count > columns else { return [String(line)] }
            let margin = String(line.prefix { $0 == " " })
            let isUsage = line.lowercased().hasPrefix(Self.usage)
            let hanging =
                margin + (isUsage ? String(repeating: " ", count: Self.usage.count) : "  ")
            return wrap.lines(
                isUsage ? Self.joiningOptions(line) : String(line.dropFirst(margin.count)),
                indent: margin, hanging: hanging
            ).map { $0.map { $0 == Self.joint ? " " : String($0) }.joined() }
        }.joined(separator: "\n")
    }

    private static let usage = "usage: "
    private static let joint: Character = "\u{A0}"

    /// Joins the words of each option in brackets, so that a line break does not split the option.
    private static func joiningOptions(_ line: Substring) -> String {
        var depth = 0
        return String(
            line.map { character -> Character in
                if character == "[" { depth += 1 }
                if character == "]" { depth -= 1 }
                return character == " " && depth > 0 ? joint : character
            })
    }
}
