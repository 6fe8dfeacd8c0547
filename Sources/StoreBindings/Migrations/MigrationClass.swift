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
    /// Default functions in `schema` apply to the objects that it creates.
    package static func call(
        _ function: LuaFunction?, with migration: Migration, on handle: StoreHandle,
        defaults schema: LuaTable? = nil
    ) throws {
        handle.updateClasses()
        if let schema {
            try handle.take(schema)
            try migration.fillComputedDefaults()
        }
        guard let function else { return }
        let made = MigrationHandle(migration, handle)
        try function.call([handle.state.userdata(made, type)])
    }

    /// Calls a function with the old and the new object, for each object of a class.
    ///
    /// The loop itself is Lua code, which keeps the cost of a million calls low.
    ///
    /// The function receives nil for the old object of a new class, and for the new object of a removed class.
    private func each(_ className: String, _ function: LuaFunction, _ batch: Int?) throws {
        let (oldClass, newClass) = try migration.classes(named: className)
        guard oldClass == nil || newClass == nil else {
            if let batch {
                return try migration.resumableLoop(className, batch: batch) { [self] walk in
                    let present = walk.oldView === space.view
                    try visitPairs(
                        function, walk, present ? space : FrozenSpace(handle, walk.oldView))
                }
            }
            if let walk = try migration.walk(className) { try visitPairs(function, walk, space) }
            return
        }
        guard batch == nil else {
            throw StoreError(
                .invalidArgument,
                "'\(className)' is \(oldClass == nil ? "new" : "removed"); option 'resumable' needs a class that is in "
                    + "the old schema and in the new one")
        }
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
        _ function: LuaFunction, _ walk: MigrationWalk, _ space: FrozenSpace
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

    /// Returns the batch size of `{ batch = n, resumable = true }`; nil for one transaction.
    private static func batch(_ call: borrowing LuaCall) throws -> Int? {
        guard let options = try call.options(4) else { return nil }
        guard options["resumable"].isNil || options["resumable"].boolean != nil else {
            throw call.argumentError(4, "option 'resumable' must be true or false")
        }
        guard options["resumable"].isTruthy else {
            guard options["batch"].isNil else {
                throw call.argumentError(
                    4, "option 'batch' requires resumable = true")
            }
            return nil
        }
        if options["batch"].isNil { return 10_000 }
        guard let batch = options["batch"].integer, batch > 0 else {
            throw call.argumentError(4, "option 'batch' must be a whole number, 1 or more")
        }
        return Int(clamping: batch)
    }

    static let type: LuaClass<MigrationHandle> = LuaClass(
        name: "migration",
        methods: [
            LuaMethod("each") { migration, call in
                try migration.each(call.text(2), call.function(3), batch(call))
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
