import EventLoops
import LuaHost
import ObjectStore
import Replication
import StoreBindings
import SystemCalls

/// An open store with its record of migrations, as a value of the Lua files.
final class MigrationStore {
    fileprivate let host: MigrationHost
    private let borrowed: BorrowedStore
    /// The migration that runs or has failed.
    fileprivate var migration: Migration?
    /// Replaces a backup by a copy of the version that it holds.
    fileprivate var heldBackup: (() throws -> Void)?
    private var isEnded = false
    fileprivate var handle: StoreHandle { borrowed.handle }
    fileprivate var store: Store { borrowed.store }
    fileprivate var isInCluster: Bool {
        store.writeAccess == .leaseHolder || store.writeAccess == .clusterFollower
    }

    /// Opens a store: `path`, or `in_memory`; `read_only`; `is_trial` for a copy that need not be durable; `timeout` for
    /// the seconds that a write waits for the write lock.
    init(_ host: MigrationHost, _ options: LuaTable) throws {
        self.host = host
        let path = options["path"].text
        var configuration = StoreConfiguration(
            path.map { .file($0) } ?? .memory(options["in_memory"].text ?? ""),
            isReadOnly: options["read_only"].isTruthy)
        if options["is_trial"].isTruthy { configuration.durability = .memory }
        borrowed = try host.module.borrow(
            configuration, whileWaiting: Self.limit(options["timeout"].number))
    }

    /// Returns a function that throws `limit_exceeded` if a wait for the write lock takes too long; nil without a limit.
    private static func limit(_ timeout: Double?) -> ((Store) throws -> Void)? {
        guard let timeout else { return nil }
        var start: ContinuousClock.Instant?
        var last = ContinuousClock.now
        return { store in
            let now = ContinuousClock.now
            // The function is called about fifty times a second, so a longer pause means that another wait has started.
            if start == nil || last.duration(to: now) > .seconds(1) { start = now }
            last = now
            guard let start, start.duration(to: now) >= .seconds(timeout) else { return }
            throw StoreError(
                .limitExceeded,
                "\(store.writerDescription) is writing to \(store.title), and the lock was not free within "
                    + "\(timeout == timeout.rounded() ? "\(Int(timeout))" : "\(timeout)") seconds",
                advice: "try again, or wait longer with --lock-timeout")
        }
    }

    private func end() {
        guard !isEnded else { return }
        isEnded = true
        heldBackup = nil
        store.endConversion()
        borrowed.end()
    }

    /// Returns the error of an attempt with its outcome, and removes the backup of an attempt that has not committed.
    func failure(_ error: any Error, _ attempt: LuaTable) -> MigrationFailure {
        let file = attempt["file"].table
        let outcome: MigrationFailure.Outcome
        if attempt["is_committed"].isTruthy {
            outcome = .committed
        } else {
            // A backup of an unchanged store would only take space.
            if let backup = attempt["made_backup"].text {
                for name in ["", "-lock", "-log"] { ProcessServices.remove(backup + name) }
            }
            // The store is not in this transaction any more, and a store that cannot be read has none.
            let started = try? store.startedMigration()
            outcome = started.map(MigrationFailure.Outcome.started) ?? .rolledBack
        }
        return MigrationFailure(
            cause: error, number: Int(clamping: file?["number"].integer ?? 0),
            fileName: file?["file_name"].text ?? "", path: file?["path"].text ?? "",
            object: migration?.currentObject, outcome: outcome,
            applied: attempt["applied"].table)
    }

    /// Returns the number of values that were written since a version, for each property and class that a schema does
    /// not contain; nil if the history is incomplete.
    private func writtenValues(since version: UInt64, missingIn schema: SchemaBox) throws
        -> LuaValue
    {
        guard let changes = try store.changes(since: version) else { return .nil }
        let counts = host.state.makeTable()
        for difference in try SchemaDifference.between(store.schema, and: schema.classes) {
            let name: String
            switch difference.loss {
            case .objects(let className): name = className
            case .values(let property, let className, _): name = "\(className).\(property.name)"
            case nil: continue
            }
            counts[name] = .count(try store.writtenCount(name, in: changes))
        }
        return .table(counts)
    }

    private func objectCount() throws -> Int {
        try store.schema.classes.reduce(0) { try $0 + store.view.count(of: $1) }
    }

    /// Returns the losses and errors that a change to a schema would cause.
    private func findings(_ schema: SchemaBox) throws -> LuaValue {
        let state = host.state
        return state.list(
            try SchemaLint.findings(in: store, for: schema.classes).map { finding in
                state.record([
                    "rule": .text(finding.rule.rawValue), "name": .text(finding.qualifiedName),
                    "message": .text(finding.message), "advice": .text(finding.advice),
                    "count": .count(finding.count), "objects": state.texts(finding.objects),
                ])
            })
    }

    static let type: LuaClass<MigrationStore> = LuaClass(
        name: "migration store",
        methods: [
            LuaMethod("log") { store, call in
                call.answer(try store.store.migrationLog().lua(call.state))
            },
            // A migration that an earlier build has not finished; nil if there is none.
            LuaMethod("unfinished") { store, call in
                guard let found = try store.store.unfinishedMigration() else { return .none }
                return call.answer(
                    call.state.record([
                        "version": .integer(Int64(clamping: found.version)),
                        "number": found.number.map { .count($0) } ?? .nil,
                        "message": .text(found.refusal.message(for: .script)),
                        "advice": .optional(found.refusal.advice(for: .script)),
                    ]))
            },
            // The state of a started migration; nil if there is none.
            LuaMethod("started") { store, call in
                guard let started = try store.store.startedMigration() else { return .none }
                let table = started.lua(
                    call.state, process: try store.store.convertingProgram()?.process)
                table["checksum"] = .text(started.checksum)
                table["is_whole"] = .boolean(started.isWhole)
                table["old_version"] = .integer(Int64(clamping: started.versions.old))
                table["new_version"] = .integer(Int64(clamping: started.versions.new))
                return call.answer(.table(table))
            },
            // Raises an error if another process converts the objects of the started migration.
            LuaMethod("begin_conversion") { store, _ in
                try store.store.beginConversion()
                return .none
            },
            // convert_batch(is_whole): converts further objects of the started migration; returns whether all were visited.
            LuaMethod("convert_batch") { store, call in
                call.answer(.boolean(try store.store.convertBatch(isWhole: call[2].isTruthy)))
            },
            LuaMethod("object_count") { store, call in
                call.answer(.count(try store.objectCount()))
            },
            // Copies the version before the open write transaction; without one, moves to the newest version and copies it.
            LuaMethod("backup") { store, call in
                _ = try store.store.refresh()
                try store.store.backup(to: call.text(2))
                return .none
            },
            // hold_backup(path): holds the version before the open write transaction for `replace_backup`.
            LuaMethod("hold_backup") { store, call in
                store.heldBackup = try store.store.holdBackup(replacing: call.text(2))
                return .none
            },
            // Replaces a backup by a copy of the held version; does nothing if none is held.
            LuaMethod("replace_backup") { store, _ in
                try store.heldBackup?()
                store.heldBackup = nil
                return .none
            },
            LuaMethod("copy_sample") { store, call in
                try store.store.copySample(
                    of: Int(clamping: call.integer(2)), to: call.text(3))
                return .none
            },
            // apply_writes(since, path): applies later writes to a copy; nil if the history is incomplete.
            LuaMethod("apply_writes") { store, call in
                let since = UInt64(clamping: try call.integer(2))
                guard
                    let writes = try store.store.applyWrites(
                        since: since, toCopyAt: call.text(3))
                else { return .none }
                return call.answer(writes.lua(call.state))
            },
            LuaMethod("written_values") { store, call in
                call.answer(
                    try store.writtenValues(
                        since: UInt64(clamping: call.integer(2)),
                        missingIn: call.object(3, SchemaBox.type)))
            },
            LuaMethod("findings") { store, call in
                call.answer(try store.findings(call.object(2, SchemaBox.type)))
            },
            // fill(kind): creates generated objects; returns the reason if the store rejects them.
            LuaMethod("fill") { store, call in
                do {
                    let kind = GeneratedFixture.Kind(rawValue: try call.text(2)) ?? .words
                    try GeneratedFixture(store.store, kind).fill()
                    return .none
                } catch let error as StoreError {
                    return call.answer(.text(error.message))
                }
            },
            // contents(lost): the values of all objects.
            LuaMethod("contents") { store, call in
                let contents = try StoreContents(store.store, losing: Set(call.texts(2)))
                return call.answer(ContentsBox(contents), ContentsBox.type)
            },
            // The lines of code that create the objects of the store.
            LuaMethod("creating_lines") { store, call in
                var data = SquashedData(store.store)
                return call.answer(call.state.texts(try data.lines()))
            },
            LuaMethod("begin") { store, call in
                store.migration = nil
                return call.answer(
                    MigrationWrite(store, try store.store.beginMigration()), MigrationWrite.type)
            },
        ],
        properties: [
            LuaProperty("version") { store, result in
                result.set(Int64(clamping: store.store.version))
            },
            LuaProperty("schema_version") { store, result in
                result.set(Int64(clamping: store.store.schema.version))
            },
            LuaProperty("schema") { store, result in
                let schema = store.store.schema
                result.set(SchemaBox(schema.classes, stored: schema), SchemaBox.type)
            },
            // The stream that receives the commits of the store, or of its cluster; nil if there is none.
            LuaProperty("published_stream") { store, result in
                let record = try ReplicationRecord.read(store.store)
                result.set(
                    record?.role == .publisher || store.isInCluster
                        ? .optional(record?.stream) : .nil)
            },
            LuaProperty("is_in_cluster") { $1.set($0.isInCluster) },
            LuaProperty("has_file") { $1.set($0.store.path != nil) },
            // The other processes that have the file open: { process, command, versions, converts }.
            LuaProperty("programs") { store, result in
                let state = store.host.state
                result.set(
                    state.list(
                        try store.store.otherPrograms().map { program in
                            state.record([
                                "process": .count(Int(program.process)),
                                "command": .optional(program.command),
                                "versions": state.list(
                                    program.schemaVersions.map { .integer(Int64(clamping: $0)) }),
                                "converts": .boolean(program.convertsObjects),
                            ])
                        }))
            },
            // The store for the functions of scripts.
            LuaProperty("value") { store, result in
                result.set(store.host.module.value(of: store.handle))
            },
        ],
        metamethods: [
            LuaMethod("__close") { store, _ in
                store.end()
                return .none
            }
        ])
}

/// A write transaction that migrates a store, as a value of the Lua files.
private final class MigrationWrite {
    private let store: MigrationStore
    private let transaction: MigrationTransaction
    private var change: SchemaMigration?
    private var failures: [LuaValue] = []
    private var failureCount = 0
    private static let failureLimit = 20

    init(_ store: MigrationStore, _ transaction: MigrationTransaction) {
        self.store = store
        self.transaction = transaction
    }

    private func end() {
        change = nil
        transaction.end()
    }

    private func requireChange() throws -> SchemaMigration {
        guard let change else { throw StoreError(.closed, "the transaction has ended") }
        return change
    }

    /// Runs the function of a migration, whose file has declared a schema with default functions.
    ///
    /// A trial continues after objects that the function cannot migrate.
    private func apply(
        _ declared: LuaTable, _ function: LuaFunction?, isTrial: Bool, _ code: LuaTable?
    ) throws {
        try requireChange().apply { [self] migration in
            let host = store.host
            let schema = try host.module.schema(in: declared)
            store.migration = migration
            migration.progressHandler = { _, done, total in host.progress?(done, total) }
            if isTrial {
                migration.failureHandler = { [self] message, object in
                    failureCount += 1
                    guard failures.count < Self.failureLimit else { return }
                    failures.append(
                        host.state.record(["object": .text(object), "message": .text(message)]))
                }
            }
            try MigrationHandle.call(
                function, with: migration, on: store.handle, defaults: schema)
            if let code {
                try migration.convert(
                    with: ConversionCode(code), at: code["path"].text ?? "",
                    isUp: code["is_up"].isTruthy)
            }
            try host.state.checkStopping()
        }
    }

    private func commit(_ log: LuaTable?) throws -> LuaValue {
        assert(
            failures.count == min(failureCount, Self.failureLimit), "the first failures are kept")
        let state = store.host.state
        let report = try requireChange().commit(
            recording: log.map { MigrationLog($0) } ?? transaction.log)
        return state.record([
            "differences": state.list(report.differences.map { $0.lua(state) }),
            "classes": state.list(report.classes.map { $0.lua(state) }),
            "dropped": state.list(
                report.dropped.map {
                    state.record([
                        "name": .text($0.qualifiedName), "is_class": .boolean($0.isClass),
                        "count": .count($0.count),
                    ])
                }),
            "failure_count": .count(failureCount), "failures": state.list(failures),
        ])
    }

    static let type: LuaClass<MigrationWrite> = LuaClass(
        name: "migration write",
        methods: [
            // The record, which no other process can change before the transaction ends.
            LuaMethod("log") { write, call in
                call.answer(write.transaction.log.lua(call.state))
            },
            // start(schema, number, drops, renames, name, checksum, code, is_whole): starts a migration with functions in a
            // file, and commits; returns the differences between the schemas.
            LuaMethod("start") { write, call in
                let number = try call.integer(3)
                let state = call.state
                let differences = try write.transaction.start(
                    to: call.object(2, SchemaBox.type).classes, version: UInt64(clamping: number),
                    renaming: call.table(5).texts, dropping: Set(call.texts(4)),
                    number: Int(clamping: number), name: call.text(6), checksum: call.text(7),
                    code: call[8].table.map(ConversionCode.init), isWhole: call[9].isTruthy)
                return call.answer(state.list(differences.map { $0.lua(state) }))
            },
            // complete(log, is_forced, mark): ends the started migration, and commits with a new record.
            LuaMethod("complete") { write, call in
                try write.transaction.complete(
                    recording: MigrationLog(call.table(2)), isForced: call[3].isTruthy)
                call[4].table?["is_committed"] = .boolean(true)
                return .none
            },
            // abort(is_forced): takes the started migration back, commits, and returns the lost data.
            LuaMethod("abort") { write, call in
                let state = call.state
                return call.answer(
                    state.list(
                        try write.transaction.abort(isForced: call[2].isTruthy).map {
                            state.record([
                                "name": .text($0.qualifiedName), "count": .count($0.count),
                            ])
                        }))
            },
            // change(schema, version [, drops [, renames [, is_declared]]]): begins a change to a schema.
            LuaMethod("change") { write, call in
                let drops = try call.isNil(4) ? [] : call.texts(4)
                write.change = try write.transaction.change(
                    to: call.object(2, SchemaBox.type).classes,
                    version: UInt64(clamping: call.integer(3)), dropping: Set(drops),
                    renaming: call[5].table?.texts ?? [:], isDeclared: call[6].isTruthy)
                return .none
            },
            // apply([declared, f, is_trial, code]): changes the schema, and runs the function of a migration, or the functions
            // for one object in its file: { path, file_name, text, helpers, is_up }.
            LuaMethod("apply") { write, call in
                if let declared = call[2].table {
                    try write.apply(
                        declared, call[3].function, isTrial: call[4].isTruthy, call[5].table)
                } else {
                    try write.requireChange().apply()
                }
                return .none
            },
            // Whether values or objects were overwritten or removed.
            LuaMethod("needs_backup") { write, call in
                call.answer(.boolean(try write.requireChange().needsBackup()))
            },
            LuaMethod("additions") { write, call in
                call.answer(
                    call.state.texts(
                        try write.requireChange().differences.compactMap(\.addition)))
            },
            // commit([log [, mark]]): commits with a new record, and reports what has changed. An interrupt can end Lua
            // at once, so the outer primitive reads `mark.is_committed`.
            LuaMethod("commit") { write, call in
                let report = try write.commit(call[2].table)
                call[3].table?["is_committed"] = .boolean(true)
                return call.answer(report)
            },
        ],
        metamethods: [
            LuaMethod("__close") { write, _ in
                write.end()
                return .none
            }
        ])
}

/// The values of a store's objects, as a value of the Lua files.
private final class ContentsBox {
    private let contents: StoreContents

    init(_ contents: StoreContents) { self.contents = contents }

    static let type: LuaClass<ContentsBox> = LuaClass(
        name: "contents",
        methods: [
            // difference(other, except): the first value that differs, as text; nil if there is none.
            LuaMethod("difference") { box, call in
                call.answer(
                    .optional(
                        box.contents.difference(
                            to: try call.object(2, type).contents,
                            except: Set(try call.texts(3)))))
            }
        ])
}

extension LuaTable {
    /// The texts with their names; other fields are ignored.
    var texts: [String: String] {
        Dictionary(
            pairs.compactMap { name, value in
                name.text.flatMap { name in value.text.map { (name, $0) } }
            }, uniquingKeysWith: { first, _ in first })
    }
}

extension ConversionCode {
    fileprivate init(_ table: LuaTable) {
        self.init(
            fileName: table["file_name"].text ?? "", text: table["text"].text ?? "",
            helpers: table["helpers"].table?.texts ?? [:])
    }
}

extension MigrationLog {
    /// Returns the record as a table.
    fileprivate func lua(_ state: LuaState) -> LuaValue {
        state.record([
            "entries": state.list(entries.map { $0.lua(state) }),
            "backup_of_down": .optional(backupOfDown),
            "version_of_down": .integer(Int64(clamping: versionOfDown)),
            "backup_of_unfinished": .optional(backupOfUnfinished),
        ])
    }

    /// Reads the record from a table.
    fileprivate init(_ table: LuaTable) {
        self.init()
        replaceEntries((table["entries"].table?.array ?? []).compactMap(\.table).map(Entry.init))
        backupOfDown = table["backup_of_down"].text
        versionOfDown = UInt64(clamping: table["version_of_down"].integer ?? 0)
    }
}

extension MigrationLog.Entry {
    fileprivate func lua(_ state: LuaState) -> LuaValue {
        let names = state.makeTable()
        for (name, checksum) in helpers { names[name] = .text(checksum) }
        return state.record([
            "number": .count(number), "name": .text(name), "checksum": .text(checksum),
            "applied_at": .text(appliedAt.description),
            "microseconds": .integer(appliedAt.microseconds), "backup": .optional(backup),
            "added": added.map { state.texts($0) } ?? .nil, "code_checksum": .text(codeChecksum),
            "helpers": .table(names), "version": .integer(Int64(clamping: version)),
        ])
    }

    /// Reads an entry from a table; an entry without a time is applied now.
    fileprivate init(_ table: LuaTable) {
        self.init(
            number: Int(clamping: table["number"].integer ?? 0), name: table["name"].text ?? "",
            checksum: table["checksum"].text ?? "",
            appliedAt: table["microseconds"].integer.map { Timestamp(microseconds: $0) } ?? .now,
            backup: table["backup"].text)
        added = table["added"].table?.array.compactMap(\.text)
        codeChecksum = table["code_checksum"].text ?? ""
        for (name, checksum) in table["helpers"].table?.pairs ?? [] {
            if let name = name.text { helpers[name] = checksum.text }
        }
        version = UInt64(clamping: table["version"].integer ?? 0)
    }
}

extension MigrationReport.ClassReport {
    fileprivate func lua(_ state: LuaState) -> LuaValue {
        state.record([
            "name": .text(name), "before": .count(before), "after": .count(after),
            "created": .count(created), "deleted": .count(deleted), "changed": .count(changed),
            "rewritten": .count(rewrittenValues),
            "samples": state.list(
                samples.map { sample in
                    state.record([
                        "key": .text(sample.key),
                        "changes": state.list(
                            sample.changes.map {
                                state.record([
                                    "property": .text($0.property), "old": .optional($0.old),
                                    "new": .optional($0.new),
                                ])
                            }), "before": Self.values(sample.before, state),
                        "after": Self.values(sample.after, state),
                    ])
                }),
        ])
    }

    private static func values(
        _ values: [(name: String, value: Value)], _ state: LuaState
    ) -> LuaValue {
        state.list(
            values.map {
                state.record(["name": .text($0.name), "value": lua($0.value, state)])
            })
    }

    /// Returns a value as Lua shows it; a list has its length in the field `n`, because it can contain nil.
    private static func lua(_ value: Value, _ state: LuaState) -> LuaValue {
        switch value {
        case .null: return .nil
        case .bool(let flag): return .boolean(flag)
        case .int(let number): return .integer(number)
        case .double(let number): return .number(number)
        case .string(let text): return .text(text)
        case .list(let values):
            let table = state.makeTable(values.prefix(20).map { lua($0, state) })
            table["n"] = .count(min(values.count, 20))
            return .table(table)
        default: return .text(value.summary)
        }
    }
}

extension LaterWrites {
    fileprivate func lua(_ state: LuaState) -> LuaValue {
        state.record([
            "commits": .count(commits), "base_version": .integer(Int64(clamping: baseVersion)),
            "created": .count(created), "changed": .count(changed), "deleted": .count(deleted),
            "losses": state.list(
                losses.map { loss in
                    let (kind, reason) = loss.reason.text
                    return state.record([
                        "name": .text(loss.qualifiedName), "count": .count(loss.count),
                        "kind": .text(kind), "reason": .text(reason),
                    ])
                }),
        ])
    }
}

extension LaterWrites.Reason {
    /// The kind of the reason, and the reason as text.
    fileprivate var text: (kind: String, reason: String) {
        switch self {
        case .noSuchProperty:
            ("no_such_property", "the schema before the migration does not have it")
        case .notConvertible:
            ("not_convertible", "the value does not convert exactly to the earlier type")
        case .createdByMigration: ("created", "the migration created the object")
        case .missingValue:
            ("missing_value", "new objects have no value for it, so they have the default or zero")
        case .refused(let message): ("refused", message)
        }
    }
}
