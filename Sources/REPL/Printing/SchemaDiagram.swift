import Charts
import ObjectStore

/// The classes of a schema as boxes with their counts, and their links as lines.
struct SchemaDiagram {
    let schema: Schema
    /// Returns the number of objects of a class.
    let count: (ClassSchema) throws -> Int

    /// The maximum number of classes in a diagram; a tree shows more classes better.
    static let mostClasses = 40

    var diagram: BoxDiagram {
        get throws {
            try BoxDiagram(boxes: schema.classes.map(box))
        }
    }

    private func box(_ found: ClassSchema) throws -> BoxDiagram.Box {
        let objects = try ValueText.count(count(found))
        return BoxDiagram.Box(
            title: found.name, remark: found.isEmbedded ? "embedded \(objects)" : objects,
            rows: found.properties.map { property in
                // Backlinks follow from the links of the other class.
                let target = property.isBacklinks ? nil : schema.target(of: property)
                let text = PropertySyntax.text(of: property)
                return BoxDiagram.Row(
                    property.name,
                    property.isBacklinks ? text.replacing("backlinks ", with: "← ") : text,
                    link: target.flatMap { target in
                        schema.classes.firstIndex { $0.table == target.table }
                    })
            })
    }
}
