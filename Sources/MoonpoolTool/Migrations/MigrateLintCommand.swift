import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// The command `moonpool migrate lint STORE schema.lua`, or `moonpool migrate lint STORE --dir DIR`.
struct MigrateLintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract:
            "Report data that a schema change or the pending migrations would lose or break.",
        discussion: """
            With a schema script, checks the data: lost values and objects, values that do not fit a new type, required \
            properties without values, duplicate keys. With --dir, compiles the pending migrations and applies them to a \
            copy. The exit code is 0 without findings, 1 with findings, 2 after an error, and 3 if --fail-on rejects a \
            migration.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(
        help: "A script that returns the new schema.",
        completion: .file(extensions: ["lua"]))
    var schema: String?

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String?

    @OptionGroup var gate: MigrationGate
    @OptionGroup var output: FindingOptions

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func validate() throws {
        guard (schema == nil) != (folder == nil) else {
            throw ValidationError("expected either a schema script or --dir DIR")
        }
    }

    func run() throws {
        let command = self
        MigrationSession.perform(json: json, failure: 2, format: output.format) { context in
            if let folder = command.folder { return try command.lint(folder, context) }
            return try command.lint(context)
        }
    }

    private func lint(_ context: ScriptContext) throws -> MigrationSession.Result {
        let planning = MigrationPlanning(context.storeModule)
        let schema = try planning.schema(inFile: self.schema ?? "")
        let findings = try planning.findings(store: store, schema: schema)
        let code: Int32 = findings.isEmpty ? 0 : 1
        if let format = output.format {
            let list = findings.map { MigrationFinding(data: $0, schemaPath: self.schema) }
            return .init(
                report: .null,
                lines: [format.text(list, suite: "migrate lint \(store)", passed: [])],
                exitCode: code, isFormatted: true)
        }
        return .init(
            report: .members(["findings": MigrationPlanning.value(findings)]),
            lines: MigrationText.findings(findings),
            exitCode: code)
    }

    private func lint(
        _ folder: String, _ context: ScriptContext
    ) throws -> MigrationSession.Result {
        let runner = MigrationRunner(
            context.storeModule, store: store,
            directory: try MigrationDirectory(folder, context.storeModule))
        let (state, found, rehearsal) = try runner.check()
        let gated = rehearsal.map { MigrationFinding.gated($0, gate.kinds) } ?? []
        let findings = found + gated
        let code: Int32 = state.problems.isEmpty ? gated.isEmpty ? 0 : 3 : 1
        let format = output.format ?? .text
        return .init(
            report: .members(["findings": .array(findings.map(\.value))]),
            lines: [format.text(findings, suite: "migrate lint \(store)", passed: [])],
            exitCode: code, isFormatted: output.format != nil)
    }
}

/// The command `moonpool migrate test DIR`.
struct MigrateTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run the tests of the migrations in a folder.",
        discussion: """
            A test file such as 0002_name_test.lua returns { before = function(store) … end, after = function(store) … \
            end }, or an array of such tables. before fills an in-memory store with the schema of the earlier migrations, \
            after checks the result of up, and down checks the result of down. Every down function is tested. The exit code \
            is 1 if a test fails.
            """)

    @Argument(help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @OptionGroup var output: FindingOptions

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func run() throws {
        let (folder, format) = (folder, output.format)
        MigrationSession.perform(json: json, format: format) { context in
            let run = MigrationTestRun(
                context.storeModule, directory: try MigrationDirectory(folder, context.storeModule))
            let outcomes = try run.outcomes()
            let code: Int32 = outcomes.allSatisfy { $0.message == nil } ? 0 : 1
            if let format, format != .text {
                return .init(
                    report: .null,
                    lines: [
                        format.text(
                            outcomes.compactMap(\.finding), suite: "migrate test \(folder)",
                            passed: outcomes.filter { $0.message == nil && $0.skipped == nil }
                                .map(\.title))
                    ], exitCode: code, isFormatted: true)
            }
            return .init(
                report: MigrationTestRun.report(outcomes),
                lines: MigrationTestRun.lines(outcomes), exitCode: code)
        }
    }
}
