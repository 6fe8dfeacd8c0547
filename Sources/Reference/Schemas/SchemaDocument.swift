import ObjectStore

/// The forms in which a schema can be shown.
package enum SchemaFormat: String, Sendable, CaseIterable {
    /// What `moonpool.open` and `store:define` take, as a script that returns it.
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
    /// The classes that are shown, in the order of their names.
    package let classes: [ClassSchema]
    /// The number that migrations count.
    package let version: UInt64

    /// A document about all classes of a schema.
    package init(_ schema: Schema) {
        classes = schema.classes
        version = schema.version
    }

    /// A document about classes that no store has yet.
    package init(_ classes: [ClassSchema]) {
        self.classes = classes.sorted { $0.name < $1.name }
        version = 0
    }

    /// A document about one class.
    ///
    /// Throws `unknown_class` with the nearest name there is.
    package init(_ schema: Schema, className: String) throws {
        classes = [try schema.require(className)]
        version = schema.version
    }

    /// The text, which ends with a new line.
    package func text(as format: SchemaFormat) -> String {
        switch format {
        case .lua: LuaSchemaText(classes).script
        case .mermaid: MermaidDiagram(classes).text
        case .dot: GraphvizDiagram(classes).text
        case .json: SchemaJSONText(classes, version: version).text
        case .luals: LuaLSClasses(classes).text
        }
    }

    /// The schema as a table constructor inside of a script, whose lines after the first are indented.
    package func lua(indent: Int) -> String {
        let space = String(repeating: " ", count: indent)
        let body = classes.map { LuaSchemaText.declaration($0, indent: space + "  ") }.joined()
        return body.isEmpty ? "{}" : "{\n\(body)\(space)}"
    }
}
