import LuaHost
import ObjectStore

/// The function `moonpool.type_of`: returns the stored type of a value, because one Lua type represents several stored
/// types.
///
/// Lua represents data and strings as strings, and floats and doubles as numbers. An empty list looks like an empty
/// map.
enum TypeFunctions {
    /// Implements `moonpool.type_of(object, property)` and `moonpool.type_of(collection, index or key)`.
    static func typeOf(_ call: borrowing LuaCall) throws -> LuaAnswer {
        if let (_, object) = call.liveObject(1)?.stored {
            let property = try object.classSchema.requireProperty(call.text(2))
            return call.answer(.text(try name(of: property, of: object)))
        }
        let item: NestedCollection.Item?
        if let list = call.optionalObject(1, ListHandle.type) {
            item = try list.collection.element(at: position(call)).map(NestedCollection.Item.value)
        } else if let set = call.optionalObject(1, SetHandle.type) {
            item = try set.collection.element(at: position(call)).map(NestedCollection.Item.value)
        } else if let map = call.optionalObject(1, MapHandle.type) {
            item = try map.collection.value(forKey: call.text(2)).map(NestedCollection.Item.value)
        } else if let list = call.optionalObject(1, NestedHandle.list) {
            item = try list.nested.item(at: position(call))
        } else if let map = call.optionalObject(1, NestedHandle.map) {
            item = try map.nested.item(forKey: call.text(2))
        } else if let values = call.optionalObject(1, ValuesHandle.type) {
            let (all, position) = (try values.values.values(), try position(call))
            item = all.indices.contains(position) ? .value(all[position]) : nil
        } else {
            throw call.typeError(1, "object or collection")
        }
        guard let item else { return call.answer(.nil) }
        return call.answer(.text(name(of: item)))
    }

    private static func position(_ call: borrowing LuaCall) throws -> Int {
        ScriptIndex.position(try call.integer(2))
    }

    private static func name(of property: Property, of object: LiveObject) throws -> String {
        if property.isBacklinks { return "backlinks" }
        if let collection = property.collection {
            _ = try object.value(property.name)
            return collection.name
        }
        if property.type == .mixed {
            return name(of: try NestedCollection.item(at: .property(object, property)))
        }
        return name(of: .value(try object.value(property.name)))
    }

    private static func name(of item: NestedCollection.Item) -> String {
        switch item {
        case .nested(let nested): nested.kind == .list ? "list" : "map"
        case .value(.list): "list"
        case .value(.dictionary): "map"
        case .value(let value): value.typeName
        }
    }
}

/// A single-precision number in Lua, for storing a float in a mixed value, because a Lua number becomes a double.
final class FloatBox: ValueBox {
    let number: Float
    init(_ number: Float) { self.number = number }
    override var value: Value { .float(number) }

    /// Implements `moonpool.float(number)`.
    static func make(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let number = try call.number(1)
        let float = Float(number)
        guard float.isFinite || !number.isFinite else {
            throw call.argumentError(1, "\(number) is out of the range of a float")
        }
        return call.answer(FloatBox(float), type)
    }

    static let type: LuaClass<FloatBox> = LuaClass(
        name: "float",
        methods: [
            LuaMethod("to_number") { float, call in call.answer(.number(Double(float.number))) }
        ],
        metamethods: [
            LuaMethod("__tostring") { $1.answer(.text($0.number.description)) },
            LuaMethod.equality(of: type) { $0.number == $1.number },
        ])
}
