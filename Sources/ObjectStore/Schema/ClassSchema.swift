import ColumnStorage

/// One class: its name, its properties, and the table that stores its objects.
///
/// Immutable; a class, not a struct, so that handles of objects carry one reference instead of the
/// whole description.
public final class ClassSchema: Sendable {
    /// The class's name.
    public let name: String
    /// The properties in schema order.
    public let properties: [Property]
    /// The table of the objects; meaningless in a schema that no file has taken yet.
    package let table: TableID
    /// Whether its objects belong to exactly one parent each: made, replaced and deleted with the
    /// property that holds them.
    public let isEmbedded: Bool
    /// The indexes over several properties.
    public let indexes: [CompositeIndex]
    /// How many columns the table has ever had; dropped ones keep their number.
    let columnCount: Int

    /// The index of the primary key among the properties.
    let primaryKeyPosition: Int?
    /// The column of the primary key if that is an int, whose values need no conversion.
    let intKeyColumn: ColumnID?

    private let positions: [String: Int]
    private let storedPositions: [String: Int]
    private let columnPositions: [ColumnID: Int]

    /// Describes a class that is yet to be stored.
    ///
    /// Duplicate names are found by validation.
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
        isEmbedded: Bool, indexes: [CompositeIndex]
    ) {
        self.name = name
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

    /// The property of this name, or nil.
    ///
    /// Constant time.
    public func property(named name: String) -> Property? {
        positions[name].map { properties[$0] }
    }

    /// The position of the property of this name in schema order, or nil.
    ///
    /// Constant time.
    package func position(of name: String) -> Int? {
        positions[name]
    }

    /// The property that identifies objects, or nil.
    public var primaryKey: Property? { primaryKeyPosition.map { properties[$0] } }

    /// The property that the file knows under a name, or nil.
    ///
    /// Constant time.
    func property(storedAs name: String) -> Property? {
        storedPositions[name].map { properties[$0] }
    }

    /// The property of this name.
    ///
    /// Throws `unknown_property` with the nearest name the class has.
    package func requireProperty(_ name: String) throws -> Property {
        if let property = property(named: name) { return property }
        throw StoreError(
            .unknownProperty,
            "'\(self.name)' has no property '\(name)'"
                + NearestName.hint(for: name, among: properties.map(\.name)))
    }

    /// The property that a column stores, or nil for a column that was dropped.
    ///
    /// Constant time.
    package func property(in column: ColumnID) -> Property? {
        columnPositions[column].map { properties[$0] }
    }
}

extension ClassSchema: Hashable {
    /// Whether both describe the same class stored in the same way.
    public static func == (left: ClassSchema, right: ClassSchema) -> Bool {
        left === right
            || (left.name == right.name && left.table == right.table
                && left.columnCount == right.columnCount && left.isEmbedded == right.isEmbedded
                && left.indexes == right.indexes && left.properties == right.properties)
    }

    /// Hashes the class's place.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(table)
    }
}
