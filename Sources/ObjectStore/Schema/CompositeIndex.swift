import ColumnStorage

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
    static let mostProperties = 8

    /// Returns the error in the index of a class; nil if it is valid.
    func fault(in classSchema: ClassSchema) -> String? {
        let subject =
            "an index of '\(classSchema.name)' over (\(properties.joined(separator: ", ")))"
        guard (2...Self.mostProperties).contains(properties.count) else {
            return "\(subject) has \(properties.count) properties; expected 2 to "
                + "\(Self.mostProperties); for one property, use \"indexed\""
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

    /// Returns the indexes of a class with the numbers that the file will use.
    ///
    /// Existing indexes keep their numbers, and new ones receive the lowest free numbers.
    func numberedIndexes(after stored: [CompositeIndex]) -> [CompositeIndex] {
        var taken = Set(stored.map(\.id))
        return indexes.map { wanted in
            if let known = stored.first(where: { $0.properties == wanted.properties }) {
                return CompositeIndex(known.properties, isUnique: wanted.isUnique, id: known.id)
            }
            var id = 0
            while taken.contains(id) { id += 1 }
            taken.insert(id)
            return CompositeIndex(wanted.properties, isUnique: wanted.isUnique, id: id)
        }
    }
}
