import ObjectStore

/// A stored property of a model in the schema.
///
/// ```swift
/// for property in try Dog.storedProperties { print(property.name, property.typeName) }
/// ```
public struct ModelProperty: Hashable, Sendable {
    /// The name in Swift, in Lua and in predicates.
    public let name: String
    /// The name in the file.
    public let storedName: String
    /// The type in the notation of a schema: `int?`, `Toy[]`, `backlinks Person.dogs`.
    public let typeName: String
    /// Whether the property is the primary key.
    public let isPrimaryKey: Bool
    /// Whether the property has its own index.
    public let isIndexed: Bool
    /// Whether the property has a full-text index.
    public let isFullText: Bool

    init(_ property: Property) {
        name = property.name
        storedName = property.storedName
        typeName = property.typeName
        isPrimaryKey = property.isPrimary
        isIndexed = property.isIndexed
        isFullText = property.isFullText
    }
}

extension ObjectModel {
    /// The stored properties, in the order of the struct.
    ///
    /// Throws `invalid_schema` for a model that cannot be stored.
    public static var storedProperties: [ModelProperty] {
        get throws {
            try ModelRegistry.erasedDescription(of: Self.self).classSchema().properties
                .map(ModelProperty.init)
        }
    }
}
