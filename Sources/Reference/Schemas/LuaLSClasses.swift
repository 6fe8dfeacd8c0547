import ObjectStore

/// The classes of a schema as annotations of LuaLS: `---@class Dog: moonpool.Object`, with a field for each property.
///
/// The declarations refer to the annotations of the API.
struct LuaLSClasses {
    private let classes: [ClassSchema]

    init(_ classes: [ClassSchema]) { self.classes = classes }

    var text: String {
        "---@meta\n-- The classes of a store, for LuaLS. Written by `moonpool luals`.\n"
            + declarations
    }

    /// The declarations of the classes, each after an empty line.
    var declarations: String {
        var text = ""
        for classSchema in classes {
            text += "\n"
            text +=
                Self.reservedTypes.contains(classSchema.name)
                ? "-- '\(classSchema.name)' is omitted: LuaLS has a type with this name.\n"
                : Self.declaration(classSchema)
        }
        return text
    }

    /// Names that have another meaning as a type.
    ///
    /// For example, a class named `string` would give every string its properties.
    private static let reservedTypes: Set = [
        "unknown", "any", "nil", "boolean", "true", "false", "number", "integer", "thread", "table",
        "string", "userdata", "lightuserdata", "function", "fun", "async", "self", "void",
    ]
    /// Words that set the visibility of a field before its name.
    private static let visibilities: Set = ["public", "protected", "private", "package"]

    private static func declaration(_ classSchema: ClassSchema) -> String {
        var lines: [String] = []
        if classSchema.isEmbedded { lines.append("--- Embedded: belongs to its parent.") }
        lines.append("---@class \(classSchema.name): moonpool.Object")
        for property in classSchema.properties {
            // A field name in brackets can be any string.
            let name =
                LuaLiteral.isName(property.name) && !visibilities.contains(property.name)
                ? property.name : "[\(LuaLiteral.string(property.name))]"
            lines.append(
                "---@field \(name) \(type(of: property)) \(PropertySyntax.text(of: property))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the type that a script reads from a property.
    private static func type(of property: Property) -> String {
        if property.isBacklinks {
            return "moonpool.Results<\(property.target ?? "moonpool.Object")>"
        }
        let isOptional = property.isOptional && property.type != .mixed
        let element = (property.target ?? property.type.traits.luaType) + (isOptional ? "?" : "")
        return switch property.collection {
        case .list: "moonpool.List<\(element)>"
        case .set: "moonpool.Set<\(element)>"
        case .map: "moonpool.Map<\(element)>"
        case nil: element
        }
    }
}
