import ObjectStore

/// Classes and their properties as a tree: links name their class, and embedded classes are below the property that
/// contains them.
struct SchemaTree {
    let schema: Schema
    let style: Style
    /// Returns the number of objects of a class.
    let count: (ClassSchema) throws -> Int

    private static let deepest = 6

    /// Returns the lines of one class.
    func lines(of found: ClassSchema) throws -> [String] {
        let objects = try ValueText.count(count(found), "object")
        let kind = found.isEmbedded ? "embedded, " : ""
        let title = style.paint(found.name, .type) + " " + style.paint("(\(kind)\(objects))", .dim)
        return [title] + properties(of: found, indent: "", path: [found.name])
    }

    private func properties(of found: ClassSchema, indent: String, path: [String]) -> [String] {
        let width = found.properties.map { Piece($0.name).width }.max() ?? 0
        return found.properties.enumerated().flatMap { index, property in
            let isLast = index == found.properties.count - 1
            let padding = String(repeating: " ", count: width - Piece(property.name).width)
            let branch = style.paint(indent + (isLast ? "└─ " : "├─ "), .dim)
            var line =
                branch + style.paint(property.name, .key) + padding + "  "
                + style.paint(PropertySyntax.text(of: property), .string)
            if let value = property.defaultValue { line += " = \(value.summary)" }
            if property.storedName != property.name {
                line += style.paint("  in the file: \(property.storedName)", .dim)
            }
            if !property.rules.isEmpty {
                line += style.paint("  \(property.rules.summary)", .dim)
            }
            let target = schema.target(of: property)
            if let target, !property.isBacklinks { line += style.paint("  → \(target.name)", .dim) }
            guard let target, target.isEmbedded, !property.isBacklinks,
                !path.contains(target.name), path.count < Self.deepest
            else { return [line] }
            let inner = indent + (isLast ? "   " : "│  ")
            return [line] + properties(of: target, indent: inner, path: path + [target.name])
        }
    }
}
