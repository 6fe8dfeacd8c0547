import ArgumentParser
import DataFormats
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// The store and the schema script that `plan` and `lint` compare.
struct SchemaPlace: ParsableArguments {
    @Argument(help: "The store.", completion: .file(extensions: ["moonpool"]))
    var store: String

    @Argument(
        help: "A script that returns the schema that is wanted.",
        completion: .file(extensions: ["lua"]))
    var schema: String

    @Flag(help: "Report as JSON, errors too.")
    var json = false
}

/// `moonpool migrate plan STORE schema.lua`.
struct MigratePlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Write the difference to a schema as a migration script that is ready to edit.",
        discussion: """
            What may have been renamed is asked about at a terminal; elsewhere it counts as renamed, so that nothing is \
            lost, and the script marks it.
            """)

    @Argument(
        help: "The store, or with --dir a Realm file.",
        completion: .file(extensions: ["moonpool", "realm"]))
    var store: String

    @Argument(
        help: "A script that returns the schema that is wanted.",
        completion: .file(extensions: ["lua"]))
    var schema: String?

    @Flag(help: "Report as JSON, errors too.")
    var json = false

    @Option(help: "The script's file, which must not exist; otherwise standard output.")
    var output: String?

    @Option(
        help: "Write the schema of a Realm file as the first migration of this folder.",
        completion: .directory)
    var dir: String?

    @OptionGroup var realm: RealmOptionGroup

    func validate() throws {
        guard (schema == nil) == (dir != nil) else {
            throw ValidationError(
                "name a schema script, or a folder with --dir for the schema of a Realm file")
        }
    }

    func run() throws {
        if let dir {
            let (store, realm, json) = (store, realm.options, json)
            MigrationSession.run(json: json) { _ in
                let path = try RealmMigration.write(store, realm, in: dir)
                return .init(
                    report: .members(["file": .text(path)]), lines: ["\(store) → \(path)"])
            }
        }
        let place = (store: store, schema: schema ?? "", json: json)
        let output = output
        let asks = !place.json && ProcessServices.isTerminal(0) && ProcessServices.isTerminal(2)
        MigrationSession.run(json: place.json) { context in
            if let output, ProcessServices.size(of: output) != nil {
                throw StoreError(.invalidArgument, "'\(output)' exists already")
            }
            let module = context.storeModule
            let script = try MigrationModule.plan(
                module, store: place.store,
                schema: MigrationModule.schema(module, inFile: place.schema)
            ) { candidate in
                asks ? try Self.ask(candidate.question, context) : .unasked
            }
            if let output {
                let file = try FileWriter(output)
                try file.write(script)
                try file.finish()
            }
            return .init(
                report: .members([
                    "script": .text(script), "file": output.map(ReportValue.text) ?? .null,
                ]),
                lines: [
                    output.map { "\(place.store), \(place.schema) → \($0)" }
                        ?? String(script.dropLast())
                ])
        }
    }

    /// Asks until the answer can be understood; whoever ends the input is not asked again.
    private static func ask(
        _ question: String, _ context: ScriptContext
    ) throws -> SchemaPlan.Answer {
        while true {
            ProcessServices.writeError("\(question) [y/n] ")
            guard let line = try context.state.run("return io.read 'l'").first?.text else {
                ProcessServices.writeError("\n")
                return .unasked
            }
            switch line.lowercased() {
            case "y", "yes": return .yes
            case "n", "no": return .no
            default: continue
            }
        }
    }
}

/// `moonpool migrate lint STORE schema.lua`.
struct MigrateLintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lint",
        abstract: "Tell what a change to a schema would lose or break, on which objects.",
        discussion: """
            Looks at the data: values and objects that would be lost, values that a new type cannot express, required \
            properties without values, keys that objects would share. The exit code is 0 if nothing was found, 1 if \
            anything was, 2 for an error.
            """)

    @OptionGroup var place: SchemaPlace

    func run() throws {
        let place = place
        MigrationSession.run(json: place.json, failure: 2) { context in
            let module = context.storeModule
            let findings = try MigrationModule.lint(
                module, store: place.store,
                schema: MigrationModule.schema(module, inFile: place.schema))
            return .init(
                report: .members(["findings": findings]), lines: MigrationText.findings(findings),
                exitCode: findings.elements.isEmpty ? 0 : 1)
        }
    }
}

/// `moonpool migrate test DIR`.
struct MigrateTestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Test the migrations of a folder with the fixtures beside them.",
        discussion: """
            0002_name_test.lua returns { before = function(store) … end, after = function(store) … end }, or an array of \
            such tables: before fills a store in memory that has been through the earlier migrations, after asserts on what \
            up has made of it, and down on what down has made of that. The exit code is 1 if a test fails.
            """)

    @Argument(help: "The folder of the migrations.", completion: .directory)
    var folder: String

    @Flag(help: "Report as JSON, errors too.")
    var json = false

    func run() throws {
        let folder = folder
        MigrationSession.run(json: json) { context in
            let run = MigrationTestRun(
                context.storeModule, directory: try MigrationDirectory(folder))
            let outcomes = try run.run()
            return .init(
                report: MigrationTestRun.report(outcomes),
                lines: MigrationTestRun.lines(outcomes),
                exitCode: outcomes.allSatisfy { $0.message == nil } ? 0 : 1)
        }
    }
}
