import ColumnStorage

/// One property of a class.
public struct Property: Hashable, Sendable {
    /// Where a backlinks property looks: the class and the property whose links it follows
    /// backwards.
    public struct Origin: Hashable, Sendable {
        /// The class whose objects link here.
        public let className: String
        /// The linking property of that class.
        public let property: String

        /// Makes an origin.
        public init(className: String, property: String) {
            self.className = className
            self.property = property
        }
    }

    /// The property's name.
    public var name: String
    /// The property's name in the file: its name unless it was mapped to another one, so that programs can rename it
    /// without a migration.
    public var storedName: String
    /// The type of the value, or of the elements of a collection.
    public var type: PropertyType
    /// Whether the value, or an element of the collection, may be nil.
    ///
    /// To-one links and the links in maps always may.
    public var isOptional: Bool
    /// Which collection of values the property holds; nil for a single value and for backlinks.
    public var collection: CollectionKind?
    /// The class that a link or a collection of links leads to; for backlinks the class they come from.
    public var target: String?
    /// Whether the property identifies the objects of its class.
    public var isPrimary: Bool
    /// Whether the values are kept in an index.
    public var isIndexed: Bool
    /// Whether the words of the strings are kept in a full-text index.
    public var isFullText: Bool
    /// The value of an object that is created without one; nil if there is no default.
    public var defaultValue: Value?
    /// The link that a backlinks property follows; nil for all others.
    public var origin: Origin?
    /// The column that stores the property; meaningless for backlinks, and in a schema that no file
    /// has taken yet.
    package var column: ColumnID

    /// Describes a property that is yet to be stored.
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
    /// Whether the property is computed from other objects' links.
    public var isBacklinks: Bool { type == .backlinks }

    /// Whether the property is a list.
    public var isList: Bool { collection == .list }

    /// Whether the property is a set.
    public var isSet: Bool { collection == .set }

    /// Whether the property is a map.
    public var isMap: Bool { collection == .map }

    /// Whether the property holds one value (or link), not a collection.
    public var isSingle: Bool { collection == nil && !isBacklinks }

    /// Whether the property stores links, alone or among other values.
    public var canHoldLinks: Bool { type == .object || type == .mixed }

    /// Whether the property leads to other objects: links, collections of links and backlinks.
    public var leadsToObjects: Bool { type == .object || type == .backlinks }

    /// Whether the values are looked up through an index: primary keys always are.
    public var hasIndex: Bool { isPrimary || isIndexed }

    /// The type as a schema spells it: `int?`, `Toy[]`, `backlinks Person.dogs`.
    public var typeName: String {
        if let origin { return "backlinks \(origin.className).\(origin.property)" }
        return elementTypeName + (collection?.mark ?? "")
    }

    /// The type of the value, or of the elements of a collection, as a schema spells it.
    public var elementTypeName: String {
        if type == .object { return target ?? "object" }
        return type.rawValue + (isOptional && type != .mixed ? "?" : "")
    }

    /// The definition of the column that stores the property; nil for backlinks.
    func columnDefinition(target table: TableID?) -> ColumnDefinition? {
        guard let kind = type.columnKind else { return nil }
        return ColumnDefinition(
            id: column, kind: collection == nil ? kind : .list,
            isOptional: collection == nil && isOptional,
            index: isPrimary ? .unique : isIndexed ? .ordered : .none,
            collection: collection, elementKind: collection == nil ? nil : kind,
            elementIsOptional: collection != nil && isOptional,
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

    /// The mark after the type of the elements in a schema: `[]`, `<>` or `{}`.
    var mark: String {
        switch self {
        case .list: "[]"
        case .set: "<>"
        case .map: "{}"
        }
    }
}

extension ColumnID {
    /// Marks a property that no file has taken yet.
    package static let unassigned = ColumnID(rawValue: -1)
}

extension TableID {
    /// Marks a class that no file has taken yet.
    package static let unassigned = TableID(rawValue: .max)
}
