import LuaHost
import ObjectStore

extension FrozenSpace {
    /// A description of the version.
    var summary: String {
        view.isClosed
            ? "store \(handle.name) (closed)"
            : "store \(handle.name) (frozen at version \(view.version))"
    }

    /// The Lua class of a store at one version.
    static let type: LuaClass<FrozenSpace> = LuaClass(
        name: "frozen store",
        methods: reading + life + refusing,
        properties: [
            LuaProperty("path") { space, result in
                if let path = space.handle.store.path { result.set(path) } else { result.setNil() }
            },
            LuaProperty("version") { space, result in
                _ = try space.source.openView()
                result.set(Int64(clamping: space.view.version))
            },
            LuaProperty("schema_version") { space, result in
                _ = try space.source.openView()
                result.set(Int64(clamping: space.view.schema.version))
            },
            LuaProperty("is_in_write") { $1.set(false) },
            LuaProperty("is_frozen") { $1.set(true) },
            LuaProperty("is_read_only") { $1.set(true) },
            LuaProperty("is_follower") { $1.set($0.handle.store.isFollower) },
            LuaProperty("is_closed") { space, result in
                result.set(space.view.isClosed)
            },
            LuaProperty(
                "autorefresh", get: { $1.set(false) },
                set: { _, field in
                    // A frozen store permits turning automatic refresh off, which has no effect.
                    if field.kind == .bool, !field.bool { return }
                    throw frozen()
                }),
        ],
        metamethods: [
            LuaMethod("__tostring") { space, call in call.answer(.text(space.summary)) },
            LuaMethod("__close") { space, _ in
                try ReadOnlySection.check()
                space.view.close()
                return .none
            },
        ])

    var source: ObjectSource { .frozen(view) }

    private static func frozen() -> StoreError {
        StoreError(
            .frozen, "this is a frozen version and cannot change; use the live store instead")
    }

    private static let reading: [LuaMethod<FrozenSpace>] = [
        LuaMethod("object") { space, call in
            let view = try space.source.openView()
            let classSchema = try view.schema.require(call.text(2))
            let key: Value
            if let property = classSchema.primaryKey {
                key = try ValueBridge(space.handle, space)
                    .value(call[3], for: property, of: classSchema)
            } else {
                key = .null
            }
            guard let found = try view.find(classSchema.name, primaryKey: key) else {
                return call.answer(.nil)
            }
            return call.answer(
                space.userdata(ObjectReference(table: classSchema.table, key: found.key)))
        },
        LuaMethod("objects") { space, call in
            let classSchema = try space.source.openView().schema.require(call.text(2))
            let results = Results(space.source, all: classSchema)
            return call.answer(ResultsHandle(results, space.handle, space), ResultsHandle.type)
        },
        LuaMethod("schema") { space, call in
            let schema = try space.source.openView().schema
            let text = try SchemaText(space.handle, schema, options: call)
            guard !call.isNil(2) else { return call.answer(.table(text.table())) }
            return call.answer(.table(text.table(try schema.require(call.text(2)))))
        },
    ]

    private static let life: [LuaMethod<FrozenSpace>] = [
        LuaMethod("freeze") { _, call in call.answerArgument(1) },
        LuaMethod("thaw") { space, call in
            try space.handle.store.check()
            return call.answer(space.handle, StoreHandle.type)
        },
        LuaMethod("refresh") { space, call in
            _ = try space.source.openView()
            return call.answer(false)
        },
        LuaMethod("close") { space, _ in
            try ReadOnlySection.check()
            space.view.close()
            return .none
        },
    ]

    /// The methods of a live store that throw an error on a frozen one.
    private static let refusing: [LuaMethod<FrozenSpace>] = [
        "write", "savepoint", "write_async", "begin_write", "commit_write", "cancel_write",
        "create", "add",
        "delete", "delete_all", "define", "migration_since", "observe", "undo", "redo",
    ].map { name in
        LuaMethod(name) { _, _ in
            throw frozen()
        }
    }
}
