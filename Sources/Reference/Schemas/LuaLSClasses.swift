import ObjectStore

/// The classes of a schema as annotations of LuaLS: `---@class Dog: moonpool.Object`, with a field for each property.
///
/// They build on the annotations of the API.
struct LuaLSClasses {
    private let classes: [ClassSchema]

    init(_ classes: [ClassSchema]) { self.classes = classes }

    var text: String {
        var text = "---@meta\n-- The classes of a store, for LuaLS. Written by `moonpool luals`.\n"
        for classSchema in classes { text += "\n" + Self.declaration(classSchema) }
        return text
    }

    private static func declaration(_ classSchema: ClassSchema) -> String {
        var lines: [String] = []
        if classSchema.isEmbedded { lines.append("--- Embedded: belongs to its parent.") }
        lines.append("---@class \(classSchema.name): moonpool.Object")
        for property in classSchema.properties {
            // A field's name in brackets may be any string.
            let name =
                LuaLiteral.isName(property.name)
                ? property.name : "[\(LuaLiteral.string(property.name))]"
            lines.append(
                "---@field \(name) \(type(of: property)) \(PropertySyntax.text(of: property))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What a script reads from a property.
    private static func type(of property: Property) -> String {
        if property.isBacklinks {
            return "moonpool.Results<\(property.target ?? "moonpool.Object")>"
        }
        let element = elementType(of: property)
        switch property.collection {
        case .list: return "moonpool.List<\(element)>"
        case .set: return "moonpool.Set<\(element)>"
        case .map: return "moonpool.Map<\(element)>"
        case nil: return element + (property.isOptional && property.type != .mixed ? "?" : "")
        }
    }

    private static func elementType(of property: Property) -> String {
        switch property.type {
        case .bool: "boolean"
        case .int: "integer"
        case .float, .double: "number"
        case .string, .data: "string"
        case .date: "moonpool.Date"
        case .uuid: "moonpool.UUID"
        case .objectID: "moonpool.ObjectID"
        case .decimal: "moonpool.Decimal"
        case .mixed: "any"
        case .object, .backlinks: property.target ?? "moonpool.Object"
        }
    }
}
