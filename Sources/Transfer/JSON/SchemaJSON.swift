import DataFormats
import ObjectStore

/// A schema in JSON, as at the start of an export: `{"Dog": {"id": "int primary", …}}`.
///
/// A property with a default value, another name in the file, or rules has the long form `{"type": "int", "default": 7,
/// "map_to": "years", "min": 0}`. Next to the properties, a class can have `"$embedded": true` and `"$indexes": [["owner",
/// "age"], {"unique": ["city", "name"]}]`. In Lua, these names have no dollar sign. Functions as default values belong
/// to a script, and are not written.
enum SchemaJSON {
    /// Writes the classes of a version, in the order of their names.
    static func write(_ view: StoreView, to json: inout JSONWriter) throws {
        let prefix = json.isLua ? "" : "$"
        json.beginObject()
        for classSchema in view.schema.classes.sorted(by: { $0.name < $1.name }) {
            json.key(classSchema.name)
            json.beginObject()
            if classSchema.isEmbedded { json.member("\(prefix)embedded", true) }
            for property in classSchema.properties {
                json.key(property.name)
                try write(property, of: view, to: &json)
            }
            if !classSchema.indexes.isEmpty {
                json.key("\(prefix)indexes")
                write(classSchema.indexes, to: &json)
            }
            json.endObject()
        }
        json.endObject()
    }

    private static func write(
        _ property: Property, of view: StoreView, to json: inout JSONWriter
    ) throws {
        let type = PropertySyntax.text(of: property)
        guard
            property.defaultValue != nil || property.storedName != property.name
                || !property.rules.isEmpty
        else {
            return json.string(type)
        }
        json.beginObject()
        json.member("type", type)
        if let value = property.defaultValue {
            json.key("default")
            try RowEncoder(view: view).write(value, property, to: &json)
        }
        if property.storedName != property.name { json.member("map_to", property.storedName) }
        for (name, value) in property.rules.options {
            json.key(name)
            try RowEncoder(view: view).write(value, ruleType(name, property), to: &json)
        }
        json.endObject()
    }

    /// Returns a property of the type that the value of a rule has.
    private static func ruleType(_ option: String, _ property: Property) -> Property {
        var type = property
        type.collection = option == "enum" ? .list : nil
        switch option {
        case "pattern": type.type = .string
        case "unique", "owns": type.type = .bool
        default: break
        }
        return type
    }

    private static func write(_ indexes: [CompositeIndex], to json: inout JSONWriter) {
        json.beginArray()
        for index in indexes {
            if index.isUnique {
                json.beginObject()
                json.key("unique")
            }
            json.beginArray()
            for name in index.properties { json.string(name) }
            json.endArray()
            if index.isUnique { json.endObject() }
        }
        json.endArray()
    }

    /// Returns the classes of the first row of a file, if it is a schema; nil for any other row.
    ///
    /// A schema is in the list `$schema`, or the only member of a line. Throws `invalid_schema` for types that do not
    /// exist.
    static func schema(_ tape: JSONTape, section: String?) throws -> [ClassSchema]? {
        if let section {
            guard section == "$schema" else { return nil }
            // In Lua, a schema without classes is an empty list.
            let root = JSONNode(tape)
            return root.mayBeObject && root.kind == .array ? [] : try schema(tape, 0)
        }
        guard tape.kind(0) == .object, tape.kind(1) == .string, tape.equals(1, member),
            tape.kind(tape.after(2)) == .end
        else { return nil }
        return try schema(tape, 2)
    }

    /// Returns the classes of a node that has the form of a schema; nil for any other node.
    private static func schema(_ tape: JSONTape, _ node: Int) throws -> [ClassSchema]? {
        guard tape.kind(node) == .object else { return nil }
        var isSchema = true
        JSONNode(tape, node).forEachMember { _, properties in
            if !properties.mayBeObject { isSchema = false }
            properties.forEachMember { name, type in
                if !isDeclaration(type, named: name) { isSchema = false }
            }
        }
        return isSchema ? try read(tape, node) : nil
    }

    private static let member = Array("$schema".utf8)

    /// Whether a member of a class has the form of a declaration, so that no row of data is taken for a schema.
    private static func isDeclaration(_ node: JSONNode, named name: String) -> Bool {
        switch node.kind {
        case .string, .truth, .falsehood: return true
        case .array:
            var isList = indexesNames.contains(name)
            node.forEachElement { if names(of: $0) == nil { isList = false } }
            return isList
        case .object:
            var hasType = false
            var isKnown = true
            node.forEachMember { name, value in
                switch name {
                case "type": hasType = value.kind == .string
                case "map_to": if value.kind != .string { isKnown = false }
                case "default": break
                case _ where PropertyRules.optionNames.contains(name): break
                default: isKnown = false
                }
            }
            return hasType && isKnown
        default: return false
        }
    }

    private static let indexesNames: Set = ["$indexes", "indexes"]

    /// Returns the properties of an index, and whether it is unique; nil for any other node.
    private static func names(of node: JSONNode) -> CompositeIndex? {
        let unique = node.only("unique")
        let list = unique ?? node
        guard list.kind == .array else { return nil }
        var names: [String] = []
        var isText = true
        list.forEachElement {
            if $0.kind == .string { names.append($0.text) } else { isText = false }
        }
        return isText ? CompositeIndex(names, isUnique: unique != nil) : nil
    }

    /// Parses the output of `write` from a node of a tape.
    ///
    /// Throws `invalid_schema`.
    static func read(_ tape: JSONTape, _ node: Int) throws -> [ClassSchema] {
        var classes: [ClassSchema] = []
        try JSONNode(tape, node).forEachMember { name, value in
            var isEmbedded = false
            var properties: [Property] = []
            var indexes: [CompositeIndex] = []
            try value.forEachMember { property, type in
                if property == "$embedded" || property == "embedded" && type.kind == .truth {
                    isEmbedded = type.kind == .truth
                } else if type.kind == .array, indexesNames.contains(property) {
                    try type.forEachElement {
                        guard let index = names(of: $0) else { throw malformed }
                        indexes.append(index)
                    }
                } else {
                    properties.append(try read(type, named: property, in: name))
                }
            }
            classes.append(
                ClassSchema(name, properties, isEmbedded: isEmbedded, indexes: indexes))
        }
        return classes
    }

    private static func read(
        _ node: JSONNode, named name: String, in className: String
    ) throws -> Property {
        if let type = node.string {
            return try PropertySyntax.parse(name: name, in: className, type)
        }
        let members = node.members
        guard let type = members["type"]?.string else { throw malformed }
        var property = try PropertySyntax.parse(name: name, in: className, type)
        if let value = members["default"] {
            property.defaultValue = try defaultValue(value, property)
        }
        if let stored = members["map_to"]?.string { property.storedName = stored }
        for option in PropertyRules.optionNames {
            guard let node = members[option] else { continue }
            try property.rules.set(
                option, to: defaultValue(node, ruleType(option, property)),
                of: "'\(className).\(name)'")
        }
        return property
    }

    private static func defaultValue(_ node: JSONNode, _ property: Property) throws -> Value {
        func single(_ node: JSONNode) throws -> Value {
            switch (property.type, node.kind) {
            case (_, .null): return .null
            case (.mixed, _): return try MixedJSON { _, _ in throw malformed }.value(node)
            // Schemas in Lua have no other number type for floats, and a default of another type would be a change.
            case (.float, .int), (.float, .real):
                if let number = node.tape.exactDouble(node.index) { return .double(number) }
            default: if let value = ExtendedJSON.plain(node, as: property.type) { return value }
            }
            throw StoreError(
                .invalidSchema,
                "'\(property.name)': the default \(node.description) is not a valid \(property.typeName)"
            )
        }
        return try ExtendedJSON.collection(node, property, single) ?? single(node)
    }

    private static var malformed: StoreError {
        StoreError(
            .invalidSchema,
            "\"$schema\" must hold classes with their properties' types, as text or as "
                + "{\"type\": \"int\", \"default\": 7}")
    }
}
