import DataFormats
import ObjectStore

/// A schema as JSON, as it stands at the top of an export: `{"Dog": {"id": "int primary", …}}`.
enum SchemaJSON {
    /// Writes classes; in Lua as ``Store`` is given them, where `embedded = true` stands among the properties.
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

    /// Reads what `write` wrote from a node of a tape.
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
