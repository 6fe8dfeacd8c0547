import ObjectStore
import Reference

/// Converts the objects of a store to Lua code of a migration that creates them.
///
/// The code has two passes because of circular links: first all objects with their plain values, then their links.
struct SquashedData {
    private let store: Store
    private var names: [ObjectReference: String] = [:]

    init(_ store: Store) { self.store = store }

    /// Returns the lines of the function; empty for an empty store.
    ///
    /// Throws `out_of_range` for more objects than a script should contain.
    mutating func lines() throws -> [String] {
        var created: [String] = []
        var links: [(name: String, property: Property, value: Value)] = []
        var count = 0
        for classSchema in store.schema.classes where !classSchema.isEmbedded {
            let results = try store.objects(classSchema.name)
            for index in 0..<(try results.count()) {
                let object = try results.object(at: index)
                count += 1
                guard count <= Self.maximum else {
                    throw StoreError(
                        .invalidArgument,
                        "the migrations create more than \(Self.maximum) objects, too many for one script; squash up to "
                            + "an earlier one")
                }
                let name = "objects[\(count)]"
                names[object.reference] = name
                var values: [String] = []
                for property in classSchema.properties where !property.isBacklinks {
                    let value = try object.value(property.name)
                    let field = LuaLiteral.key(property.name)
                    if let text = try literal(value, property) {
                        values.append("\(field) = \(text)")
                    } else if value != .null {
                        links.append((name, property, value))
                    }
                }
                created.append(
                    "\(name) = m:create(\(LuaLiteral.string(classSchema.name)), { "
                        + values.joined(separator: ", ") + " })")
            }
        }
        guard count > 0 else { return [] }
        // The objects are in one table, because a function can have at most 200 local variables.
        return ["local objects = {}"] + created
            + links.map {
                "\($0.name)\(LuaLiteral.field($0.property.name)) = \(reference($0.value))"
            }
    }

    private static let maximum = 10_000

    /// Returns the value as a literal; nil for links to other objects, except embedded ones, and for nil without a default.
    private func literal(_ value: Value, _ property: Property) throws -> String? {
        switch value {
        case .null: return property.defaultValue == nil ? nil : "moonpool.null"
        case .object(let reference):
            guard let target = store.schema.find(table: reference.table), target.isEmbedded else {
                return nil
            }
            return try embedded(reference, target)
        case .list(let elements) where property.type == .object:
            var texts: [String] = []
            for element in elements {
                guard let text = try literal(element, Self.single(property)) else { return nil }
                texts.append(text)
            }
            return "{ \(texts.joined(separator: ", ")) }"
        case .dictionary(let entries) where property.type == .object:
            var texts: [String] = []
            for (key, element) in entries.sorted(by: { $0.key < $1.key }) {
                guard let text = try literal(element, Self.single(property)) else { return nil }
                texts.append("[\(LuaLiteral.string(key))] = \(text)")
            }
            return "{ \(texts.joined(separator: ", ")) }"
        default: return LuaLiteral.value(value)
        }
    }

    private static func single(_ property: Property) -> Property {
        var property = property
        property.collection = nil
        return property
    }

    private func embedded(_ reference: ObjectReference, _ classSchema: ClassSchema) throws -> String
    {
        var values: [String] = []
        for property in classSchema.properties where !property.isBacklinks {
            let value = try store.view.value(property, of: reference.key, in: classSchema)
            if let text = try literal(value, property) {
                values.append("\(LuaLiteral.key(property.name)) = \(text)")
            }
        }
        return "{ \(values.joined(separator: ", ")) }"
    }

    /// Returns a value with links, in which the linked objects are represented by their names.
    private func reference(_ value: Value) -> String {
        switch value {
        case .object(let reference): names[reference] ?? "nil"
        case .list(let elements): "{ \(elements.map(reference).joined(separator: ", ")) }"
        case .dictionary(let entries):
            "{ "
                + entries.sorted { $0.key < $1.key }.map {
                    "[\(LuaLiteral.string($0.key))] = \(reference($0.value))"
                }.joined(separator: ", ") + " }"
        default: LuaLiteral.value(value)
        }
    }
}
