import ObjectStore

/// Formats a schema as `moonpool.open` and `store:define` accept it.
package struct LuaSchemaText {
    private let classes: [ClassSchema]

    init(_ classes: [ClassSchema]) { self.classes = classes }

    /// A script that returns the schema.
    var script: String {
        let body = classes.map { Self.declaration($0, indent: "  ") }.joined()
        // Default values such as dates call functions of the module.
        let header = body.contains("moonpool.") ? "local moonpool = require \"moonpool\"\n\n" : ""
        return header + (body.isEmpty ? "return {}\n" : "return {\n\(body)}\n")
    }

    /// Returns the declaration of a class, `Dog = { … },` with a property on each line.
    ///
    /// Properties are keyed by name if this keeps their order; otherwise they are in an array.
    static func declaration(_ classSchema: ClassSchema, indent: String) -> String {
        let properties = classSchema.properties
        let canonical = properties.sorted {
            ($0.isPrimary ? 0 : 1, $0.name) < ($1.isPrimary ? 0 : 1, $1.name)
        }
        let isNamed = properties == canonical
        let names = properties.map {
            isNamed ? LuaLiteral.key($0.name) : LuaLiteral.string($0.name) + ","
        }
        let width = names.map(\.count).max() ?? 0
        var lines: [String] = []
        if classSchema.isEmbedded { lines.append("embedded = true") }
        for (name, property) in zip(names, properties) {
            let gap = String(repeating: " ", count: width - name.count)
            let type = Self.type(of: property)
            lines.append(isNamed ? "\(name)\(gap) = \(type)" : "{ \(name)\(gap) \(type) }")
        }
        if !classSchema.indexes.isEmpty {
            let indexes = classSchema.indexes.map { index in
                "{ \(index.properties.map(LuaLiteral.string).joined(separator: ", "))"
                    + (index.isUnique ? ", unique = true }" : " }")
            }
            lines.append("indexes = { \(indexes.joined(separator: ", ")) }")
        }
        let key = LuaLiteral.key(classSchema.name)
        guard !lines.isEmpty else { return "\(indent)\(key) = {},\n" }
        return "\(indent)\(key) = {\n" + lines.map { "\(indent)  \($0),\n" }.joined()
            + "\(indent)},\n"
    }

    /// Returns the rules of a property as further options: `, min = 0, max = 150`.
    package static func rules(of property: Property) -> String {
        property.rules.options.map { ", \($0.name) = \(LuaLiteral.value($0.value))" }.joined()
    }

    /// Returns the type of a property: `"int?"`, or the long form if there are more attributes.
    private static func type(of property: Property) -> String {
        let text = LuaLiteral.string(PropertySyntax.text(of: property))
        var more = ""
        if let value = property.defaultValue { more += ", default = \(LuaLiteral.value(value))" }
        if property.storedName != property.name {
            more += ", map_to = \(LuaLiteral.string(property.storedName))"
        }
        more += rules(of: property)
        return more.isEmpty ? text : "{ type = \(text)\(more) }"
    }
}
