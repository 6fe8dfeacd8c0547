import LuaHost
import ObjectStore

/// The properties that a script declares with `ignored = true`.
///
/// Neither the file nor the store knows them. A value belongs to one handle of an object: other handles of the object,
/// and other scripts, have their own. A property of the file with the same name hides an ignored one.
final class IgnoredProperties {
    /// One ignored property.
    struct Declaration {
        let property: Property
        /// The default value, or the function that returns it.
        let initial: LuaValue
    }

    private var declarations: [String: [String: Declaration]] = [:]
    /// The values of each handle by name; the handles are weak keys.
    private let values: LuaTable
    private unowned let state: LuaState  // used only while the state runs

    init(_ state: LuaState) {
        self.state = state
        values = StoreModule.weakTable(state, "k")
    }

    /// Returns the declarations of a class by name.
    func all(of classSchema: ClassSchema) -> [String: Declaration] {
        guard !declarations.isEmpty, let all = declarations[classSchema.name] else { return [:] }
        return all.filter { classSchema.property(named: $0.key) == nil }
    }

    func find(_ name: String, in classSchema: ClassSchema) -> Declaration? {
        guard !declarations.isEmpty, classSchema.property(named: name) == nil else { return nil }
        return declarations[classSchema.name]?[name]
    }

    /// Registers the ignored properties of a schema that the store has just adopted.
    ///
    /// A class that is declared as a whole loses its earlier ones.
    func take(_ schema: LuaTable, for handle: StoreHandle) throws {
        let arguments = SchemaArguments(handle.json)
        for (key, properties) in schema.pairs {
            guard let className = key.text, let properties = properties.table else { continue }
            var found = SchemaArguments.isPartial(properties) ? declarations[className] ?? [:] : [:]
            for (name, declaration) in FunctionDefaults.declarations(properties) {
                let ignored = try arguments.ignored(name, declaration, in: className)
                found[name] = ignored.map {
                    Declaration(property: $0, initial: declaration.table?["default"] ?? .nil)
                }
            }
            declarations[className] = found.isEmpty ? nil : found
        }
    }

    /// Returns the value that a handle keeps, or the default.
    ///
    /// A default function is called once for each handle.
    func value(of name: String, _ declaration: Declaration, for object: LuaValue) throws -> LuaValue
    {
        let known = values.raw(object).table?.raw(.text(name)) ?? .nil
        guard known.isNil else { return known }
        guard let function = declaration.initial.function else { return declaration.initial }
        let made = try function.call([]).first ?? .nil
        keep(made, as: name, for: object)
        return made
    }

    /// Keeps a value with a handle; nil restores the default.
    ///
    /// Throws `type_mismatch`. A mixed property takes every value of Lua.
    func set(
        _ name: String, _ declaration: Declaration, for object: LuaValue, to value: LuaValue,
        in classSchema: ClassSchema, _ handle: StoreHandle
    ) throws {
        let isNull = value.isNil || value.userdata?.object(as: NullMarker.type) != nil
        let property = declaration.property
        if !isNull, property.type != .mixed {
            let converted = try ValueBridge(handle, nil).value(
                value, for: property, of: classSchema)
            _ = try ValueConversion.stored(converted, property, classSchema)
        }
        keep(isNull ? .nil : value, as: name, for: object)
    }

    /// Keeps the ignored ones of the named values with a handle.
    func set(
        _ named: LuaTable, for object: LuaValue, in classSchema: ClassSchema, _ handle: StoreHandle
    ) throws {
        for (name, declaration) in all(of: classSchema) {
            let value = named.raw(.text(name))
            if value.isNil { continue }
            try set(name, declaration, for: object, to: value, in: classSchema, handle)
        }
    }

    private func keep(_ value: LuaValue, as name: String, for object: LuaValue) {
        if let kept = values.raw(object).table { return kept[name] = value }
        let kept = state.makeTable(fields: 1)
        kept[name] = value
        values.setRaw(object, .table(kept))
    }

    /// Releases the declarations, when the Lua state closes.
    func forget() { declarations = [:] }
}
