import LuaHost
import ObjectStore

/// A migration for scripts: the `m` in `migration = function(m) … end`.
package final class MigrationHandle {
    /// The migration.
    package let migration: Migration
    /// The store to migrate.
    package let handle: StoreHandle
    private let space: FrozenSpace

    init(_ migration: Migration, _ handle: StoreHandle) {
        self.migration = migration
        self.handle = handle
        space = FrozenSpace(handle, migration.old)
    }

    /// Calls a script's migration function.
    ///
    /// The default functions of `schema` apply to the objects that it creates.
    package static func call(
        _ function: LuaFunction?, with migration: Migration, on handle: StoreHandle,
        defaults schema: DeclaredSchema? = nil
    ) throws {
        handle.updateClasses()
        if let schema {
            try handle.take(schema)
            try migration.fillComputedDefaults()
        }
        guard let function else { return }
        let created = MigrationHandle(migration, handle)
        try function.call([handle.state.userdata(created, type)])
    }

    /// Calls a function with the old and the new object, for each object of a class.
    ///
    /// The loop itself is Lua code, which keeps the cost of a million calls low.
    ///
    /// The function receives nil for the old object of a new class, and for the new object of a removed class.
    private func each(_ className: String, _ function: LuaFunction) throws {
        let (oldClass, newClass) = try migration.classes(named: className)
        if let walk = try migration.walk(className) { return try visitPairs(function, walk) }
        handle.updateClasses()
        if let newClass {
            let type = try handle.objectClass(named: newClass.name)
            try visitUnpaired(
                try migration.objects(newClass.name).keys(), of: type, loop: .onlyNew,
                with: function)
        } else if let oldClass {
            let (type, anchor) = space.objectClass(oldClass)
            let keys = try Results(.frozen(migration.old), all: oldClass).keys()
            try withExtendedLifetime(anchor) {
                try visitUnpaired(keys, of: type, loop: .onlyOld, with: function)
            }
        }
    }

    /// Calls a function with each object of a new or of a removed class.
    private func visitUnpaired(
        _ keys: some Sequence<ObjectKey>, of type: ObjectClass, loop: Loop,
        with function: LuaFunction
    ) throws {
        var keys = Array(keys).makeIterator()
        var current: ObjectKey?
        let step = handle.state.makeFunction("each") { [migration] call in
            try migration.check()
            while let key = keys.next() {
                current = key
                let object = type.source.object(type.classSchema, key)
                if object.isValid {
                    return call.answer(LuaLiveObject(type: type, key: key.rawValue))
                }
            }
            return call.answer(.nil)
        }
        try runLoop(function, loop, step) {
            "\(type.classSchema.name) object \(current?.rawValue ?? 0)"
        }
    }

    /// Calls a function with the old and the new object, for each object that exists in both schemas.
    private func visitPairs(
        _ function: LuaFunction, _ walk: MigrationWalk
    ) throws {
        handle.updateClasses()
        let (oldType, anchor) = space.objectClass(walk.oldClass)
        let newType = try handle.objectClass(named: walk.newClass.name)
        let step = handle.state.makeFunction("each") { call in
            guard let key = try walk.next() else { return call.answer(.nil) }
            return call.answer(
                LuaLiveObject(type: oldType, key: key.rawValue),
                LuaLiveObject(type: newType, key: key.rawValue))
        }
        try withExtendedLifetime(anchor) {
            try runLoop(function, .both, step) { walk.currentName ?? walk.newClass.name }
        }
    }

    /// Runs a loop in Lua over the results of a step function; `name` returns the name of the current object for
    /// reports.
    private func runLoop(
        _ function: LuaFunction, _ kind: Loop, _ step: LuaFunction, name: @escaping () -> String
    ) throws {
        let isTolerant = migration.failureHandler != nil
        let loop = try handle.state.load(kind.text(isTolerant: isTolerant), name: "=each")
        let failed = handle.state.makeFunction("each") { [migration] call in
            let message = try call.state.describe(call[1]).description
            // An interrupted run is not a failure of the current object.
            if call.state.isStopping || message.hasSuffix(LuaInterrupted().scriptMessage) {
                throw LuaInterrupted()
            }
            migration.objectFailed(message, name())
            return .none
        }
        _ = try loop.call([.function(step), .function(function), .function(failed)])
    }

    /// The objects that the step function of a loop returns.
    private enum Loop {
        case both, onlyOld, onlyNew

        func text(isTolerant: Bool) -> String {
            let (found, passed) =
                switch self {
                case .both: ("old, new", "old, new")
                case .onlyOld: ("old", "old, nil")
                case .onlyNew: ("new", "nil, new")
                }
            guard isTolerant else {
                return """
                    local step, body = ...
                    for \(found) in step do body(\(passed)) end
                    """
            }
            return """
                local step, body, failed = ...
                local pcall = pcall
                for \(found) in step do
                  local ok, err = pcall(body, \(passed))
                  if not ok then failed(err) end
                end
                """
        }
    }

    /// Checks the options `{ batch = n, resumable = true }`, which earlier builds needed for batches.
    ///
    /// The started migration of a file with `each` has batches without options; a function runs in one transaction.
    private static func checkOptions(_ call: borrowing LuaCall) throws {
        guard let options = try call.options(4) else { return }
        guard options["resumable"].isNil || options["resumable"].boolean != nil else {
            throw call.argumentError(4, "option 'resumable' must be true or false")
        }
        guard options["batch"].isNil || (options["batch"].integer ?? 0) > 0 else {
            throw call.argumentError(4, "option 'batch' must be a whole number, 1 or more")
        }
    }

    static let type: LuaClass<MigrationHandle> = LuaClass(
        name: "migration",
        methods: [
            LuaMethod("each") { migration, call in
                try checkOptions(call)
                try migration.each(call.text(2), call.function(3))
                return .none
            },
            LuaMethod("rename_property") { migration, call in
                try migration.migration.renameProperty(
                    call.text(2), from: call.text(3), to: call.text(4))
                return .none
            },
            LuaMethod("rename_class") { migration, call in
                try migration.migration.renameClass(call.text(2), to: call.text(3))
                return .none
            },
            LuaMethod("delete_property") { migration, call in
                call.answer(
                    .boolean(
                        try migration.migration.deleteProperty(call.text(2), call.text(3))))
            },
            LuaMethod("delete_class") { migration, call in
                call.answer(.boolean(try migration.migration.deleteClass(call.text(2))))
            },
            LuaMethod("create") { migration, call in
                try migration.migration.check()
                return try forward("create", migration, call)
            },
            LuaMethod("delete") { migration, call in
                try migration.migration.check()
                return try forward("delete", migration, call)
            },
            LuaMethod("objects") { migration, call in
                try migration.migration.check()
                let type = try migration.handle.requireClass(call, 2)
                let results = Results(.store(migration.handle.store), all: type.classSchema)
                return call.answer(
                    ResultsHandle(results, migration.handle, nil), ResultsHandle.type)
            },
        ],
        properties: [
            LuaProperty("old_version") { migration, result in
                result.set(Int64(clamping: migration.migration.oldVersion))
            },
            LuaProperty("new_version") { migration, result in
                result.set(Int64(clamping: migration.migration.newVersion))
            },
            LuaProperty("old") { migration, result in
                try migration.migration.check()
                result.set(migration.space, FrozenSpace.type)
            },
            LuaProperty("new") { migration, result in
                try migration.migration.check()
                result.set(migration.handle, StoreHandle.type)
            },
        ],
        metamethods: [
            LuaMethod("__tostring") { migration, call in
                let (old, new) = (
                    migration.migration.oldVersion, migration.migration.newVersion
                )
                return call.answer(.text("migration from version \(old) to \(new)"))
            }
        ])

    /// Forwards a call to the store's method.
    private static func forward(
        _ name: String, _ migration: MigrationHandle, _ call: borrowing LuaCall
    ) throws -> LuaAnswer {
        do {
            return try call.answer(
                call.state.call(
                    .function(method(name, call)),
                    [call.state.userdata(migration.handle, StoreHandle.type)] + call.rest(from: 2)))
        } catch let error as LuaError {
            // An error that is thrown at this point contains the line of the script.
            throw error.underlying ?? error
        }
    }

    /// Returns a method of stores that migrations also have.
    private static func method(_ name: String, _ call: borrowing LuaCall) throws -> LuaFunction {
        guard let function = call.state.function(name, of: StoreHandle.type) else {
            throw StoreError(.closed, "the script has ended")
        }
        return function
    }
}

/// A change of the schema that a script made with `store:define`.
///
/// The data before the change stays readable as long as the history of the version is kept, so that a migration that
/// repeats the change can be rehearsed on it.
package final class Definition {
    /// The version before the change.
    package let base: UInt64
    /// The schema before the change.
    package let before: Schema
    /// The classes after the change.
    package let after: [ClassSchema]
    /// The migration function; nil for none.
    package let function: LuaFunction?
    /// Whether the store had no objects before the change.
    package let wasEmpty: Bool
    /// The store before the change; nil if it had no objects, or after its history was removed.
    package private(set) var view: StoreView?

    init(_ base: DefinitionBase, after: [ClassSchema], function: LuaFunction?) {
        self.base = base.version
        before = base.schema
        self.after = after
        self.function = function
        wasEmpty = base.view == nil
        view = base.view
    }

    func forgetData() { view = nil }
}

/// The store before a change of its schema.
struct DefinitionBase {
    let version: UInt64
    let schema: Schema
    /// The data; nil if the store has no objects.
    let view: StoreView?
}

extension StoreHandle {
    /// Returns the store before a change by `store:define`.
    func definitionBase() throws -> DefinitionBase {
        let isEmpty = try schema.classes.allSatisfy { try store.view.count(of: $0) == 0 }
        let keepsData = !isEmpty && store.configuration.maximumLiveVersions == nil
        return DefinitionBase(
            version: store.version, schema: schema,
            view: keepsData
                ? try store.separateView(as: .definition, for: module.holder) : nil)
    }

    /// Records a change by `store:define`.
    func recordDefinition(since base: DefinitionBase, _ function: LuaFunction?) {
        guard store.version > base.version else { return }
        definitions.append(
            Definition(base, after: schema.classes.map(\.unplaced), function: function))
        guard base.view != nil else { return }
        store.advanceHandler = { [weak self] in self?.forgetOldDefinitions() }
    }

    private var schema: Schema { store.schema }

    /// Releases the versions that are older than the history, because they take space in the file.
    private func forgetOldDefinitions() {
        let kept = UInt64(clamping: store.configuration.history)
        for definition in definitions where definition.base + kept < store.version {
            definition.forgetData()
        }
        if definitions.allSatisfy({ $0.view == nil }) { store.advanceHandler = nil }
    }

    /// Returns the changes of the schema since a version that this script made, oldest first; by default all.
    package func definitions(since version: UInt64?) -> [Definition] {
        definitions.filter { version ?? 0 <= $0.base }
    }

    /// Forgets the changes that a migration repeats.
    package func forgetDefinitions() {
        definitions = []
        migratedVersion = store.version
        store.advanceHandler = nil
    }
}

// Functions for migrations of whole files.
extension StoreModule {
    /// Parses a schema in the notation of scripts.
    ///
    /// Throws `invalid_schema`.
    package func schema(in table: LuaTable) throws -> DeclaredSchema {
        try SchemaArguments(json).schema(table)
    }

    /// Opens a store for a task, or returns the store that the script has open.
    ///
    /// `whileWaiting` is called in addition to ``whileWaiting`` until the task ends.
    package func borrow(
        _ configuration: StoreConfiguration,
        whileWaiting waitHandler: ((Store) throws -> Void)? = nil
    ) throws -> BorrowedStore {
        let outerHandler = whileWaiting
        if let waitHandler {
            whileWaiting = {
                try outerHandler?($0)
                try waitHandler($0)
            }
        }
        let known = handles.first { $0.isAt(configuration.location) }
        do {
            return BorrowedStore(
                handle: try known ?? open(configuration), isOwn: known == nil, module: self,
                outerHandler: outerHandler)
        } catch {
            whileWaiting = outerHandler
            throw error
        }
    }

    /// Whether the script has a file open.
    package func isOpen(_ path: String) -> Bool { handles.contains { $0.isAt(.file(path)) } }
}

/// A store that a task uses until it calls ``end()``.
package struct BorrowedStore {
    /// The handle of the store.
    package let handle: StoreHandle
    /// The store.
    package var store: Store { handle.store }
    /// Whether the store was opened for the task.
    fileprivate let isOwn: Bool
    fileprivate let module: StoreModule
    fileprivate let outerHandler: ((Store) throws -> Void)?

    /// Closes the store, unless the script has it open.
    package func end() {
        if isOwn { handle.close() }
        module.whileWaiting = outerHandler
    }
}

extension LuaCall {
    /// Returns the path of a store from an argument: an open store with a file, or a text.
    package borrowing func storePath(_ index: Int) throws -> String {
        guard let handle = optionalObject(index, StoreHandle.type) else { return try text(index) }
        guard let path = handle.store.path else {
            throw argumentError(index, "the store '\(handle.name)' is in memory, not in a file")
        }
        return path
    }
}
