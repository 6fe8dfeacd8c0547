import LuaHost
import ObjectStore

/// One version of a whole store in the hands of a script: for reading only.
final class FrozenStoreHandle {
    let space: FrozenSpace

    init(_ space: FrozenSpace) { self.space = space }

    private var handle: StoreHandle { space.handle }

    private func requireClass(_ call: borrowing LuaCall, _ index: Int) throws -> ClassSchema {
        try space.view.schema.require(call.text(index))
    }

    static let type: LuaClass<FrozenStoreHandle> = LuaClass(
        name: "frozen store", summary: "One version of a store, for reading.",
        methods: [
            LuaMethod("object", "(class, key) → object", "The object with a primary key, or nil.") {
                store, call in
                let classSchema = try store.requireClass(call, 2)
                guard let property = classSchema.primaryKey else {
                    throw StoreError(
                        .invalidArgument,
                        "'\(classSchema.name)' has no primary key to look up; "
                            + "query it with objects(\"\(classSchema.name)\")")
                }
                let key = try ValueBridge(store.handle, store.space).value(
                    call[3], for: property, of: classSchema)
                guard
                    let found = try store.space.view.object(classSchema.name, primaryKey: key)
                else { return call.answer(.nil) }
                return call.answer(store.space.userdata(found.reference))
            },
            LuaMethod("objects", "(class) → Results", "All objects of a class.") { store, call in
                let classSchema = try store.requireClass(call, 2)
                let results = Results(.frozen(store.space.view), all: classSchema)
                return call.answer(
                    ResultsHandle(results, store.handle, store.space), ResultsHandle.type)
            },
            LuaMethod("schema", "([class]) → table", "The schema as define takes it.") {
                store, call in
                let text = SchemaText(store.handle, store.space.view.schema)
                if call.isNil(2) { return call.answer(.table(text.table())) }
                return call.answer(.table(text.table(try store.requireClass(call, 2))))
            },
        ],
        properties: [
            LuaProperty("version", "The version that it shows.") { store, result in
                result.set(Int64(clamping: store.space.view.version))
            },
            LuaProperty("schema_version", "The schema's version number.") { store, result in
                result.set(Int64(clamping: store.space.view.schema.version))
            },
            LuaProperty("is_in_write", "Always false.") { $1.set(false) },
            LuaProperty("is_frozen", "Always true.") { $1.set(true) },
            LuaProperty("is_read_only", "Always true.") { $1.set(true) },
        ],
        metamethods: [
            LuaMethod("__tostring") { store, call in
                call.answer(
                    .text(
                        "store \(store.handle.name) (frozen, version \(store.space.view.version))"))
            }
        ])
}
