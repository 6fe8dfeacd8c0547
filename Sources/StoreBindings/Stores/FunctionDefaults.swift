import LuaHost
import ObjectStore

/// The functions among the defaults of a schema: `default = function() … end`.
///
/// They live as long as the script that declared them; the file does not know them.
final class FunctionDefaults {
    private var functions: [String: [String: LuaFunction]] = [:]

    /// The function that gives the values of a property, if this script declared one.
    func function(of property: Property, in classSchema: ClassSchema) -> LuaFunction? {
        functions[classSchema.name]?[property.name]
    }

    /// Lets go of all functions; at the end of the state.
    func forget() { functions = [:] }

    /// Takes the functions of a schema that the store has just taken; properties that are declared without one lose
    /// theirs.
    func take(_ schema: LuaTable, for handle: StoreHandle) throws {
        for (key, properties) in schema.pairs {
            guard let className = key.text, let properties = properties.table else { continue }
            for (name, declaration) in Self.declarations(properties) {
                var function: LuaFunction?
                if case .function(let given)? = declaration.table?["default"] { function = given }
                guard function != nil || functions[className]?[name] != nil else { continue }
                functions[className, default: [:]][name] = function
                try handle.store.setDefault(
                    of: name, in: className,
                    to: function == nil
                        ? nil
                        : { [weak handle] in
                            guard let handle else {
                                throw StoreError(.closed, "the script has ended")
                            }
                            return try handle.functionDefaults.value(name, className, handle)
                        })
            }
        }
    }

    /// Names and declarations of either form.
    private static func declarations(_ table: LuaTable) -> [(name: String, LuaValue)] {
        guard table.count > 0 else {
            return table.pairs.compactMap { key, value in key.text.map { ($0, value) } }
        }
        return table.array.compactMap { element in
            guard let pair = element.table, let name = pair[1].text ?? pair["name"].text else {
                return nil
            }
            return (name, pair["type"].isNil ? pair[2] : element)
        }
    }

    private func value(
        _ name: String, _ className: String, _ handle: StoreHandle
    ) throws -> Value {
        guard let function = functions[className]?[name],
            let classSchema = handle.store.view.schema.find(className),
            let property = classSchema.property(named: name)
        else { throw StoreError(.closed, "the script has ended") }
        let made = try function.call([]).first ?? .nil
        return try ValueBridge(handle, nil).value(made, for: property, of: classSchema)
    }
}
