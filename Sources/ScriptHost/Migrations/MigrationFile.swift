import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// A numbered migration as it lies in a folder: `0002_split_names.lua`.
package struct MigrationFile: Sendable {
    /// Its number, which is the schema version that it leads to.
    package let number: Int
    /// The name without number and ending.
    package let name: String
    /// Where it lies.
    package let path: String
    /// What its source comes to, but for comments and white space.
    package let checksum: String
    let source: [UInt8]

    /// The name of the file.
    package var fileName: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// What tells an interrupted run of this very migration.
    var resumeKey: String { "\(number) \(checksum)" }

    /// Where its tests lie, if there are any: `0002_split_names_test.lua`.
    package var testPath: String { String(path.dropLast(4)) + "_test.lua" }
}

/// A migration that was read: the whole schema after it, and its functions.
struct MigrationScript {
    let file: MigrationFile
    let schema: [ClassSchema]
    /// The schema as the file has it, which knows the functions that are defaults.
    let declared: LuaTable
    let up: LuaFunction?
    let down: LuaFunction?
}

extension MigrationFile {
    /// Runs the file, which returns its table.
    ///
    /// Throws `invalid_argument` for what is no migration, `invalid_schema`, and what the file raises.
    func load(_ module: StoreModule) throws -> MigrationScript {
        let table = try Self.table(
            source, path, module, "{ schema = { … }, up = function(m) … end, down = … }")
        let known = ["schema", "up", "down"]
        for (key, _) in table.pairs {
            guard let name = key.text, known.contains(name) else {
                let shown = key.text ?? "a \(key.typeName)"
                throw StoreError(
                    .invalidArgument,
                    "'\(path)': unknown key '\(shown)'" + NearestName.hint(for: shown, among: known)
                )
            }
        }
        guard let schema = table["schema"].table else {
            throw StoreError(
                .invalidArgument,
                "'\(path)': 'schema' must be the whole schema after the migration, a table")
        }
        for name in ["up", "down"] where !table[name].isNil && table[name].function == nil {
            throw StoreError(
                .invalidArgument,
                "'\(path)': '\(name)' must be a function, got a \(table[name].typeName)")
        }
        do {
            return MigrationScript(
                file: self, schema: try module.classes(in: schema), declared: schema,
                up: table["up"].function, down: table["down"].function)
        } catch let error as StoreError {
            throw StoreError(error.code, "'\(path)': \(error.message)")
        }
    }

    /// What is in a script of a migration or of its tests, or in another; the error calls it `name`, or by its path.
    static func source(
        of path: String, called name: String? = nil
    ) throws(StoreError) -> [UInt8] {
        do {
            return try ProcessServices.readWhole(path, limit: 16 << 20)
        } catch {
            throw StoreError(
                .invalidArgument, "\(name ?? "'\(path)'") cannot be read: \(error.reason)")
        }
    }

    /// The table that a file returns.
    static func table(
        _ source: [UInt8], _ path: String, _ module: StoreModule, _ form: String
    ) throws -> LuaTable {
        let chunk = try module.state.load(LuaString(bytes: source), name: "@\(path)")
        guard let table = try chunk.call().table else {
            throw StoreError(.invalidArgument, "'\(path)' must return \(form)")
        }
        return table
    }
}
