import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
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

    func run() throws {
        var linter = Linter(globals: Set(globals))
        var found: [(script: String, findings: [LintFinding])] = []
        do {
            if let store {
                let opened = try CommandStore.open(store, isReadOnly: true)
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
