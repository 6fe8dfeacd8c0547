import ArgumentParser
import LuaHost
import ScriptHost

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
        let (file, folder, realm) = (arguments[0], folder, realm)
        MigrationSession.perform(
            "plan",
            .init(
                [
                    "dir": .optional(folder), "name": .optional(name), "output": .optional(output),
                    "json": .boolean(json),
                ], list: arguments)
        ) { host in
            // Writes the schema of a Realm file as the first migration; returns nil for another file.
            host.add("write_realm") { _, _ in
                guard try realm.isRealm(file), let folder else { return .nil }
                return .text(try RealmMigration.write(file, realm.options, in: folder))
            }
        }
    }
}
