import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// Compares a store, or a folder of migrations, with a target schema.
package struct MigrationPlanning {
    private let module: StoreModule

    /// Creates comparisons with the stores and scripts of one Lua state.
    package init(_ module: StoreModule) { self.module = module }

    /// Returns the difference between a store and a schema as a migration script; `answer` decides about each probable
    /// rename.
    ///
    /// Throws `invalid_argument` if the store does not exist, `invalid_schema`, and the errors of `answer`.
    package func plan(
        store: String, schema: LuaTable,
        answer: (SchemaPlan.Candidate) throws -> SchemaPlan.Answer
    ) throws -> String {
        let classes = try classes(schema)
        let borrowed = try borrow(store)
        defer { borrowed.end() }
        return try SchemaPlan(from: borrowed.store.schema.classes, to: classes, answer: answer)
            .script(for: store, to: .output)
    }

    /// Returns the name and the text of the next file of a folder.
    ///
    /// The schema is compared with that of the last migration. `name` is the name of the migration; by default, it is
    /// derived from the changes.
    package func plan(
        directory path: String, schema: LuaTable, name: String?,
        answer: (SchemaPlan.Candidate) throws -> SchemaPlan.Answer
    ) throws -> (fileName: String, text: String, isEmpty: Bool) {
        let classes = try classes(schema)
        let listing = try MigrationListing(path, module)
        guard !listing.files.isEmpty else {
            let plan = try SchemaPlan(from: [], to: classes, answer: answer)
            return (
                "0001_\(name ?? "start").lua", plan.script(for: path, to: .firstFile),
                classes.isEmpty
            )
        }
        let directory = try MigrationDirectory(path, module)
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

    /// Returns the text of the first migration of a folder, with the schema of a store.
    package func initialScript(ofStore store: String) throws -> (text: String, version: UInt64) {
        let borrowed = try borrow(store)
        defer { borrowed.end() }
        let schema = borrowed.store.schema
        if let last = try borrowed.store.migrationLog().entries.last {
            throw StoreError(
                .invalidArgument,
                "'\(store)' already records migrations, the last one is \(last.number) (\(last.name)); use their folder"
            )
        }
        let plan = try SchemaPlan(from: [], to: schema.classes, answer: { _ in .no })
        return (plan.script(for: store, to: .firstFile), schema.version)
    }

    /// Returns findings for scripts and for `--json`.
    package static func value(_ findings: [SchemaLint.Finding]) -> ReportValue {
        .array(
            findings.map { finding in
                .members([
                    "rule": .text(finding.rule.rawValue), "name": .text(finding.qualifiedName),
                    "message": .text(finding.message), "count": .count(finding.count),
                    "objects": .texts(finding.objects),
                ])
            })
    }

    /// Returns the data losses and errors that changing the schema of a store would cause.
    package func findings(store: String, schema: LuaTable) throws -> [SchemaLint.Finding] {
        let classes = try module.classes(in: schema)
        let borrowed = try borrow(store)
        defer { borrowed.end() }
        return try SchemaLint.findings(in: borrowed.store, for: classes)
    }

    /// Returns the schema that a script returns.
    ///
    /// Throws `invalid_argument` for a file that cannot be read or does not return a table, and the errors of the
    /// script.
    package func schema(inFile path: String) throws -> LuaTable {
        let source = try MigrationFile.source(of: path, called: "the schema script '\(path)'")
        return try MigrationScript.table(
            source, path: path, module, form: "a schema, such as { Dog = { name = \"string\" } }")
    }

    private func classes(_ schema: LuaTable) throws -> [ClassSchema] {
        let classes = try module.classes(in: schema)
        // A schema that is not valid for any store would fail only when the migration is applied.
        _ = try Schema.planned(classes)
        return classes
    }

    private func borrow(_ store: String) throws -> BorrowedStore {
        try StoreFiles.requireStore(store)
        return try module.borrow(StoreConfiguration(.file(store), isReadOnly: true))
    }
}
