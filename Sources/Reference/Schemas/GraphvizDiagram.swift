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
