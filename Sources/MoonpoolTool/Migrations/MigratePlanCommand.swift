import ArgumentParser
import EventLoops
import ObjectStore
import ScriptHost
import StoreBindings

/// The command `moonpool migrate plan [STORE] schema.lua`.
struct MigratePlanCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan",
        abstract: "Write the difference to a schema as an editable migration script.",
        discussion: """
            plan STORE schema.lua compares a store with the schema and writes the script to standard output or --output. \
            plan --dir DIR schema.lua compares the last migration of a folder with the schema, without a store, and writes \
            the next numbered file with only the changed classes. At a terminal, the command asks about probable renames. \
            Without a terminal, it marks them in the script: it performs a rename without an alternative, and otherwise \
            writes a script that fails until a rename is chosen. plan \
            --dir DIR FILE.realm writes the schema of a Realm file as the first migration.
            """)

    @Argument(
        help: """
            The store (not with --dir), and a script that returns the new schema. With --dir, also a \
            Realm file.
            """,
        completion: .file(extensions: ["moonpool", "realm", "lua"]))
    var arguments: [String] = []

    @Option(name: .customLong("dir"), help: "The folder of the migrations.", completion: .directory)
    var folder: String?

    @Option(help: "With --dir: a description for the file name.")
    var name: String?

    @Option(help: "The file of the script, which must not exist. Default: standard output.")
    var output: String?

    @OptionGroup var realm: RealmOptionGroup

    @Flag(help: "Report as JSON, including errors.")
    var json = false

    func validate() throws {
        if folder == nil, arguments.count != 2 {
            throw ValidationError("expected a store and a schema script: plan STORE schema.lua")
        }
        if folder != nil, arguments.count != 1 {
            throw ValidationError("expected a schema script: plan --dir DIR schema.lua")
        }
        if folder == nil, name != nil { throw ValidationError("--name needs --dir") }
        if let name,
            name.isEmpty
                || name.contains(where: {
                    !$0.isASCII || !($0.isLetter || $0.isNumber || $0 == "_")
                })
        {
            throw ValidationError("--name: expected letters, digits and _, got '\(name)'")
        }
    }

    func run() throws {
        let command = self
        let asks = !json && ProcessServices.isTerminal(0) && ProcessServices.isTerminal(2)
        MigrationSession.perform(json: json) { context in
            if try command.realm.isRealm(command.arguments[0]), let folder = command.folder {
                let file = command.arguments[0]
                let path = try RealmMigration.write(file, command.realm.options, in: folder)
                return .init(
                    report: .members(["file": .text(path)]), lines: ["\(file) → \(path)"])
            }
            let planning = MigrationPlanning(context.storeModule)
            func answer(_ candidate: SchemaPlan.Candidate) throws -> SchemaPlan.Answer {
                asks ? try Self.ask(candidate.question, context) : .unasked
            }
            if let folder = command.folder {
                let schema = try planning.schema(inFile: command.arguments[0])
                let next = try planning.plan(
                    directory: folder, schema: schema, name: command.name, answer: answer)
                guard !next.isEmpty else {
                    return .init(
                        report: .members(["script": .null, "file": .null]),
                        lines: ["the folder already leads to this schema"])
                }
                return try command.write(
                    next.text, to: command.output ?? "\(folder)/\(next.fileName)")
            }
            let script = try planning.plan(
                store: command.arguments[0], schema: planning.schema(inFile: command.arguments[1]),
                answer: answer)
            return try command.write(script, to: command.output)
        }
    }

    private func write(_ script: String, to output: String?) throws -> MigrationSession.Result {
        if let output {
            guard ProcessServices.size(of: output) == nil else {
                throw StoreError(.invalidArgument, "'\(output)' already exists")
            }
            try MigrationFolderEdit.create(output, script)
        }
        return .init(
            report: .members([
                "script": .text(script), "file": output.map(ReportValue.text) ?? .null,
            ]),
            lines: [
                output.map { "\(arguments.joined(separator: ", ")) → \($0)" }
                    ?? String(script.dropLast())
            ])
    }

    /// Asks until the answer is valid; asks no more questions after the end of the input.
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
