import LuaHost
import ObjectStore

/// An object that is not stored yet: a class name and values, created by `moonpool.new` and stored by `store:add`.
///
/// The object has only the name of its class, so its values are checked when it is stored. Then the userdata becomes
/// the stored object; see ``UnmanagedGraph``.
final class UnmanagedObject {
    let className: String
    let values: LuaTable

    init(_ className: String, _ values: LuaTable) {
        self.className = className
        self.values = values
    }

    static let type: LuaClass<UnmanagedObject> = LuaClass(
        name: "unmanaged object",
        methods: [
            LuaMethod("is_valid") { $1.answer(true) },
            LuaMethod("is_frozen") { $1.answer(false) },
            LuaMethod("update") { object, call in
                for (key, value) in try call.table(2).pairs { object.values.setRaw(key, value) }
                return call.answerArgument(1)
            },
            LuaMethod("freeze") { _, _ in
                throw StoreError(
                    .invalidArgument,
                    "an unmanaged object cannot be frozen; add it to a store with store:add first")
            },
            LuaMethod("to_table") { object, call in
                let copy = call.state.makeTable()
                for (key, value) in object.values.pairs { copy.setRaw(key, value) }
                return call.answer(.table(copy))
            },
            LuaMethod("observe") { _, _ in
                throw StoreError(
                    .invalidArgument,
                    "an unmanaged object cannot be observed; add it to a store with store:add first"
                )
            },
        ],
        metamethods: [
            LuaMethod("__tostring") { object, call in
                let parts = try object.values.pairs.map { key, value in
                    let (key, value) = (
                        try call.state.describe(key), try call.state.describe(value)
                    )
                    return "\(key) = \(value)"
                }.sorted()
                return call.answer(
                    .text("\(object.className) { \(parts.joined(separator: ", ")) } (unmanaged)"))
            },
            LuaMethod("__pairs") { object, call in
                try call.answer([call.state.globals["next"], .table(object.values), .nil])
            },
        ],
        other: { object, key, result in
            let value = object.values.raw(key)
            result.set(value.isNil && key == .text("class") ? .text(object.className) : value)
            return true
        },
        setOther: { object, key, field in
            guard key.text != nil else {
                throw StoreError(
                    .invalidArgument, "expected property names as keys, got a \(key.typeName)"
                )
            }
            object.values.setRaw(key, field.luaValue)
            return true
        })

    /// The function `moonpool.new(class [, values])`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let name = try call.text(1)
        let values = call.state.makeTable()
        if !call.isNil(2) {
            for (key, value) in try call.table(2).pairs { values.setRaw(key, value) }
        }
        return call.answer(UnmanagedObject(name, values), type)
    }
}
