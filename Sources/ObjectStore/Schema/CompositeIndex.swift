import ColumnStorage

/// An index over several properties of a class: for conditions that give values for the first of
/// them and perhaps a range for the next.
public struct CompositeIndex: Hashable, Sendable {
    /// The names of the properties, the most significant first.
    public let properties: [String]
    /// Whether no two objects may have the same values in all of the properties.
    ///
    /// Objects in which one of them is nil are exempt, as in SQL. Checked at the end of each write transaction.
    public let isUnique: Bool
    /// The index's number in the class's table; meaningless in a schema that no file has taken yet.
    let id: Int

    /// Describes an index that is yet to be stored.
    public init(_ properties: [String]) { self.init(properties, isUnique: false) }

    /// Describes an index that is yet to be stored, and whether it is unique.
    public init(_ properties: [String], isUnique: Bool) {
        self.init(properties, isUnique: isUnique, id: -1)
    }

    init(_ properties: [String], isUnique: Bool, id: Int) {
        self.properties = properties
        self.isUnique = isUnique
        self.id = id
    }

    /// Whether both cover the same properties in the same order, with the same promise.
    func hasSameMeaning(_ other: CompositeIndex) -> Bool {
        properties == other.properties && isUnique == other.isUnique
    }

    /// The index as messages name it: `(a, b)`, `unique (a, b)`.
    package var summary: String {
        (isUnique ? "unique " : "") + "(\(properties.joined(separator: ", ")))"
    }

    /// More properties than this make no index.
    static let mostProperties = 8

    /// The fault of the index in a class; nil if there is none.
    func fault(in classSchema: ClassSchema) -> String? {
        let place = "an index of '\(classSchema.name)' over (\(properties.joined(separator: ", ")))"
        guard (2...Self.mostProperties).contains(properties.count) else {
            return "\(place) has \(properties.count) properties; expected 2 to "
                + "\(Self.mostProperties); for one property, use \"indexed\""
        }
        if Set(properties).count < properties.count {
            return "\(place) names a property twice"
        }
        for name in properties {
            guard let property = classSchema.property(named: name) else {
                return "\(place) names '\(name)', which is not a property"
                    + NearestName.hint(for: name, among: classSchema.properties.map(\.name))
            }
            guard property.isSingle, property.type.canBeInCompositeIndex else {
                return "\(place): '\(name)' is \(property.typeName), which cannot be indexed"
            }
        }
        if classSchema.property(named: "indexes") != nil {
            return "'\(classSchema.name)' has a property called 'indexes' and cannot declare "
                + "indexes over several properties; call the property something else"
        }
        return nil
    }
}

extension PropertyType {
    /// Whether an index over several properties can hold values of the type.
    var canBeInCompositeIndex: Bool {
        switch self {
        case .bool, .int, .float, .double, .string, .date, .uuid, .objectID, .object: true
        default: false
        }
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

    /// The indexes of a class as the file is going to have them: those that stay keep their
    /// numbers, new ones get the least that are free.
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
