import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import REPL
import Reference
import SystemCalls

/// The command `moonpool lint script.lua …`.
struct LintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Find errors in scripts without running them.",
        discussion: """
            Reports syntax errors, unknown globals, and misspelled functions and methods if the type of the receiver is \
            known. With a schema (declared in the script, or from --store) it also reports unknown classes and properties \
            and invalid predicates. The exit code is 0 without findings, 1 with findings, and 2 if a file cannot be read.
            """)

    @Argument(help: "The scripts.", completion: .file(extensions: ["lua"]))
    var scripts: [String]

    @Option(
        help: "Check against the schema of this store.",
        completion: .file(extensions: ["moonpool"]))
    var store: String?

    @Option(
        name: .customLong("global"), help: "A global that is defined elsewhere. Repeatable.")
    var globals: [String] = []

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var version: SchemaVersionOption

    func run() throws {
        var linter = Linter(globals: Set(globals))
        var found: [(script: String, findings: [LintFinding])] = []
        do {
            if let store {
                let opened = try CommandStore.open(store, isReadOnly: true, version)
                linter.schema = opened.schema
                linter.storePath = store
                opened.close()
            }
            for script in scripts {
                let source = try Self.source(of: script)
                found.append((script, linter.findings(in: source)))
            }
        } catch let error as StoreError {
            ProcessServices.writeError("moonpool: \(error.message)\n")
            throw ExitCode(2)
        }
        ProcessServices.writeOutput(json ? Self.json(found) : Self.text(found))
        if found.contains(where: { !$0.findings.isEmpty }) { throw ExitCode(1) }
    }

    private static func source(of script: String) throws(StoreError) -> String {
        do {
            return String(decoding: try ProcessServices.readWhole(script), as: UTF8.self)
        } catch {
            throw StoreError(.invalidArgument, "cannot read '\(script)': \(error.reason)")
        }
    }

    /// Returns the findings with one line for each: `script.lua:12:8: message`.
    private static func text(_ found: [(script: String, findings: [LintFinding])]) -> String {
        found.flatMap { script, findings in
            findings.map { "\(script):\($0.line):\($0.column): \($0.message)\n" }
        }.joined()
    }

    private static func json(_ found: [(script: String, findings: [LintFinding])]) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.member("scripts", found.count)
        json.key("findings")
        json.beginArray()
        for (script, findings) in found {
            for finding in findings {
                json.beginObject()
                json.member("script", script)
                json.member("line", finding.line)
                json.member("column", finding.column)
                json.member("rule", finding.rule.rawValue)
                json.member("message", finding.message)
                json.endObject()
            }
        }
        json.endArray()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self) + "\n"
    }
}

/// The command `moonpool luals [STORE]`.
struct AnnotationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "luals",
        abstract: "Write LuaLS annotations for completion and checks in editors.",
        discussion: """
            Writes the API to moonpool.lua and, if a store is given, its classes to NAME-classes.lua. Add the folder to the \
            workspace.library setting of the language server. Without --output, the annotations go to standard output.
            """)

    @Argument(
        help: "A store whose classes are included.",
        completion: .file(extensions: ["moonpool"]))
    var store: String?

    @Option(
        help: "The folder for the files. It is created if it does not exist.",
        completion: .directory)
    var output: String?

    @OptionGroup var version: SchemaVersionOption

    func run() throws {
        try CommandFailure.shown {
            var classes: String?
            if let store {
                let opened = try CommandStore.open(store, isReadOnly: true, version)
                defer { opened.close() }
                classes = SchemaDocument(opened.schema).text(as: .luals)
            }
            guard let output else {
                ProcessServices.writeOutput(LuaLSAnnotations.api)
                if let classes { ProcessServices.writeOutput("\n" + classes) }
                return
            }
            if let message = ProcessServices.makeFolder(output) {
                throw StoreError(
                    .invalidArgument, "cannot create the folder '\(output)': \(message)")
            }
            try write(LuaLSAnnotations.api, to: "\(output)/moonpool.lua")
            if let store, let classes {
                try write(classes, to: "\(output)/\(Self.name(of: store))-classes.lua")
            }
        }
    }

    private func write(_ text: String, to path: String) throws {
        let file = try FileWriter(path)
        try file.write(Array(text.utf8))
        try file.finish()
        ProcessServices.writeOutput("\(path)\n")
    }

    /// Returns the file name of a store, without folder and extension.
    private static func name(of store: String) -> String {
        let file = store.split(separator: "/").last.map(String.init) ?? store
        return file.hasSuffix(".moonpool") ? String(file.dropLast(".moonpool".count)) : file
    }
}

/// The command `moonpool transcript FILE …`.
struct TranscriptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transcript",
        abstract: "Replay recorded sessions and compare their output.",
        discussion: """
            Record a session with .transcript FILE at the prompt. Each file runs on a new in-memory store. In the recorded \
            output, … matches any text within a line, and a line ... matches any lines. The exit code is 1 if the output \
            differs.
            """)

    @Argument(help: "The recorded sessions.", completion: .file())
    var files: [String]

    @Option(help: "Seconds to wait for the output of observers and timers.")
    var patience: Double = 10

    func validate() throws {
        guard patience >= 0, patience <= 1e6 else {
            throw ValidationError(
                "expected --patience from 0 to 1,000,000 seconds, got \(patience)")
        }
    }

    func run() throws {
        guard let player = TranscriptPlayer(patience: .seconds(patience)) else {
            ProcessServices.writeError("moonpool: too many open files\n")
            throw ExitCode(1)
        }
        var hasFailed = false
        for file in files {
            let bytes: [UInt8]
            do {
                bytes = try ProcessServices.readWhole(file)
            } catch {
                ProcessServices.writeError("moonpool: cannot read \(file): \(error.reason)\n")
                throw ExitCode(1)
            }
            let outcome = try player.play(String(decoding: bytes, as: UTF8.self))
            for difference in outcome.differences {
                ProcessServices.writeOutput("\(file):\(difference.line):\n\(difference.text)")
            }
            let different = outcome.differences.count
            hasFailed = hasFailed || different > 0 || outcome.steps == 0
            let result =
                outcome.steps == 0
                ? "no entries found" : "\(outcome.steps) entries, \(different) different"
            ProcessServices.writeOutput("\(file): \(result)\n")
        }
        if hasFailed { throw ExitCode(1) }
    }
}
