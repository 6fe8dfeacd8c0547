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
    /// What the file calls the property: its name unless it was mapped to another one, so that programs can rename it
    /// without a migration.
    public var storedName: String
    /// The type of the value, or of the elements of a list.
    public var type: PropertyType
    /// Whether the value, or an element of the list, may be nil.
    ///
    /// To-one links always may.
    public var isOptional: Bool
    /// Whether the property is a list.
    public var isList: Bool
    /// The class that a link or a list of links leads to; for backlinks the class they come from.
    public var target: String?
    /// Whether the property identifies the objects of its class.
    public var isPrimary: Bool
    /// Whether the values are kept in an index.
    public var isIndexed: Bool
    /// Whether the words of the strings are kept in a full-text index.
    public var isFullText: Bool
    /// What an object gets that is created without a value; nil if there is no default.
    public var defaultValue: Value?
    /// What a backlinks property follows; nil for all others.
    public var origin: Origin?
    /// The column that stores the property; meaningless for backlinks, and in a schema that no file
    /// has taken yet.
    public var column: ColumnID

    /// Describes a property that is yet to be stored.
    public init(
        _ name: String, _ type: PropertyType, isOptional: Bool = false, isList: Bool = false,
        target: String? = nil, isPrimary: Bool = false, isIndexed: Bool = false,
        isFullText: Bool = false, defaultValue: Value? = nil, origin: Origin? = nil
    ) {
        self.name = name
        storedName = name
        self.type = type
        self.isOptional = isOptional || (type == .object && !isList) || type == .mixed
        self.isList = isList
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

    /// Whether the property holds one value (or link), not a collection.
    public var isSingle: Bool { !isList && !isBacklinks }

    /// Whether the property leads to other objects: links, lists of links and backlinks.
    public var leadsToObjects: Bool { type == .object || type == .backlinks }

    /// Whether the values are looked up through an index: primary keys always are.
    public var hasIndex: Bool { isPrimary || isIndexed }

    /// The type as a schema spells it: `int?`, `Toy[]`, `backlinks Person.dogs`.
    public var typeName: String {
        if let origin { return "backlinks \(origin.className).\(origin.property)" }
        let element = type == .object ? target ?? "object" : type.rawValue
        let mark = isOptional && type != .object && type != .mixed ? "?" : ""
        return element + mark + (isList ? "[]" : "")
    }

    /// What the column must be to store the property; nil for backlinks.
    func columnDefinition(target table: TableID?) -> ColumnDefinition? {
        guard let kind = type.columnKind else { return nil }
        return ColumnDefinition(
            id: column, kind: isList ? .list : kind, isOptional: !isList && isOptional,
            index: isPrimary ? .unique : isIndexed ? .ordered : .none,
            elementKind: isList ? kind : nil, elementIsOptional: isList && isOptional,
            target: table, isMixed: type == .mixed, isDropped: false, isFullText: isFullText)
    }
}

extension ColumnID {
    /// Marks a property that no file has taken yet.
    public static let unassigned = ColumnID(rawValue: -1)
}

extension TableID {
    /// Marks a class that no file has taken yet.
    public static let unassigned = TableID(rawValue: .max)
}
