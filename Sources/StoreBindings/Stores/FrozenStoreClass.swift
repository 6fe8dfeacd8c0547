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
            LuaProperty("is_writer") { $1.set(false) },
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

/// A version of a store in Lua.
///
/// A class of the version is created with its first object and released with its last one.
final class FrozenSpace {
    let handle: StoreHandle
    let view: StoreView
    private var classes: [TableID: WeakClass] = [:]

    private final class WeakClass {
        weak var type: ObjectClass?
        init(_ type: ObjectClass) { self.type = type }
    }

    init(_ handle: StoreHandle, _ view: StoreView) {
        self.handle = handle
        self.view = view
    }

    /// Returns the class at this version, and the anchor that keeps it alive until Lua holds one of its objects.
    func objectClass(_ classSchema: ClassSchema) -> (ObjectClass, LuaFrozenAnchor?) {
        let state = handle.state
        if let known = classes[classSchema.table]?.type, let anchor = state.anchor(of: known) {
            return (known, anchor)
        }
        let created = ObjectClass(handle, .frozen(view), classSchema, frozen: self)
        let sibling = classes.values.lazy.compactMap(\.type).first { state.anchor(of: $0) != nil }
        let anchor = handle.withLiveClass(classSchema) {
            state.registerFrozen(created, like: $0, sharing: sibling)
        }
        state.setProperties(PropertySlot.names(of: classSchema), of: created)
        classes[classSchema.table] = WeakClass(created)
        return (created, anchor)
    }

    /// Returns the object in this version, or throws an error with the reason why the version does not contain it.
    func userdata(of object: LiveObject) throws -> LuaValue {
        userdata(try handle.store.freeze(object).reference)
    }

    func userdata(_ reference: ObjectReference) -> LuaValue {
        guard let classSchema = view.schema.find(table: reference.table) else { return .nil }
        let (type, anchor) = objectClass(classSchema)
        return withExtendedLifetime(anchor) {
            handle.state.userdata(LuaLiveObject(type: type, key: reference.key.rawValue))
        }
    }
}

extension StoreHandle {
    /// The methods for versions and for the file as a whole.
    static let versionMethods: [LuaMethod<StoreHandle>] = [
        resolving,
        LuaMethod("freeze") { handle, call in
            call.answer(try handle.frozenSpace(), FrozenSpace.type)
        },
        LuaMethod("thaw") { _, call in call.answerArgument(1) },
        LuaMethod("pins") { handle, call in
            let pins = try handle.store.pins().map { LuaValue.table(handle.table(of: $0)) }
            return call.answer(.table(call.state.makeTable(pins)))
        },
        LuaMethod("stats") { handle, call in
            call.answer(.table(try handle.statisticsTable()))
        },
        LuaMethod("backup") { handle, call in
            let path = try call.path(2, for: .writing)
            let options = try call.options(3)
            try handle.store.backup(
                to: path, isReplacing: options?["overwrite"].isTruthy == true)
            return .none
        },
    ]

    private func statisticsTable() throws -> LuaTable {
        let statistics = try store.statistics()
        let table = state.makeTable(fields: 12)
        func set(_ name: String, _ number: Int) { table[name] = .integer(Int64(number)) }
        set("version", Int(clamping: statistics.version))
        set("schema_version", Int(clamping: statistics.schemaVersion))
        set("objects", statistics.objects)
        set("file_bytes", statistics.fileBytes)
        set("used_bytes", statistics.usedBytes)
        set("free_pages", statistics.freePages)
        set("history_bytes", statistics.historyBytes)
        set("kept_versions", store.configuration.history)
        if let versions = statistics.historyVersions {
            set("first_version", Int(clamping: versions.lowerBound))
            set("last_version", Int(clamping: versions.upperBound))
        }
        set("pins", statistics.pins.count)
        table["classes"] = .table(
            try state.makeTable(of: statistics.classes) { found in
                let entry = state.makeTable(fields: 4)
                entry["name"] = .text(found.name)
                entry["objects"] = .integer(Int64(found.objects))
                entry["bytes"] = .integer(Int64(found.bytes))
                entry["is_embedded"] = .boolean(found.isEmbedded)
                return .table(entry)
            })
        return table
    }

    private func table(of pin: VersionPin) -> LuaTable {
        let table = state.makeTable(fields: 9)
        table["version"] = .integer(Int64(clamping: pin.version))
        table["kind"] = .text(pin.kind.rawValue)
        table["held_by"] = .text(pin.summary)
        if !pin.holder.script.isEmpty { table["script"] = .text(pin.holder.script) }
        let location = pin.holder.location
        if let colon = location.lastIndex(of: ":") {
            table["source"] = .text(String(location[..<colon]))
            table["line"] =
                Int64(location[location.index(after: colon)...]).map(LuaValue.integer) ?? .nil
        }
        if let since = pin.since { table["since"] = dates.userdata(since, state) }
        table["process"] = .integer(Int64(pin.process))
        table["bytes"] = .integer(Int64(pin.bytes))
        return table
    }
}
