import DataFormats
import ObjectStore

/// A schema as one JSON object, for other programs.
///
///     {"schema_version":0,"classes":[{"name":"Dog","embedded":false,"properties":[
///       {"name":"id","type":"int","optional":false,"declaration":"int primary","primary":true}],"indexes":[]}]}
struct SchemaJSONText {
    private let classes: [ClassSchema]
    private let version: UInt64

    init(_ classes: [ClassSchema], version: UInt64) {
        self.classes = classes
        self.version = version
    }

    var text: String {
        var json = JSONWriter()
        json.beginObject()
        json.member("schema_version", version)
        json.key("classes")
        json.beginArray()
        for classSchema in classes { Self.write(classSchema, to: &json) }
        json.endArray()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self) + "\n"
    }

    private static func write(_ classSchema: ClassSchema, to json: inout JSONWriter) {
        json.beginObject()
        json.member("name", classSchema.name)
        json.member("embedded", classSchema.isEmbedded)
        json.key("properties")
        json.beginArray()
        for property in classSchema.properties { write(property, to: &json) }
        json.endArray()
        json.key("indexes")
        json.beginArray()
        for index in classSchema.indexes {
            json.beginArray()
            for name in index.properties { json.string(name) }
            json.endArray()
        }
        json.endArray()
        json.endObject()
    }

    private static func write(_ property: Property, to json: inout JSONWriter) {
        json.beginObject()
        json.member("name", property.name)
        json.member("type", property.type.rawValue)
        json.member("optional", property.isOptional)
        json.member("declaration", PropertySyntax.text(of: property))
        if let collection = property.collection {
            json.member("collection", collection.name)
        }
        if let target = property.target {
            json.member("class", target)
        }
        if let origin = property.origin {
            json.member("property", origin.property)
        }
        for (name, flag) in [
            ("primary", property.isPrimary), ("indexed", property.isIndexed),
            ("fulltext", property.isFullText),
        ] where flag {
            json.key(name)
            json.bool(true)
        }
        if let value = property.defaultValue {
            json.key("default")
            write(value, to: &json)
        }
        for (name, value) in property.rules.options {
            json.key(name)
            write(value, to: &json)
        }
        if property.storedName != property.name {
            json.member("map_to", property.storedName)
        }
        json.endObject()
    }

    /// Writes values that JSON cannot represent as text, as in messages.
    private static func write(_ value: Value, to json: inout JSONWriter) {
        switch value {
        case .null, .object: json.null()
        case .bool(let flag): json.bool(flag)
        case .int(let number): json.int(number)
        case .float(let number) where number.isFinite: json.double(Double(number))
        case .double(let number) where number.isFinite: json.double(number)
        case .string(let text): json.string(text)
        case .list(let values):
            json.beginArray()
            for value in values { write(value, to: &json) }
            json.endArray()
        case .dictionary(let entries):
            json.beginObject()
            for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
                json.key(key)
                write(value, to: &json)
            }
            json.endObject()
        default: json.string(value.summary)
        }
    }
}

/// The formats in which a schema can be printed.
package enum SchemaFormat: String, Sendable, CaseIterable {
    /// A script that returns the schema for `moonpool.open` and `store:define`.
    case lua
    /// An entity-relationship diagram for Mermaid.
    case mermaid
    /// A graph for Graphviz.
    case dot
    /// One JSON object.
    case json
    /// Annotations for LuaLS.
    case luals
}

/// A schema, or some of its classes, as text.
package struct SchemaDocument: Sendable {
    /// The classes in the document, sorted by name.
    package let classes: [ClassSchema]
    /// The schema version.
    package let version: UInt64

    /// Creates a document with all classes of a schema.
    package init(_ schema: Schema) {
        classes = schema.classes
        version = schema.version
    }

    /// Creates a document with classes that are not in a store.
    package init(_ classes: [ClassSchema]) {
        self.classes = classes.sorted { $0.name < $1.name }
        version = 0
    }

    /// Creates a document with one class.
    ///
    /// Throws `unknown_class` with the most similar known name.
    package init(_ schema: Schema, className: String) throws {
        classes = [try schema.require(className)]
        version = schema.version
    }

    /// Returns the text, which ends with a newline.
    package func text(as format: SchemaFormat) -> String {
        switch format {
        case .lua: LuaSchemaText(classes).script
        case .mermaid: MermaidDiagram(classes).text
        case .dot: GraphvizDiagram(classes).text
        case .json: SchemaJSONText(classes, version: version).text
        case .luals: LuaLSClasses(classes).text
        }
    }

    /// Returns the schema as a table constructor inside a script, with all lines after the first indented.
    package func lua(indent: Int) -> String {
        let space = String(repeating: " ", count: indent)
        let body = classes.map { LuaSchemaText.declaration($0, indent: space + "  ") }.joined()
        return body.isEmpty ? "{}" : "{\n\(body)\(space)}"
    }
}
