import LuaHost
import ObjectStore

/// The function `moonpool.type_of`: returns the stored type of a value, because one Lua type represents several stored
/// types.
///
/// Lua represents data and strings as strings, and floats and doubles as numbers. An empty list looks like an empty
/// map.
enum TypeFunctions {
    private typealias Item = NestedCollection.Item

    /// Implements `moonpool.type_of(object, property)` and `moonpool.type_of(collection, index or key)`.
    static func typeOf(_ call: borrowing LuaCall) throws -> LuaAnswer {
        let item: NestedCollection.Item?
        switch call[1].userdata?.held?.value {
        case .object(let object):
            let property = try object.classSchema.requireProperty(call.text(2))
            return call.answer(.text(try name(of: property, of: object)))
        case .list(let list): item = try list.element(at: position(call)).map(Item.value)
        case .set(let set): item = try set.element(at: position(call)).map(Item.value)
        case .map(let map): item = try map.value(forKey: call.text(2)).map(Item.value)
        case .nested(let nested) where nested.kind == .list:
            item = try nested.item(at: position(call))
        case .nested(let nested): item = try nested.item(forKey: call.text(2))
        case .values(let values):
            let (all, position) = (try values.values(), try position(call))
            item = all.indices.contains(position) ? .value(all[position]) : nil
        case .results, .store, nil: throw call.typeError(1, "object or collection")
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
