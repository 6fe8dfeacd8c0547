import Charts
import ObjectStore

/// A schema as a graph for Graphviz: a box for each class, an arrow for each link.
struct GraphvizDiagram {
    private let classes: [ClassSchema]

    init(_ classes: [ClassSchema]) { self.classes = classes }

    var text: String {
        var lines = [
            "digraph schema {",
            "  rankdir = LR;",
            "  node [shape = plain, fontname = \"sans-serif\"];",
            "  edge [fontname = \"sans-serif\", fontsize = 10];",
        ]
        for classSchema in classes { lines.append(Self.node(classSchema)) }
        let known = Set(classes.map(\.name))
        for classSchema in classes {
            for property in classSchema.properties where property.type == .object {
                guard let target = property.target else { continue }
                if !known.contains(target) {
                    lines.append("  \(Self.quoted(target)) [shape = box, style = dashed];")
                }
                let isOwning = classes.contains { $0.name == target && $0.isEmbedded }
                var style = ["label = \(Self.quoted(property.name))"]
                if !property.isSingle { style.append("arrowhead = crow") }
                if isOwning { style.append("dir = both, arrowtail = diamond") }
                lines.append(
                    "  \(Self.quoted(classSchema.name)):\(Self.quoted(property.name)) -> "
                        + "\(Self.quoted(target)) [\(style.joined(separator: ", "))];")
            }
        }
        return lines.joined(separator: "\n") + "\n}\n"
    }

    private static func node(_ classSchema: ClassSchema) -> String {
        let title =
            MarkupText.escaped(classSchema.name) + (classSchema.isEmbedded ? " (embedded)" : "")
        var rows = ["<tr><td colspan=\"2\" bgcolor=\"lightgrey\"><b>\(title)</b></td></tr>"]
        for property in classSchema.properties {
            let name = MarkupText.escaped(property.name)
            rows.append(
                "<tr><td align=\"left\" port=\"\(name)\">"
                    + (property.isPrimary ? "<u>\(name)</u>" : name) + "</td><td align=\"left\">"
                    + MarkupText.escaped(PropertySyntax.text(of: property)) + "</td></tr>")
        }
        return "  \(quoted(classSchema.name)) [label = <<table border=\"0\" cellborder=\"1\" "
            + "cellspacing=\"0\">\(rows.joined())</table>>];"
    }

    private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}

/// A schema as an entity-relationship diagram for Mermaid.
///
/// Links are lines with the names of their properties; all other properties are in the boxes.
struct MermaidDiagram {
    private let classes: [ClassSchema]

    init(_ classes: [ClassSchema]) { self.classes = classes }

    var text: String {
        let embedded = Set(classes.lazy.filter(\.isEmbedded).map(\.name))
        var lines = ["erDiagram"]
        for classSchema in classes {
            let rows = classSchema.properties.filter { $0.type != .object }
            guard !rows.isEmpty else {
                lines.append("    \(Self.entity(classSchema.name))")
                continue
            }
            lines.append("    \(Self.entity(classSchema.name)) {")
            lines += rows.map { "        " + Self.attribute($0) }
            lines.append("    }")
        }
        for classSchema in classes {
            for property in classSchema.properties where property.type == .object {
                guard let target = property.target else { continue }
                let isOwning = embedded.contains(target)
                // Many objects can link to one, but each embedded object has its own parent.
                let left = isOwning ? "||" : "}o"
                let right = property.isSingle ? "o|" : "o{"
                lines.append(
                    "    \(Self.entity(classSchema.name)) \(left)--\(right) "
                        + "\(Self.entity(target)) : \"\(property.name)\(Self.kind(of: property))\"")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func entity(_ name: String) -> String {
        LuaLiteral.isName(name) ? name : "\"\(name)\""
    }

    private static func kind(of property: Property) -> String {
        property.isSet ? " (set)" : property.isMap ? " (map)" : ""
    }

    /// Returns the line of a property, `int? age PK "indexed"`, with only the characters that Mermaid allows in types.
    private static func attribute(_ property: Property) -> String {
        var notes: [String] = []
        let element = property.type.rawValue
        var type: String
        if let origin = property.origin {
            type = "backlinks"
            notes.append("of \(origin.className).\(origin.property)")
        } else {
            type =
                property.isList
                ? "\(element)[]"
                : property.isSet ? "set(\(element))" : property.isMap ? "map(\(element))" : element
        }
        if property.isOptional, property.type != .mixed {
            notes.append(property.isSingle ? "optional" : "of optional values")
        }
        if property.isIndexed, !property.isPrimary { notes.append("indexed") }
        if property.isFullText { notes.append("full text") }
        if !property.rules.isEmpty {
            notes.append(property.rules.summary.replacing("\"", with: "'"))
        }
        var line = "\(type) \(property.name)"
        if property.isPrimary { line += " PK" }
        if !notes.isEmpty { line += " \"\(notes.joined(separator: ", "))\"" }
        return line
    }
}
