import ColumnStorage

/// One property of a class.
public struct Property: Hashable, Sendable {
    /// The origin of a backlinks property: the class and the property whose links it follows backwards.
    public struct Origin: Hashable, Sendable {
        /// The class whose objects contain the links.
        public let className: String
        /// The property of that class that contains the links.
        public let property: String

        /// Creates an origin.
        public init(className: String, property: String) {
            self.className = className
            self.property = property
        }
    }

    /// The property's name.
    public var name: String
    /// The property's name in the file.
    ///
    /// This differs from ``name`` if a program maps the property, for example to rename it without a migration.
    public var storedName: String
    /// The type of the value, or of the elements of a collection.
    public var type: PropertyType
    /// Whether the value, or an element of the collection, may be nil.
    ///
    /// To-one links and the links in maps are always optional.
    public var isOptional: Bool
    /// The kind of collection in the property; nil for a single value and for backlinks.
    public var collection: CollectionKind?
    /// The class of the linked objects; for backlinks the class that contains the links.
    public var target: String?
    /// Whether the property identifies the objects of its class.
    public var isPrimary: Bool
    /// Whether the values are indexed.
    public var isIndexed: Bool
    /// Whether the property has a full-text index.
    public var isFullText: Bool
    /// The rules for the values, and whether the links own their objects.
    public var rules = PropertyRules()
    /// The default value for new objects; nil if there is none.
    public var defaultValue: Value?
    /// The link that a backlinks property follows; nil for all others.
    public var origin: Origin?
    /// The column that stores the property; not meaningful for backlinks, and until a file stores the schema.
    package var column: ColumnID
    /// The column of the elements of short collections; nil for other properties, and for those of older files.
    package var contents: ColumnID?

    /// Describes a property that is not stored yet.
    public init(
        _ name: String, _ type: PropertyType, isOptional: Bool = false,
        collection: CollectionKind? = nil, target: String? = nil, isPrimary: Bool = false,
        isIndexed: Bool = false, isFullText: Bool = false, defaultValue: Value? = nil,
        origin: Origin? = nil
    ) {
        self.name = name
        storedName = name
        self.type = type
        self.isOptional =
            isOptional || type == .mixed || (type == .object && (collection ?? .map) == .map)
        self.collection = collection
        self.target = target ?? origin?.className
        self.isPrimary = isPrimary
        self.isIndexed = isIndexed
        self.isFullText = isFullText
        self.defaultValue = defaultValue
        self.origin = origin
        self.column = .unassigned
    }
}

extension Property {
    /// Whether the property is computed from the links of other objects.
    public var isBacklinks: Bool { type == .backlinks }

    /// Whether the property is a list.
    public var isList: Bool { collection == .list }

    /// Whether the property is a set.
    public var isSet: Bool { collection == .set }

    /// Whether the property is a map.
    public var isMap: Bool { collection == .map }

    /// Whether the property holds one value (or link), not a collection.
    public var isSingle: Bool { collection == nil && !isBacklinks }

    /// Whether the property can contain links, alone or among other values.
    public var canHoldLinks: Bool { type == .object || type == .mixed }

    /// Whether the property leads to other objects: links, collections of links and backlinks.
    public var leadsToObjects: Bool { type == .object || type == .backlinks }

    /// Whether the values are indexed; those of a primary key are, and unique ones of a type with an index.
    public var hasIndex: Bool {
        isPrimary || isIndexed || (rules.isUnique && type.canBeIndexed)
    }

    /// The type in the syntax of schemas: `int?`, `Toy[]`, `backlinks Person.dogs`.
    public var typeName: String {
        if let origin { return "backlinks \(origin.className).\(origin.property)" }
        return elementTypeName + (collection?.mark ?? "")
    }

    /// The type of the value, or of the elements of a collection, in the syntax of schemas.
    public var elementTypeName: String {
        if type == .object { return target ?? "object" }
        return type.rawValue + (isOptional && type != .mixed ? "?" : "")
    }

    /// The property as a schema declares it, without its columns.
    package var unplaced: Property {
        var property = self
        property.column = .unassigned
        property.contents = nil
        return property
    }

    /// Takes over the place where another property is stored.
    mutating func adoptColumns(of other: Property) {
        column = other.column
        contents = other.contents
    }

    /// Takes the next free columns.
    mutating func takeColumns(_ count: inout Int) {
        column = ColumnID(rawValue: count)
        count += 1
        guard let collection else { return }
        contents = ColumnID(rawValue: count)
        // The keys of a map have a column too.
        count += collection == .map ? 2 : 1
    }

    /// Returns the definition of the column that stores the property; nil for backlinks.
    func columnDefinition(target table: TableID?) -> ColumnDefinition? {
        guard let kind = type.columnKind else { return nil }
        return ColumnDefinition(
            id: column, kind: collection == nil ? kind : .list,
            isOptional: collection == nil && isOptional,
            index: isPrimary ? .unique : hasIndex ? .ordered : .none,
            collection: collection, elementKind: collection == nil ? nil : kind,
            elementIsOptional: collection != nil && isOptional, contents: contents,
            target: table, isMixed: type == .mixed, isDropped: false, isFullText: isFullText)
    }
}

extension CollectionKind {
    /// The name in messages.
    package var name: String {
        switch self {
        case .list: "list"
        case .set: "set"
        case .map: "map"
        }
    }

    /// The suffix for the type of the elements in a schema: `[]`, `<>` or `{}`.
    var mark: String {
        switch self {
        case .list: "[]"
        case .set: "<>"
        case .map: "{}"
        }
    }
}

extension ColumnID {
    /// The column of a property that no file stores yet.
    package static let unassigned = ColumnID(rawValue: -1)
}

extension TableID {
    /// The table of a class that no file stores yet.
    package static let unassigned = TableID(rawValue: .max)
}

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
