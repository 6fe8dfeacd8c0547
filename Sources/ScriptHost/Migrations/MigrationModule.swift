import EventLoops
import LuaHost
import ObjectStore
import StoreBindings

/// The functions of `moonpool.migrate`, which correspond to the command `moonpool migrate`.
enum MigrationModule {
    /// Installs the table `moonpool.migrate` in a script.
    static func install(in context: ScriptContext) {
        let module = context.storeModule
        let table = context.state.makeTable(fields: 12)
        func add(
            _ name: String,
            _ body: @escaping (StoreModule, borrowing LuaCall) throws -> ReportValue
        ) {
            table[name] = .function(
                context.state.makeFunction(name, of: "moonpool.migrate") { [weak module] call in
                    guard let module else { throw StoreError(.closed, "the script has ended") }
                    return call.answer(try body(module, call).lua(call.state))
                })
        }
        add("plan") { module, call in
            .text(
                try MigrationPlanning(module).plan(store: call.storePath(1), schema: call.table(2))
                {
                    _ in .unasked
                })
        }
        add("lint") { module, call in
            MigrationPlanning.value(
                try MigrationPlanning(module).findings(
                    store: call.storePath(1), schema: call.table(2)))
        }
        add("status") { module, call in try runner(module, call, []).runner.state().report }
        add("check") { module, call in
            .int(Int64(try runner(module, call, []).runner.check().state.code))
        }
        add("up") { module, call in
            let (runner, options) = try runner(
                module, call,
                ["to", "dry_run", "backup", "keep", "sample", "lock_timeout", "continue"])
            let target = try number("to", options, call)
            runner.continuesEdited = try flag("continue", options, call) ?? false
            if try flag("dry_run", options, call) == true {
                return try runner.rehearse(to: target, sample: number("sample", options, call))
                    .value
            }
            runner.keptBackups = try number("keep", options, call)
            return try runner.up(to: target, backup: backup(options, call)).value
        }
        add("down") { module, call in
            let (runner, options) = try runner(module, call, ["to", "backup", "lock_timeout"])
            return try runner.down(
                to: number("to", options, call), backup: backup(options, call)
            ).value
        }
        add("undo") { module, call in
            let (runner, options) = try runner(module, call, ["discard_later_writes"])
            let isDiscarding = try flag("discard_later_writes", options, call) ?? false
            return try runner.undo(discardingLaterWrites: isDiscarding).value
        }
        add("baseline") { module, call in
            let (runner, options) = try runner(module, call, ["to"])
            return try runner.baseline(to: number("to", options, call)).value
        }
        add("repair") { module, call in
            let (runner, options) = try runner(module, call, ["dry_run"])
            let repair = try runner.repair()
            if try flag("dry_run", options, call) != true { try repair.apply() }
            return repair.value
        }
        add("test") { module, call in
            let run = MigrationTestRun(
                module, directory: try MigrationDirectory(call.text(1), module))
            return MigrationTestRun.report(try run.outcomes())
        }
        context.module["migrate"] = .table(table)
        module.sessionMigrator = { [weak module] store, version, name, folder in
            guard let module else { return nil }
            return try SessionMigration(module, store, folder: folder)
                .write(name: name, since: version)?.value
        }
        module.migrator = { [weak module] store, folder, version in
            guard let module else { return }
            let directory = try MigrationDirectory(folder, module)
            let runner = MigrationRunner(module, store: store, directory: directory)
            guard let version, version < UInt64(directory.files.last?.number ?? 0) else {
                _ = try runner.up()
                return
            }
            _ = try runner.up(to: Int(clamping: version))
        }
    }

    private static func runner(
        _ module: StoreModule, _ call: borrowing LuaCall, _ known: [String]
    ) throws -> (runner: MigrationRunner, options: LuaTable) {
        let store = try call.storePath(1)
        guard let options = try call.options(2, ["dir"] + known) else {
            throw call.typeError(2, "table of options")
        }
        guard let folder = options["dir"].text else {
            throw call.argumentError(
                2, "option 'dir' must be the path of the folder of the migrations")
        }
        let runner = MigrationRunner(
            module, store: store, directory: try MigrationDirectory(folder, module))
        if known.contains("lock_timeout"), !options["lock_timeout"].isNil {
            guard let seconds = options["lock_timeout"].number, seconds >= 0 else {
                throw call.argumentError(
                    2, "option 'lock_timeout' must be a number of seconds, 0 or more")
            }
            runner.lockTimeout = seconds
        }
        return (runner, options)
    }

    private static func number(
        _ name: String, _ options: LuaTable, _ call: borrowing LuaCall
    ) throws -> Int? {
        if options[name].isNil { return nil }
        guard let number = options[name].integer, number >= 0 else {
            throw call.argumentError(2, "option '\(name)' must be a whole number, 0 or more")
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
}
