import LuaHost
import ObjectStore
import StoreBindings

/// The result of running a migration file: its schema, its functions, and the data that it may lose.
struct MigrationScript {
    let file: MigrationFile
    /// The complete schema after the migration.
    let schema: [ClassSchema]
    /// The schema or the changes as declared in the file, including default functions.
    let declared: LuaTable
    let up: LuaFunction?
    let down: LuaFunction?
    /// The data that `up` may lose: `Class.property`, or the name of a class.
    let drops: Set<String>
    /// The data that `down` may lose, in addition to the data that `up` has added.
    let downDrops: Set<String>

    static let form = "{ schema = { … }, up = function(m) … end, down = … }"
    static let keys = [
        "schema", "changes", "drops", "down_drops", "up", "down", "parent", "merged_from",
        "squashes", "adopts",
    ]

    /// Interprets the table of a file; `base` is the schema of the previous migration.
    ///
    /// Throws `invalid_argument` for a table that is not a migration, and `invalid_schema`.
    init(
        _ file: MigrationFile, _ table: LuaTable, on base: [ClassSchema], _ module: StoreModule
    ) throws {
        self.file = file
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidArgument, "'\(file.path)': \(what)")
        }
        for (key, _) in table.pairs {
            guard let name = key.text, Self.keys.contains(name) else {
                let shown = key.text ?? "a \(key.typeName)"
                throw invalid(
                    "unknown key '\(shown)'" + NearestName.hint(for: shown, among: Self.keys))
            }
        }
        for name in ["up", "down"] where !table[name].isNil && table[name].function == nil {
            throw invalid("expected '\(name)' to be a function, got a \(table[name].typeName)")
        }
        up = table["up"].function
        down = table["down"].function
        drops = try Self.qualifiedNames(table, "drops", file)
        downDrops = try Self.qualifiedNames(table, "down_drops", file)
        do {
            switch (table["schema"].table, table["changes"].table) {
            case (let whole?, nil):
                declared = whole
                schema = try module.classes(in: whole)
            case (nil, let changes?):
                declared = changes
                schema = SchemaDelta.schema(
                    base, changing: try module.classes(in: changes), dropping: drops)
            default:
                throw StoreError(
                    .invalidArgument,
                    "expected either 'schema', the whole schema after the migration, or 'changes', the "
                        + "changes to the previous schema; each is a table")
            }
            try checkDrops()
            _ = try Schema.planned(schema)
        } catch let error as StoreError {
            throw error.at("'\(file.path)'")
        }
    }

    private static func qualifiedNames(
        _ table: LuaTable, _ name: String, _ file: MigrationFile
    ) throws -> Set<String> {
        if table[name].isNil { return [] }
        guard let list = table[name].table, list.pairs.count == list.count,
            list.array.allSatisfy({ $0.text != nil })
        else {
            throw StoreError(
                .invalidArgument,
                "'\(file.path)': expected '\(name)' to be an array of names such as "
                    + "{ \"Person.phone\", \"Toy\" }")
        }
        return Set(list.array.compactMap(\.text))
    }

    /// Throws `invalid_schema` for a class in `drops` that is still in the schema.
    private func checkDrops() throws {
        for classSchema in schema where drops.contains(classSchema.name) {
            throw StoreError(
                .invalidSchema,
                "drops contains class '\(classSchema.name)', which the schema still declares")
        }
    }

    /// Returns the table that a file returns.
    static func table(
        _ source: [UInt8], path: String, _ module: StoreModule, form: String
    ) throws -> LuaTable {
        let chunk = try module.state.load(LuaString(bytes: source), name: "@\(path)")
        guard let table = try chunk.call().table else {
            throw StoreError(.invalidArgument, "expected '\(path)' to return \(form)")
        }
        return table
    }
}
