import DataFormats
import EventLoops
import LuaHost
import ObjectStore
import Reference
import StoreBindings
import SystemCalls

/// The primitives of the Lua files in `lua/migrate`, which contain the commands of `moonpool migrate` and the functions
/// of `moonpool.migrate`: the table `host` of these files.
///
/// The files decide what happens; the primitives are files, compiled code, schemas, and stores with their transactions.
/// An interrupt ends the Lua files immediately. Primitives with a scope therefore roll back, close stores and remove
/// copies: `with_work_folder`, `attempt`, and the stores and transactions, which Lua closes at the end of their block.
///
/// Thread: the script's thread.
package final class MigrationHost {
    unowned let module: StoreModule
    private let table: LuaTable
    var state: LuaState { module.state }
    /// Receives the progress of loops over objects.
    package var progress: ((_ done: Int, _ total: Int) -> Void)?
    /// Runs before lines about a finished migration are written.
    package var progressEnded: (() -> Void)?

    /// Returns the primitives of a script.
    package static func attached(to context: ScriptContext) -> MigrationHost {
        let key = ObjectIdentifier(MigrationHost.self)
        if let known = context.attachments[key] as? MigrationHost { return known }
        let created = MigrationHost(context.storeModule)
        context.attachments[key] = created
        return created
    }

    private init(_ module: StoreModule) {
        self.module = module
        table = module.state.makeTable(fields: 64)
        addErrors()
        addFiles()
        addCode()
        addSchemas()
        addStores()
        addCommands()
        module.state.runtime["host"] = .table(table)
        table["globals"] = .table(module.state.globals)
    }

    /// Adds a primitive.
    package func add(
        _ name: String,
        _ body: @escaping (MigrationHost, borrowing LuaCall) throws -> LuaValue
    ) {
        table[name] = .function(
            state.makeFunction(name) { [weak self] call in
                guard let self else { throw StoreError(.closed, "the script has ended") }
                return call.answer(try body(self, call))
            })
    }

    /// Calls a function of a Lua file.
    package func call(
        _ name: String, of file: String, _ arguments: [LuaValue]
    ) throws -> [LuaValue] {
        guard let function = try state.runtimeFile("migrate/\(file)").table?[name].function else {
            preconditionFailure("migrate/\(file).lua has no function \(name)")
        }
        do {
            return try function.call(arguments)
        } catch {
            var error = error
            guard error.kind != .interrupted else { throw error }
            // A Swift error without a location is thrown itself, so that it gets the location of the calling script.
            if let cause = error.underlying as? any ScriptError,
                cause.scriptMessage == error.message
            {
                throw cause
            }
            // The calls of these files are not those of the script.
            error.traceback = nil
            throw error
        }
    }

    // MARK: Errors and texts

    private func addErrors() {
        // error(code, text [, advice]): an error value.
        add("error") { host, call in
            let code = StoreError.Code(rawValue: try call.text(1))
            let text = try call.lossy(2)
            return host.state.value(
                of: call.isNil(3)
                    ? StoreError(code, text)
                    : StoreError(code, text, advice: try call.lossy(3)))
        }
        // at(error, location): an error of the host with a location before its message.
        add("at") { host, call in
            guard let error = host.state.error(of: call[1]) as? StoreError else { return call[1] }
            return host.state.value(of: error.at(try call.text(2)))
        }
        add("describe") { host, call in try host.description(of: call[1]) }
        // nearest(name, known): what follows a message about an unknown name.
        add("nearest") { _, call in
            .text(NearestName.hint(for: try call.lossy(1), among: try call.texts(2)))
        }
        add("line_difference") { host, call in
            host.state.texts(LineDifference.lines(from: try call.lossy(1), to: try call.lossy(2)))
        }
        add("quote") { _, call in .text(LuaLiteral.string(try call.text(1))) }
        add("escape") { _, call in
            .text(ControlCharacters.escaped(try call.lossy(1), onOneLine: true))
        }
        // json(value): a nil, a boolean, a number or a string as JSON.
        add("json") { _, call in
            var writer = JSONWriter()
            switch call[1] {
            case .boolean(let flag): writer.bool(flag)
            case .integer(let number): writer.int(number)
            case .number(let number): writer.double(number)
            case .string(let text): writer.string(text.description)
            default: writer.null()
            }
            return .text(String(decoding: writer.bytes, as: UTF8.self))
        }
    }

    private func description(of value: LuaValue) throws -> LuaValue {
        let error = state.error(of: value)
        let failure = error as? MigrationFailure
        let message =
            try (error as? LuaError)?.message ?? state.describe(value).description
        return state.record([
            "code": .text(MigrationFailure.code(of: error)), "message": .text(message),
            "advice": .optional(MigrationFailure.advice(of: error)),
            "file": .optional(failure?.path), "number": failure.map { .count($0.number) } ?? .nil,
            "line": (failure?.line).map { .count($0) } ?? .nil,
            "object": .optional(failure?.object),
            "applied": (failure?.applied).map { .table($0) } ?? .nil,
        ])
    }

    // MARK: Files

    private func addFiles() {
        // names(folder): the sorted names in a folder; nil if it cannot be read.
        add("names") { host, call in
            ProcessServices.names(in: try call.text(1)).map { host.state.texts($0.sorted()) }
                ?? .nil
        }
        // read(path [, name]): the text of a script; an error contains the name, or the path.
        add("read") { _, call in
            let path = try call.text(1)
            do throws(UnreadFile) {
                return .string(
                    LuaString(bytes: try ProcessServices.readWhole(path, limit: 16 << 20)))
            } catch {
                throw StoreError(
                    .invalidArgument,
                    "\(try call.isNil(2) ? "'\(path)'" : call.text(2)) cannot be read: \(error.reason)"
                )
            }
        }
        // write(path, text): the reason for a failure.
        add("write") { _, call in
            .optional(ProcessServices.write(try call.lossy(2), to: try call.text(1)))
        }
        add("rename") { _, call in
            .optional(ProcessServices.rename(try call.text(1), to: try call.text(2)))
        }
        add("make_folder") { _, call in .optional(ProcessServices.makeFolder(try call.text(1))) }
        add("remove") { _, call in
            ProcessServices.remove(try call.text(1))
            return .nil
        }
        add("exists") { _, call in .boolean(ProcessServices.exists(try call.text(1))) }
        add("size") { _, call in
            ProcessServices.size(of: try call.text(1)).map { .count($0) } ?? .nil
        }
        add("resolved") { _, call in .optional(ProcessServices.resolved(try call.text(1))) }
        add("path_behind_link") { _, call in .text(StoreFiles.pathBehindLink(try call.text(1))) }
    }

    // MARK: Code

    private func addCode() {
        add("load") { host, call in
            .function(try host.state.load(call.string(1), name: "@\(call.text(2))"))
        }
        add("checksum") { host, call in
            .text(CodeIdentity.checksum(of: try call.string(1).bytes, host.state))
        }
        add("token_checksum") { _, call in
            .text(CodeIdentity.checksum(ofTokens: try call.string(1).bytes))
        }
        add("text_checksum") { _, call in .text(CodeIdentity.checksum(of: try call.texts(1))) }
        add("function_checksum") { _, call in
            .text(CodeIdentity.checksum(of: try call.table(1).array.compactMap(\.function)))
        }
        // function_text(function): its source, if it uses only its parameters and globals.
        add("function_text") { host, call in
            .text(try FunctionText(host.module).text(of: call.function(1)))
        }
        // set_field(source, name, value): a source with another value in the table that it returns, or nil.
        add("set_field") { _, call in
            .optional(
                ReturnedTable.setting(
                    try call.text(2), in: try call.lossy(1), to: try call.text(3)))
        }
        add("returned_names") { host, call in
            host.state.texts(
                ReturnedTable(of: try call.lossy(1))?.fields.map(\.name) ?? [])
        }
    }

    // MARK: Schemas

    private func addSchemas() {
        func answer(_ host: MigrationHost, _ classes: [ClassSchema]) -> LuaValue {
            host.state.userdata(SchemaBox(classes), SchemaBox.type)
        }
        add("schema") { host, call in
            answer(host, try call.isNil(1) ? [] : host.module.schema(in: call.table(1)).classes)
        }
        // check_schema(schema): raises an error for a schema that is not valid for any store.
        add("check_schema") { _, call in
            _ = try Schema.planned(call.schema(1).classes)
            return .nil
        }
        // changed_schema(schema, changes, drops, renames): the schema after a migration with the table `changes`.
        add("changed_schema") { host, call in
            let changes = try call.table(2)
            func classes(where isEnded: (LuaTable) -> Bool) -> Set<String> {
                Set(
                    changes.pairs.compactMap { name, declarations in
                        declarations.table.map(isEnded) == true ? name.text : nil
                    })
            }
            return answer(
                host,
                SchemaDelta.schema(
                    SchemaDelta.renaming(
                        try call.schema(1).classes,
                        try call.isNil(4) ? [:] : call.table(4).texts),
                    changing: try host.module.schema(in: changes).classes,
                    dropping: Set(try call.texts(3)),
                    ended: (
                        embedding: classes { $0["embedded"].boolean == false },
                        indexes: classes { $0["indexes"].table?.pairs.isEmpty == true }
                    )))
        }
        // rebase(before, after, onto): a schema with the differences between two others.
        add("rebase") { host, call in
            answer(
                host,
                try SchemaDelta(from: call.schema(1).classes, to: call.schema(2).classes)
                    .applied(to: call.schema(3).classes))
        }
        // differences(before, after [, renamed]): `renamed` has the new names of classes by their old ones.
        add("differences") { host, call in
            let renamed = try call.isNil(3) ? [] : call.table(3).pairs
            let differences = try SchemaDifference.between(
                call.schema(1).planned(), and: call.schema(2).classes,
                renamed: Dictionary(
                    renamed.compactMap { old, new in
                        old.text.flatMap { old in new.text.map { (old, $0) } }
                    }, uniquingKeysWith: { first, _ in first }))
            return host.state.list(differences.map { $0.lua(host.state) })
        }
        // changes(before, wanted, old_names): the classes of a schema with their differences to another; nil if classes
        // cannot show them.
        add("changes") { host, call in
            let names = try call.table(3)
            let changes = SchemaDelta.changes(
                from: try call.schema(1).classes, to: try call.schema(2).classes
            ) { names[$0].text ?? $0 }
            return changes.map { answer(host, $0) } ?? .nil
        }
        add("distance") { _, call in
            .count(NearestName.distance(between: try call.text(1), and: try call.text(2)))
        }
        // field(name): the access to a field, such as `.name`.
        add("field") { _, call in .text(LuaLiteral.field(try call.text(1))) }
    }

    // MARK: Stores

    private func addStores() {
        add("open") { host, call in
            host.state.userdata(try MigrationStore(host, call.table(1)), MigrationStore.type)
        }
        add("is_open") { host, call in .boolean(host.module.isOpen(try call.text(1))) }
        // is_empty(path): whether a store has not been created in its file yet; an error without a file.
        add("is_empty") { _, call in .boolean(try StoreFiles.isEmpty(call.text(1))) }
        add("require_store") { _, call in
            try StoreFiles.requireStore(call.text(1))
            return .nil
        }
        add("backup") { _, call in
            try StoreFiles.backup(
                call.text(1), to: call.text(2), isReplacing: call[3].isTruthy)
            return .nil
        }
        // with_work_folder(path, f): f(folder) with a folder beside a store, which is removed afterward.
        add("with_work_folder") { _, call in
            let body = try call.function(2)
            return try StoreFiles.withWorkFolder(beside: call.text(1)) {
                try body.call([.text($0)]).first ?? .nil
            }
        }
        // replace(path, candidate, kept, version): copies a store, and replaces it by another file; returns false, and
        // changes nothing, if it no longer has the version.
        add("replace") { host, call in
            let (path, kept) = (try call.text(1), try call.text(3))
            let version = UInt64(clamping: try call.integer(4))
            func removeCopy() {
                for end in ["", "-lock", "-log"] { ProcessServices.remove(kept + end) }
            }
            try StoreFiles.backup(path, to: kept)
            do {
                let isSame = try StoreFiles.leavingNoLockFile(of: kept) {
                    let copy = try host.module.borrow(
                        StoreConfiguration(.file(kept), isReadOnly: true))
                    defer { copy.end() }
                    return copy.store.version == version
                }
                if isSame {
                    try StoreFiles.backup(call.text(2), to: path, isReplacing: true)
                } else {
                    removeCopy()
                }
                return .boolean(isSame)
            } catch {
                removeCopy()
                throw error
            }
        }
        // removing_after_failure(files, folder, f): f(); its error removes the files, which f can add, and the folder,
        // unless f has committed with the list of files.
        add("removing_after_failure") { _, call in
            let files = try call.table(1)
            do {
                return try call.function(3).call([]).first ?? .nil
            } catch {
                if files["is_committed"].isTruthy { throw error }
                for path in files.array.compactMap(\.text) { ProcessServices.remove(path) }
                if let folder = call[2].text { ProcessServices.removeFolder(folder) }
                throw error
            }
        }
        // attempt(store, attempt, f): f(), which commits with the attempt; its error becomes that of the migration
        // attempt.file, with what remains of it. Without `applied`, this applies only to an interrupt.
        add("attempt") { _, call in
            let (store, attempt) = (try call.object(1, MigrationStore.type), try call.table(2))
            do {
                return try call.function(3).call([]).first ?? .nil
            } catch {
                let failure = store.failure(error, attempt)
                let isApplying = attempt["applied"].table != nil
                throw isApplying || failure.scriptCode == "interrupted" ? failure : error
            }
        }
    }

    /// Returns the changes of the schema that a script made with `store:define`, and what a migration that repeats them
    /// needs from their store.
    func definitions(
        of handle: StoreHandle, since version: UInt64?
    ) throws -> LuaValue {
        let store = handle.store
        let definitions = handle.definitions(since: version)
        let changes = try store.versions().filter(\.changesSchema).map {
            LuaValue.integer(Int64(clamping: $0.version))
        }
        func function(_ name: String, _ body: @escaping (borrowing LuaCall) throws -> Void)
            -> LuaValue
        {
            .function(
                state.makeFunction(name) { call in
                    try body(call)
                    return .none
                })
        }
        return state.record([
            "name": .text(handle.name), "path": .optional(store.path),
            "version": .integer(Int64(clamping: store.version)),
            "history": .count(store.configuration.history),
            "migrated_version": .integer(Int64(clamping: handle.migratedVersion)),
            "schema_changes": state.list(changes),
            "definitions": state.list(
                definitions.map { definition in
                    state.record([
                        "base": .integer(Int64(clamping: definition.base)),
                        "before": state.userdata(
                            SchemaBox(definition.before.classes, stored: definition.before),
                            SchemaBox.type),
                        "after": state.userdata(SchemaBox(definition.after), SchemaBox.type),
                        "migration": definition.function.map { .function($0) } ?? .nil,
                        "is_readable": .boolean(definition.wasEmpty || definition.view != nil),
                    ])
                }),
            // copy(index, path): writes the store before a change to another file.
            "copy": function("copy") { call in
                let definition = definitions[Int(try call.integer(1)) - 1]
                try store.copy(
                    definition.view, schema: definition.before, to: try call.text(2))
            },
            "forget": function("forget") { _ in handle.forgetDefinitions() },
        ])
    }

    // MARK: Commands

    private func addCommands() {
        let start = ContinuousClock.now
        // sleep(seconds): waits; an interrupt ends the wait.
        add("sleep") { host, call in
            let end = ContinuousClock.now + .seconds(try call.number(1))
            while case let left = end - ContinuousClock.now, left > .zero {
                try host.state.checkStopping()
                ProcessServices.pause(min(left, .milliseconds(20)))
            }
            return .nil
        }
        // progress(done, total): shows how many objects are converted.
        add("progress") { host, call in
            host.progress?(Int(clamping: try call.integer(1)), Int(clamping: try call.integer(2)))
            return .nil
        }
        add("clock") { _, _ in .number((ContinuousClock.now - start) / .seconds(1)) }
        add("peak_memory") { _, _ in .count(ProcessServices.peakMemory) }
        add("unique_name") { _, call in .text("\(try call.text(1)) \(UUIDValue.random())") }
        add("write_output") { host, call in
            host.progressEnded?()
            ProcessServices.writeOutput(try call.lossy(1))
            return .nil
        }
        add("write_error") { _, call in
            ProcessServices.writeError(try call.lossy(1))
            return .nil
        }
        add("can_ask") { _, _ in
            .boolean(Descriptor.isTerminal(0) && Descriptor.isTerminal(2))
        }
        add("program") { _, _ in .optional(ChildProcesses.thisProgram) }
        // run_programs(commands, jobs, next, ended): runs the commands whose index next() returns.
        add("run_programs") { host, call in
            let commands = try call.table(1).array.map { command in
                command.table?.array.compactMap(\.text) ?? []
            }
            let (jobs, next, ended) = (
                Int(clamping: try call.integer(2)), try call.function(3), try call.function(4)
            )
            try ChildProcesses.run(commands, jobs: jobs) {
                try next.call([]).first?.integer.map { Int($0) - 1 }
            } didEnd: { index, outcome in
                let report = ChildReport(outcome.output)
                _ = try ended.call([
                    .count(index + 1), .count(Int(outcome.exitCode)),
                    .boolean(report.isUpToDate), .optional(report.message),
                ])
            } whileWaiting: {
                try host.state.checkStopping()
            }
            return .nil
        }
    }
}

/// The JSON that `migrate up --json` printed for one store.
private struct ChildReport {
    /// Whether no migration was pending.
    private(set) var isUpToDate = false
    /// The message of the error or of the first finding; nil for success.
    private(set) var message: String?

    init(_ output: [UInt8]) {
        let tape = JSONTape()
        // A process that was killed has written no report, or only the beginning of one.
        guard (try? JSONText.read(output, onto: tape)) != nil else { return }
        JSONNode(tape).forEachMember { name, member in
            switch name {
            case "applied":
                isUpToDate = true
                member.forEachElement { _ in isUpToDate = false }
            case "error":
                member.forEachMember { name, member in
                    if name == "message" { message = member.text }
                }
            // What --fail-on refuses.
            case "findings":
                member.forEachElement { finding in
                    finding.forEachMember { name, member in
                        if name == "message", message == nil { message = member.text }
                    }
                }
            default: break
            }
        }
    }
}

/// A schema, as a value of the Lua files.
final class SchemaBox {
    let classes: [ClassSchema]
    /// The schema of a file; nil for a schema that was declared.
    private let stored: Schema?

    init(_ classes: [ClassSchema], stored: Schema? = nil) {
        self.classes = classes
        self.stored = stored
    }

    func planned() throws -> Schema { try stored ?? Schema.planned(classes.map(\.unplaced)) }

    static let type: LuaClass<SchemaBox> = LuaClass(
        name: "schema",
        methods: [
            // The schema in the notation of scripts.
            LuaMethod("text") { box, call in
                call.answer(.text(SchemaDocument(box.classes).lua(indent: 2)))
            },
            LuaMethod("has_class") { box, call in
                let name = try call.text(2)
                return call.answer(.boolean(box.classes.contains { $0.name == name }))
            },
            // The names and properties of the classes.
            LuaMethod("classes") { box, call in
                let state = call.state
                return call.answer(
                    state.list(
                        box.classes.map { classSchema in
                            state.record([
                                "name": .text(classSchema.name),
                                "is_embedded": .boolean(classSchema.isEmbedded),
                                "properties": state.list(
                                    classSchema.properties.map { $0.lua(state) }),
                            ])
                        }))
            },
            // The classes without the storage of a file.
            LuaMethod("unplaced") { box, call in
                call.answer(SchemaBox(box.classes.map(\.unplaced)), type)
            },
        ],
        properties: [
            LuaProperty("is_empty") { $1.set($0.classes.isEmpty) },
            LuaProperty("version") { box, result in
                result.set(Int64(clamping: box.stored?.version ?? 0))
            },
        ])
}

extension LuaCall {
    /// Returns a string argument as text, in which other bytes are replaced.
    borrowing func lossy(_ index: Int) throws -> String {
        String(decoding: try string(index).bytes, as: UTF8.self)
    }

    /// Returns an argument that is an array of texts.
    borrowing func texts(_ index: Int) throws -> [String] {
        try table(index).array.compactMap(\.text)
    }

    fileprivate borrowing func schema(_ index: Int) throws -> SchemaBox {
        try object(index, SchemaBox.type)
    }
}

extension LuaValue {
    /// Creates a string; nil without a text.
    package static func optional(_ text: String?) -> LuaValue { text.map { .text($0) } ?? .nil }
    /// Creates an integer.
    package static func count(_ number: Int) -> LuaValue { .integer(Int64(number)) }
}

extension LuaState {
    /// Returns a table with these fields.
    package func record(_ fields: KeyValuePairs<String, LuaValue>) -> LuaValue {
        let table = makeTable(fields: fields.count)
        for (name, value) in fields { table[name] = value }
        return .table(table)
    }

    /// Returns an array of values.
    package func list(_ values: [LuaValue]) -> LuaValue { .table(makeTable(values)) }
    /// Returns an array of texts.
    package func texts(_ values: some Collection<String>) -> LuaValue {
        list(values.map { .text($0) })
    }
}

extension SchemaDifference {
    /// Returns the difference as a table.
    func lua(_ state: LuaState) -> LuaValue {
        let (old, new) = properties
        let (kind, aspect, isOn) = names
        var renamed: String?
        if case .classRenamed(let old, _) = self { renamed = old }
        return state.record([
            "kind": .text(kind), "class": .text(className), "renamed": .optional(renamed),
            "aspect": .optional(aspect), "is_on": .boolean(isOn),
            "old": old?.lua(state) ?? .nil, "new": new?.lua(state) ?? .nil,
            "text": .text(description), "addition": .optional(addition),
            "is_additive": .boolean(isAdditive),
        ])
    }

    private var names: (kind: String, aspect: String?, isOn: Bool) {
        switch self {
        case .classAdded: ("class_added", nil, false)
        case .classRemoved: ("class_removed", nil, false)
        case .classRenamed: ("class_renamed", nil, false)
        case .propertyAdded: ("property_added", nil, false)
        case .propertyRemoved: ("property_removed", nil, false)
        case .propertyChanged(_, .index(let isOn), _, _): ("property_changed", "index", isOn)
        case .propertyChanged(_, .fullText(let isOn), _, _): ("property_changed", "full_text", isOn)
        case .propertyChanged(_, .defaultValue, _, _): ("property_changed", "default", false)
        case .propertyChanged(_, let aspect, _, _): ("property_changed", "\(aspect)", false)
        default: ("other", nil, false)
        }
    }
}

extension Property {
    /// Returns the declaration as a table.
    fileprivate func lua(_ state: LuaState) -> LuaValue {
        state.record([
            "name": .text(name), "type": .text(type.rawValue),
            "collection": .optional(collection.map { "\($0)" }), "target": .optional(target),
            "type_name": .text(typeName), "is_single": .boolean(isSingle),
            "is_optional": .boolean(isOptional), "is_primary": .boolean(isPrimary),
            "is_backlinks": .boolean(isBacklinks), "has_default": .boolean(defaultValue != nil),
        ])
    }
}
