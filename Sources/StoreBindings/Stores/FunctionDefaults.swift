import LuaHost
import ObjectStore

/// The default functions of a schema: `default = function() … end`.
///
/// They exist until the script that declared them ends. The file does not contain them.
final class FunctionDefaults {
    private var functions: [String: [String: LuaFunction]] = [:]

    /// The default function of a property, if this script declared one.
    func function(of property: Property, in classSchema: ClassSchema) -> LuaFunction? {
        functions[classSchema.name]?[property.name]
    }

    /// Releases all functions, when the Lua state closes.
    func forget() { functions = [:] }

    /// Registers the default functions of a schema that the store has just adopted.
    ///
    /// A property that is declared without a function loses its earlier function.
    func take(_ schema: LuaTable, for handle: StoreHandle) throws {
        for (key, properties) in schema.pairs {
            guard let className = key.text, let properties = properties.table else { continue }
            for (name, declaration) in Self.declarations(properties) {
                if declaration.table?["ignored"].isTruthy == true { continue }
                var function: LuaFunction?
                if case .function(let given)? = declaration.table?["default"] { function = given }
                guard function != nil || functions[className]?[name] != nil else { continue }
                functions[className, default: [:]][name] = function
                try handle.store.setDefault(
                    of: name, in: className,
                    to: function.map { function in { try function.call([]).first ?? .nil } },
                    convert: { [weak handle] in
                        guard let handle else {
                            throw StoreError(.closed, "the script has ended")
                        }
                        return try Self.value($0, of: name, in: className, handle)
                    })
            }
        }
    }

    /// Returns names and declarations from a table in either form.
    static func declarations(_ table: LuaTable) -> [(name: String, LuaValue)] {
        guard table.count > 0, table[1].text == nil else {
            return table.pairs.compactMap { key, value in key.text.map { ($0, value) } }
        }
        return table.array.compactMap { element in
            guard let pair = element.table, let name = pair[1].text ?? pair["name"].text else {
                return nil
            }
            return (name, pair["type"].isNil ? pair[2] : element)
        }
    }

    private static func value(
        _ result: LuaValue, of name: String, in className: String, _ handle: StoreHandle
    ) throws -> Value {
        let classSchema = try handle.store.view.schema.require(className)
        let property = try classSchema.requireProperty(name)
        return try ValueBridge(handle, nil).value(result, for: property, of: classSchema)
    }
}
