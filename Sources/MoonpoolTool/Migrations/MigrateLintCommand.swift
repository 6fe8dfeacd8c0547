import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// `moonpool migrate lint STORE schema.lua`, or `lint STORE --dir DIR`.
struct MigrateLintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract:
            "Report what a change of the schema, or the pending migrations, would lose or break.",
        discussion: """
            With a schema script it looks at the data: values and objects that would be lost, values that a new type cannot \
            express, required properties without values, objects that would share a key. With --dir it compiles and \
            rehearses the pending migrations on a copy. The exit code is 0 without findings, 1 with findings, 2 for an \
            error, and 3 if --fail-on refuses a migration.
            """)

    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(
        help: "A script that returns the wanted schema.",
        completion: .file(extensions: ["lua"]))
    var schema: String?

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String?

    @OptionGroup var gate: MigrationGate
    @OptionGroup var output: FindingOptions

    @Flag(help: "Report as JSON, errors too.")
    var json = false

    func validate() throws {
        guard (schema == nil) != (folder == nil) else {
            throw ValidationError("expected either a schema script or --dir DIR")
        }
    }

    func run() throws {
        let command = self
        MigrationSession.run(json: json, failure: 2) { context in
            if let folder = command.folder { return try command.lint(folder, context) }
            return try command.lint(context)
        }
    }

    private func lint(_ context: ScriptContext) throws -> MigrationSession.Result {
        let planning = MigrationPlanning(context.storeModule)
        let schema = try planning.schema(inFile: self.schema ?? "")
        let findings = try planning.lint(store: store, schema: schema)
        let code: Int32 = findings.elements.isEmpty ? 0 : 1
        if let format = output.format {
            let list = try planning.findings(store: store, schema: schema).map {
                MigrationFinding(data: $0, schemaPath: self.schema)
            }
            return .init(
                report: .null,
                lines: [format.text(list, suite: "migrate lint \(store)", passed: [])],
                exitCode: code, isFormatted: true)
        }
        return .init(
            report: .members(["findings": findings]), lines: MigrationText.findings(findings),
            exitCode: code)
    }

    private func lint(
        _ folder: String, _ context: ScriptContext
    ) throws -> MigrationSession.Result {
        let runner = MigrationRunner(
            context.storeModule, store: store, directory: try MigrationDirectory(folder))
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

/// `moonpool migrate test DIR`.
struct MigrateTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Test the migrations of a folder with the fixtures beside them.",
        discussion: """
            0002_name_test.lua returns { before = function(store) … end, after = function(store) … end }, or an array of \
            such tables: before fills a store in memory that has been through the earlier migrations, after asserts on the \
            outcome of up, and down on the outcome of down. A down function is tested wherever there is one. The exit code \
            is 1 if a test fails.
            """)

    @Argument(help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @OptionGroup var output: FindingOptions

    @Flag(help: "Report as JSON, errors too.")
    var json = false

    func run() throws {
        let (folder, format) = (folder, output.format)
        MigrationSession.run(json: json) { context in
            let run = MigrationTestRun(
                context.storeModule, directory: try MigrationDirectory(folder))
            let outcomes = try run.run()
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
