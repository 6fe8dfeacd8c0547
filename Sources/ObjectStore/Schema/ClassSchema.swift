import ColumnStorage

/// One class: its name, its properties, and the table that stores its objects.
///
/// A class schema is immutable. The type is a class and not a struct, so that handles of objects contain one reference
/// instead of the whole description.
public final class ClassSchema: Sendable {
    /// The class's name.
    public let name: String
    /// The properties in schema order.
    public let properties: [Property]
    /// The table of the objects; not meaningful until a file stores the schema.
    package let table: TableID
    /// Whether each object of the class has exactly one parent, and is created, replaced and deleted with the parent's
    /// property.
    public let isEmbedded: Bool
    /// The indexes over several properties.
    public let indexes: [CompositeIndex]
    /// Whether the order of the properties was declared; otherwise, a class that the file already has keeps its order.
    let isOrdered: Bool
    /// The number of columns that the table has ever had; removed columns keep their numbers.
    let columnCount: Int
    /// The properties that were removed while the store was open, for messages.
    let lost: LostNames

    /// The index of the primary key among the properties.
    let primaryKeyPosition: Int?
    /// The column of the primary key if the key is an int, whose values need no conversion.
    let intKeyColumn: ColumnID?

    private let positions: [String: Int]
    private let storedPositions: [String: Int]
    private let columnPositions: [ColumnID: Int]

    /// Describes a class that is not stored yet.
    ///
    /// Validation reports duplicate names later.
    public convenience init(
        _ name: String, _ properties: [Property], isEmbedded: Bool = false,
        indexes: [CompositeIndex] = []
    ) {
        self.init(
            name, properties, table: .unassigned, columnCount: 0, isEmbedded: isEmbedded,
            indexes: indexes)
    }

    init(
        _ name: String, _ properties: [Property], table: TableID, columnCount: Int,
        isEmbedded: Bool, indexes: [CompositeIndex], isOrdered: Bool = true,
        lost: LostNames = LostNames()
    ) {
        self.name = name
        self.isOrdered = isOrdered
        self.lost = lost
        self.indexes = indexes
        self.isEmbedded = isEmbedded
        self.properties = properties
        self.table = table
        self.columnCount = columnCount
        let keyPosition = properties.firstIndex(where: \.isPrimary)
        primaryKeyPosition = keyPosition
        intKeyColumn = keyPosition.flatMap {
            properties[$0].type == .int ? properties[$0].column : nil
        }
        positions = Dictionary(
            properties.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        storedPositions = Dictionary(
            properties.enumerated().map { ($1.storedName, $0) },
            uniquingKeysWith: { first, _ in first })
        columnPositions = Dictionary(
            properties.enumerated().lazy.filter { !$1.isBacklinks }.map { ($1.column, $0) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The same class, declared without an order of its properties.
    package var unordered: ClassSchema {
        ClassSchema(
            name, properties, table: table, columnCount: columnCount, isEmbedded: isEmbedded,
            indexes: indexes, isOrdered: false)
    }

    /// Returns the same class with a record of removed properties.
    func recording(_ lost: LostNames) -> ClassSchema {
        ClassSchema(
            name, properties, table: table, columnCount: columnCount, isEmbedded: isEmbedded,
            indexes: indexes, isOrdered: isOrdered, lost: lost)
    }

    /// Returns a description of the same table under another name, and with some of its properties under other names.
    ///
    /// Only for reading objects.
    package func view(as name: String, _ properties: [Property]) -> ClassSchema {
        let names = Set(properties.map(\.name))
        return ClassSchema(
            name, properties, table: table, columnCount: columnCount, isEmbedded: isEmbedded,
            indexes: indexes.filter { names.isSuperset(of: $0.properties) })
    }

    /// Returns the property with a name, or nil.
    ///
    /// Takes constant time.
    public func property(named name: String) -> Property? {
        positions[name].map { properties[$0] }
    }

    /// Returns the position in schema order of the property with a name, or nil.
    ///
    /// Takes constant time.
    package func position(of name: String) -> Int? {
        positions[name]
    }

    /// The property that identifies objects, or nil.
    public var primaryKey: Property? { primaryKeyPosition.map { properties[$0] } }

    /// Returns the property with a name in the file, or nil.
    ///
    /// Takes constant time.
    func property(storedAs name: String) -> Property? {
        storedPositions[name].map { properties[$0] }
    }

    /// Returns the property with a name.
    ///
    /// Throws `unknown_property` with the most similar name in the class.
    package func requireProperty(_ name: String) throws -> Property {
        if let property = property(named: name) { return property }
        throw StoreError(
            .unknownProperty,
            absence(of: name) + NearestName.hint(for: name, among: properties.map(\.name)))
    }

    /// Returns the message that the class has no property with a name, and which migration has removed it.
    package func absence(of name: String) -> String {
        "'\(self.name)' has no property '\(name)'\(lost.since(name))"
    }

    /// Returns the property of a column, or nil for a removed column.
    ///
    /// Takes constant time.
    package func property(in column: ColumnID) -> Property? {
        columnPositions[column].map { properties[$0] }
    }
}

extension ClassSchema: Hashable {
    /// Returns whether both describe the same class stored in the same way.
    public static func == (left: ClassSchema, right: ClassSchema) -> Bool {
        left === right
            || (left.name == right.name && left.table == right.table
                && left.columnCount == right.columnCount && left.isEmbedded == right.isEmbedded
                && left.indexes == right.indexes && left.properties == right.properties)
    }

    /// Hashes the name and the table of the class.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(table)
    }
}

/// An index over several properties of a class.
///
/// The index serves conditions with values for the first properties and optionally a range for the next one.
public struct CompositeIndex: Hashable, Sendable {
    /// The names of the properties, the most significant first.
    public let properties: [String]
    /// Whether no two objects may have the same values in all of the properties.
    ///
    /// Objects with nil in one of them are exempt, as in SQL. The values are checked at the end of each write
    /// transaction.
    public let isUnique: Bool
    /// The number of the index in the class's table; not meaningful until a file stores the schema.
    let id: Int

    /// Describes an index that is not stored yet.
    public init(_ properties: [String]) { self.init(properties, isUnique: false) }

    /// Describes an index that is not stored yet, and whether it is unique.
    public init(_ properties: [String], isUnique: Bool) {
        self.init(properties, isUnique: isUnique, id: -1)
    }

    init(_ properties: [String], isUnique: Bool, id: Int) {
        self.properties = properties
        self.isUnique = isUnique
        self.id = id
    }

    /// Returns whether both cover the same properties in the same order, and are both unique or both not unique.
    func hasSameMeaning(_ other: CompositeIndex) -> Bool {
        properties == other.properties && isUnique == other.isUnique
    }

    /// The index in messages: `(a, b)` or `unique (a, b)`.
    package var summary: String {
        (isUnique ? "unique " : "") + "(\(properties.joined(separator: ", ")))"
    }

    /// The maximum number of properties of an index.
    static let maxProperties = 8

    /// Returns the error in the index of a class; nil if it is valid.
    func fault(in classSchema: ClassSchema) -> String? {
        let subject =
            "an index of '\(classSchema.name)' over (\(properties.joined(separator: ", ")))"
        guard (2...Self.maxProperties).contains(properties.count) else {
            return "\(subject) has \(properties.count) properties; expected 2 to "
                + "\(Self.maxProperties); for one property, use \"indexed\""
        }
        if Set(properties).count < properties.count {
            return "\(subject) contains a property twice"
        }
        for name in properties {
            guard let property = classSchema.property(named: name) else {
                return "\(subject) contains '\(name)', which is not a property"
                    + NearestName.hint(for: name, among: classSchema.properties.map(\.name))
            }
            guard property.isSingle, property.type.canBeInCompositeIndex else {
                return "\(subject): '\(name)' is \(property.typeName), which cannot be indexed"
            }
        }
        if classSchema.property(named: "indexes") != nil {
            return "'\(classSchema.name)' has a property called 'indexes' and cannot declare "
                + "indexes over several properties; rename the property"
        }
        return nil
    }
}

extension ClassSchema {
    /// The storage's definitions of the indexes over several properties.
    var compositeIndexDefinitions: [CompositeIndexDefinition] {
        indexes.map { index in
            CompositeIndexDefinition(
                id: index.id,
                columns: index.properties.compactMap { property(named: $0)?.column })
        }
    }

    /// Returns the class, whose properties have their columns, with the numbers of the indexes that the file will use.
    ///
    /// An index over the same columns keeps its number, and new ones receive the lowest free numbers.
    func numberingIndexes(after stored: ClassSchema? = nil) -> ClassSchema {
        let known = stored?.compositeIndexDefinitions ?? []
        var taken = Set(known.map(\.id))
        let numbered = zip(indexes, compositeIndexDefinitions).map { wanted, definition in
            var id = known.first { $0.columns == definition.columns }?.id ?? 0
            if !known.contains(where: { $0.columns == definition.columns }) {
                while taken.contains(id) { id += 1 }
                taken.insert(id)
            }
            return CompositeIndex(wanted.properties, isUnique: wanted.isUnique, id: id)
        }
        return ClassSchema(
            name, properties, table: table, columnCount: columnCount, isEmbedded: isEmbedded,
            indexes: numbered)
    }
}
