import ObjectStore

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
