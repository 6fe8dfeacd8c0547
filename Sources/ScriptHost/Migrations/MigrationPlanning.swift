import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// Comparisons of a store, or of a folder of migrations, with a schema that is wanted.
package struct MigrationPlanning {
    private let module: StoreModule

    /// For the stores and scripts of one Lua state.
    package init(_ module: StoreModule) { self.module = module }

    /// The difference between a store and a schema as a migration script; `answer` decides about each probable rename.
    ///
    /// Throws `invalid_argument` if there is no such store, `invalid_schema`, and what `answer` throws.
    package func plan(
        store: String, schema: LuaTable,
        answer: (SchemaPlan.Candidate) throws -> SchemaPlan.Answer
    ) throws -> String {
        let classes = try classes(schema)
        return try withExisting(store) { handle in
            try SchemaPlan(from: handle.store.schema.classes, to: classes, answer: answer)
                .script(for: store, to: .output)
        }
    }

    /// The next file of a folder: its name and its text.
    ///
    /// Compares with the schema of the last migration; `name` says what the migration does, otherwise the changes do.
    package func plan(
        directory path: String, schema: LuaTable, name: String?,
        answer: (SchemaPlan.Candidate) throws -> SchemaPlan.Answer
    ) throws -> (fileName: String, text: String, isEmpty: Bool) {
        let classes = try classes(schema)
        let listing = try MigrationListing(path)
        guard !listing.files.isEmpty else {
            let plan = try SchemaPlan(from: [], to: classes, answer: answer)
            return (
                "0001_\(name ?? "start").lua", plan.script(for: path, to: .firstFile),
                classes.isEmpty
            )
        }
        let directory = try MigrationDirectory(path)
        let last = directory.files.last
        let before = try MigrationScripts(directory, module).schema(after: last)
        let plan = try SchemaPlan(from: before, to: classes, answer: answer)
        let number = (last?.number ?? 0) + 1
        let fileName = "\(MigrationState.number(number))_\(name ?? plan.suggestedName).lua"
        return (
            fileName,
            plan.script(for: path, to: .nextFile(parent: directory.identity(before: number))),
            plan.isEmpty
        )
    }

    /// The first migration of a folder: the schema that a store has.
    package func initialScript(ofStore store: String) throws -> (text: String, version: UInt64) {
        try withExisting(store) { handle in
            let schema = handle.store.schema
            return (
                try SchemaPlan(from: [], to: schema.classes, answer: { _ in .no }).script(
                    for: store, to: .firstFile),
                schema.version
            )
        }
    }

    /// Findings for scripts and for `--json`.
    package static func value(_ findings: [SchemaLint.Finding]) -> ReportValue {
        .array(
            findings.map { finding in
                .members([
                    "rule": .text(finding.rule.rawValue), "place": .text(finding.place),
                    "message": .text(finding.message), "count": .count(finding.count),
                    "objects": .texts(finding.objects),
                ])
            })
    }

    /// The losses and faults that a change to a schema would cause in a store.
    package func findings(store: String, schema: LuaTable) throws -> [SchemaLint.Finding] {
        let classes = try module.classes(in: schema)
        return try withExisting(store) { handle in
            try SchemaLint.findings(in: handle.store, for: classes)
        }
    }

    /// The schema that a script returns.
    ///
    /// Throws `invalid_argument` for a file that cannot be read or returns no table, and what it raises.
    package func schema(inFile path: String) throws -> LuaTable {
        let source = try MigrationFile.source(of: path, called: "the schema script '\(path)'")
        return try MigrationScript.table(
            source, path, module, "a schema, such as { Dog = { name = \"string\" } }")
    }

    private func classes(_ schema: LuaTable) throws -> [ClassSchema] {
        let classes = try module.classes(in: schema)
        // A script for a schema that no store can have would fail when it is applied.
        _ = try Schema.planned(classes)
        return classes
    }

    private func withExisting<Result>(
        _ store: String, _ body: (StoreHandle) throws -> Result
    ) throws -> Result {
        try StoreFiles.requireStore(store)
        return try module.withStore(
            StoreConfiguration(.file(store), isReadOnly: true), body)
    }
}
