import DataFormats
import ObjectStore

/// A schema in JSON, as at the start of an export: `{"Dog": {"id": "int primary", …}}`.
enum SchemaJSON {
    /// Writes classes.
    ///
    /// In Lua, the schema has the form that ``Store`` accepts, with `embedded = true` next to the properties.
    static func write(_ classes: [ClassSchema], to json: inout JSONWriter, isLua: Bool = false) {
        json.beginObject()
        for classSchema in classes {
            json.key(classSchema.name)
            json.beginObject()
            if classSchema.isEmbedded {
                json.key(isLua ? "embedded" : "$embedded")
                json.bool(true)
            }
            for property in classSchema.properties {
                json.key(property.name)
                json.string(PropertySyntax.text(of: property))
            }
            json.endObject()
        }
        json.endObject()
    }

    /// Returns the classes of a line that contains only a schema; nil for any other row.
    ///
    /// Throws `invalid_schema` for types that do not exist.
    static func schema(ofLine tape: JSONTape) throws -> [ClassSchema]? {
        guard tape.kind(0) == .object, tape.kind(1) == .string, tape.equals(1, member),
            tape.kind(tape.after(2)) == .end
        else { return nil }
        return try schema(tape, 2)
    }

    /// Returns the classes of a node that has the form of a schema; nil for any other node.
    static func schema(_ tape: JSONTape, _ node: Int) throws -> [ClassSchema]? {
        guard tape.kind(node) == .object else { return nil }
        var isSchema = true
        JSONNode(tape, node).forEachMember { _, properties in
            if properties.kind != .object { isSchema = false }
            properties.forEachMember { _, type in
                if type.kind != .string, type.kind != .truth, type.kind != .falsehood {
                    isSchema = false
                }
            }
        }
        return isSchema ? try read(tape, node) : nil
    }

    private static let member = Array("$schema".utf8)

    /// Parses the output of `write` from a node of a tape.
    ///
    /// Throws `invalid_schema`.
    static func read(_ tape: JSONTape, _ node: Int) throws -> [ClassSchema] {
        var classes: [ClassSchema] = []
        try JSONNode(tape, node).forEachMember { name, value in
            var isEmbedded = false
            var properties: [Property] = []
            try value.forEachMember { property, type in
                if property == "$embedded" || property == "embedded" && type.kind == .truth {
                    isEmbedded = type.kind == .truth
                } else {
                    guard type.kind == .string else { throw malformed }
                    properties.append(
                        try PropertySyntax.parse(name: property, in: name, type.text))
                }
            }
            classes.append(ClassSchema(name, properties, isEmbedded: isEmbedded))
        }
        return classes
    }

    private static var malformed: StoreError {
        StoreError(
            .invalidSchema, "\"$schema\" must hold classes with their properties' types as text")
    }
}
