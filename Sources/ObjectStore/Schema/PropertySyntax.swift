/// Parses and prints the short form of a property: `int primary`, `string? indexed fulltext`, `Toy[]`, `string<>`,
/// `int{}`, `backlinks Person.dogs`.
package enum PropertySyntax {
    /// Parses the short form.
    ///
    /// Throws `invalid_schema` with the part that is not valid. The existence of target classes is checked with the
    /// whole schema.
    package static func parse(name: String, in className: String, _ text: String) throws -> Property
    {
        var words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        let subject = "'\(className).\(name)'"
        guard !words.isEmpty else {
            throw StoreError(.invalidSchema, "\(subject) has no type; write \"int\" or \"string?\"")
        }
        let type = words.removeFirst()
        if type == "backlinks" {
            return try backlinks(name, subject, words)
        }
        var property = try parseType(name, subject, type)
        for word in words {
            switch word {
            case "primary": property.isPrimary = true
            case "indexed": property.isIndexed = true
            case "fulltext": property.isFullText = true
            case _ where word.contains("."):
                throw StoreError(
                    .invalidSchema,
                    "\(subject): '\(type) \(word)' is not a type; did you mean 'backlinks \(word)'?"
                )
            default:
                throw StoreError(
                    .invalidSchema,
                    "\(subject): '\(word)' is not a modifier; use primary, indexed or "
                        + "fulltext")
            }
        }
        return property
    }

    private static func backlinks(
        _ name: String, _ subject: String, _ words: [String]
    ) throws -> Property {
        let parts = words.joined(separator: " ").split(separator: ".")
        guard words.count == 1, parts.count == 2 else {
            throw StoreError(
                .invalidSchema, "\(subject): write \"backlinks Class.property\", as in Person.dogs")
        }
        let origin = Property.Origin(className: String(parts[0]), property: String(parts[1]))
        return Property(name, .backlinks, origin: origin)
    }

    private static func parseType(
        _ name: String, _ subject: String, _ text: String
    ) throws -> Property {
        var base = text[...]
        let collection = CollectionKind.allCases.first { base.hasSuffix($0.mark) }
        if collection != nil { base = base.dropLast(2) }
        let isOptional = base.last == "?"
        if isOptional { base = base.dropLast() }
        if base == "mixed", isOptional {
            throw StoreError(
                .invalidSchema,
                "\(subject): a mixed value may always be nil; write \"mixed\(collection?.mark ?? "")\""
            )
        }
        let type = PropertyType(rawValue: String(base))
        if let type, type != .object, type != .backlinks {
            return Property(name, type, isOptional: isOptional, collection: collection)
        }
        guard !base.isEmpty, !base.contains(where: { "[]<>{}?".contains($0) }) else {
            throw StoreError(
                .invalidSchema,
                "\(subject): '\(text)' is not a type; put ? before one of [], <> or {}, as in "
                    + "\"int?[]\"; for nested lists, use mixed")
        }
        guard type == nil else {
            let right =
                type == .backlinks
                ? "write \"backlinks Class.property\", as in Person.dogs"
                : "for a link, write the name of the linked class"
            throw StoreError(.invalidSchema, "\(subject): '\(text)' is not a type; \(right)")
        }
        return Property(
            name, .object, isOptional: isOptional && collection != nil, collection: collection,
            target: String(base))
    }

    /// Returns the short form of a property, without its default.
    package static func text(of property: Property) -> String {
        property.typeName + (property.isPrimary ? " primary" : "")
            + (property.isIndexed && !property.isPrimary ? " indexed" : "")
            + (property.isFullText ? " fulltext" : "")
    }
}
