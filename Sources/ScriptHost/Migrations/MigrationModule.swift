import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// The functions of `moonpool.migrate`, which do what the command `moonpool migrate` does.
package enum MigrationModule {
    /// Gives a script the table `moonpool.migrate`.
    static func install(in context: ScriptContext) {
        let module = context.storeModule
        let table = context.state.makeTable(fields: 9)
        func add(
            _ name: String,
            _ body: @escaping (StoreModule, borrowing LuaCall) throws -> ReportValue
        ) {
            table[name] = .function(
                context.state.makeFunction("migrate.\(name)") { [weak module] call in
                    guard let module else { throw StoreError(.closed, "the script has ended") }
                    return call.answer(try body(module, call).lua(call.state))
                })
        }
        add("plan") { module, call in
            .text(
                try plan(module, store: call.storePath(1), schema: call.table(2)) { _ in .unasked })
        }
        add("lint") { module, call in
            try lint(module, store: call.storePath(1), schema: call.table(2))
        }
        add("status") { module, call in try runner(module, call, []).runner.state().report }
        add("check") { module, call in
            .int(Int64(try runner(module, call, []).runner.state().code))
        }
        add("up") { module, call in
            let (runner, options) = try runner(module, call, ["to", "dry_run", "backup"])
            let target = try target(options, call)
            if try flag("dry_run", options, call) == true { return try runner.dryRun(to: target) }
            return try runner.up(to: target, backup: backup(options, call))
        }
        add("down") { module, call in
            let (runner, options) = try runner(module, call, ["backup"])
            return try runner.down(backup: backup(options, call))
        }
        add("undo") { module, call in try runner(module, call, []).runner.undo() }
        add("baseline") { module, call in
            let (runner, options) = try runner(module, call, ["to"])
            return try runner.baseline(to: target(options, call))
        }
        add("test") { module, call in
            let run = MigrationTestRun(module, directory: try MigrationDirectory(call.text(1)))
            return MigrationTestRun.report(try run.run())
        }
        context.module["migrate"] = .table(table)
    }

    private static func runner(
        _ module: StoreModule, _ call: borrowing LuaCall, _ known: [String]
    ) throws -> (runner: MigrationRunner, options: LuaTable) {
        let store = try call.storePath(1)
        guard let options = try call.options(2, ["dir"] + known) else {
            throw call.typeError(2, "table of options")
        }
        guard let folder = options["dir"].text else {
            throw call.argumentError(2, "option 'dir' must name the folder of the migrations")
        }
        return (
            MigrationRunner(module, store: store, directory: try MigrationDirectory(folder)),
            options
        )
    }

    private static func target(_ options: LuaTable, _ call: borrowing LuaCall) throws -> Int? {
        if options["to"].isNil { return nil }
        guard let number = options["to"].integer else {
            throw call.argumentError(2, "option 'to' must be the number of a migration")
        }
        return Int(clamping: number)
    }

    private static func flag(
        _ name: String, _ options: LuaTable, _ call: borrowing LuaCall
    ) throws -> Bool? {
        if options[name].isNil { return nil }
        guard let flag = options[name].boolean else {
            throw call.argumentError(2, "option '\(name)' must be true or false")
        }
        return flag
    }

    private static func backup(
        _ options: LuaTable, _ call: borrowing LuaCall
    ) throws -> MigrationRunner.Backup {
        .init(try flag("backup", options, call))
    }

    /// The difference between a store and a schema, as a migration script; `answer` is asked about
    /// each probable renaming.
    package static func plan(
        _ module: StoreModule, store: String, schema: LuaTable,
        answer: (SchemaPlan.Candidate) throws -> SchemaPlan.Answer
    ) throws -> String {
        let classes = try module.classes(in: schema)
        // A script for a schema that no store can have would fail when it is applied.
        _ = try Schema.planned(classes)
        return try withExisting(module, store) { handle in
            try SchemaPlan(from: handle.store.schema, to: classes, answer: answer)
                .script(for: store)
        }
    }

    /// What a change to a schema would lose or break in a store.
    package static func lint(
        _ module: StoreModule, store: String, schema: LuaTable
    ) throws -> ReportValue {
        let classes = try module.classes(in: schema)
        return try withExisting(module, store) { handle in
            .array(
                try SchemaLint.findings(in: handle.store, for: classes).map { finding in
                    .members([
                        "rule": .text(finding.rule.rawValue), "place": .text(finding.place),
                        "message": .text(finding.message), "count": .count(finding.count),
                        "objects": .texts(finding.objects),
                    ])
                })
        }
    }

    /// The schema that a script returns.
    ///
    /// Throws `invalid_argument` for a file that cannot be read or returns no table, and what it raises.
    package static func schema(_ module: StoreModule, inFile path: String) throws -> LuaTable {
        let source = try MigrationFile.source(of: path, called: "the schema script '\(path)'")
        return try MigrationFile.table(
            source, path, module, "a schema, such as { Dog = { name = \"string\" } }")
    }

    private static func withExisting<Result>(
        _ module: StoreModule, _ store: String, _ body: (StoreHandle) throws -> Result
    ) throws -> Result {
        guard ProcessServices.size(of: store) ?? 0 > 0 else {
            throw StoreError(.invalidArgument, "there is no store '\(store)'")
        }
        return try module.withStore(
            StoreConfiguration(.file(store), isReadOnly: true), body)
    }
}
