import LuaHost
import ObjectStore

/// An object that is not stored yet: a class name and values, created by `moonpool.new` or `store:new`, and stored by
/// `store:add`.
///
/// An object of `moonpool.new` has only the name of its class. One of `store:new` also has the defaults of the class,
/// and knows the names of its properties. Values are checked when the object is stored. Then the userdata becomes the
/// stored object; see ``UnmanagedGraph``.
final class UnmanagedObject {
    let className: String
    let values: LuaTable
    /// The store whose class the object has; nil for an object of `moonpool.new`.
    private weak var handle: StoreHandle?

    init(_ className: String, _ values: LuaTable) {
        self.className = className
        self.values = values
    }

    /// Creates an object with the given values, by name or in schema order, and with the defaults of the others.
    ///
    /// Properties that are collections are empty tables. Throws `unknown_property`, and the errors of default functions.
    init(_ classSchema: ClassSchema, _ given: LuaTable?, in handle: StoreHandle) throws {
        className = classSchema.name
        values = handle.state.makeTable(fields: classSchema.properties.count)
        self.handle = handle
        let isOrdered = given.map { $0.count > 0 } ?? false
        for (key, value) in given?.pairs ?? [] {
            var key = key
            if isOrdered, let position = key.integer {
                guard position >= 1, position <= classSchema.properties.count else {
                    throw StoreError(
                        .invalidArgument,
                        "'\(className)' has \(classSchema.properties.count) properties, got a value for "
                            + "number \(position)")
                }
                key = .text(classSchema.properties[Int(position) - 1].name)
            }
            try check(key)
            values.setRaw(key, value)
        }
        for property in classSchema.properties
        where !property.isBacklinks && values[property.name].isNil {
            if let function = handle.functionDefaults.function(of: property, in: classSchema) {
                values[property.name] = try function.call([]).first ?? .nil
            } else if let value = property.defaultValue {
                values[property.name] = ValueBridge(handle, nil).lua(value)
            } else if property.collection != nil {
                values[property.name] = .table(handle.state.makeTable())
            }
        }
        for (name, declaration) in handle.ignoredProperties.all(of: classSchema)
        where values[name].isNil {
            values[name] =
                try declaration.initial.function.map { try $0.call([]).first ?? .nil }
                ?? declaration.initial
        }
    }

    /// Throws `unknown_property` for a name that the class in the store does not have.
    private func check(_ key: LuaValue) throws {
        guard let name = key.text else {
            throw StoreError(
                .invalidArgument, "expected property names as keys, got a \(key.typeName)")
        }
        guard let handle, let classSchema = handle.store.view.schema.find(className),
            handle.ignoredProperties.find(name, in: classSchema) == nil
        else { return }
        _ = try classSchema.requireProperty(name)
    }

    static let type: LuaClass<UnmanagedObject> = LuaClass(
        name: "unmanaged object",
        methods: [
            LuaMethod("is_valid") { $1.answer(true) },
            LuaMethod("is_frozen") { $1.answer(false) },
            LuaMethod("update") { object, call in
                for (key, value) in try call.table(2).pairs {
                    try object.check(key)
                    object.values.setRaw(key, value)
                }
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
            LuaMethod("observe") { _, _ in throw cannotBeObserved },
            LuaMethod("observe_value") { _, _ in throw cannotBeObserved },
        ],
        metamethods: [
            LuaMethod("__tostring") { object, call in
                let parts = try object.values.pairs.map { key, value in
                    // An address would say nothing about a collection.
                    let shown =
                        try value.table.map { $0.pairs.isEmpty ? "{}" : "{ … }" }
                        ?? "\(call.state.describe(value))"
                    return "\(try call.state.describe(key)) = \(shown)"
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
            if value.isNil, key == .text("class") {
                result.set(object.className)
            } else {
                if value.isNil, key != .text("store") { try object.check(key) }
                result.set(value)
            }
            return true
        },
        setOther: { object, key, field in
            try object.check(key)
            object.values.setRaw(key, field.luaValue)
            return true
        })

    private static var cannotBeObserved: StoreError {
        StoreError(
            .invalidArgument,
            "an unmanaged object cannot be observed, because only a store reports changes; add it to a store "
                + "with store:add first")
    }

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
