/// One difference between the schema of a file and another one.
package enum SchemaDifference: Hashable, Sendable {
    /// The file does not have the class.
    case classAdded(String)
    /// Only the file has the class.
    case classRemoved(String)
    /// The class has another name in the file.
    case classRenamed(from: String, to: String)
    /// The class in the file does not have the property.
    case propertyAdded(class: String, Property)
    /// Only the class in the file has the property.
    case propertyRemoved(class: String, Property)
    /// The property has another name in the file.
    case propertyRenamed(class: String, from: String, to: String)
    /// The type differs: values are converted where that is exact.
    case typeChanged(class: String, from: Property, to: Property)
    /// Values are kept, and may be nil from now on.
    case madeOptional(class: String, Property)
    /// Values are kept, and an object without one is an error unless the property has a default.
    case madeRequired(class: String, Property)
    /// The property identifies the objects from now on.
    case keyAdded(class: String, Property)
    /// The property no longer identifies the objects.
    case keyRemoved(class: String, Property)
    /// Each object of the class belongs to one parent from now on.
    case madeEmbedded(String)
    /// Objects of the class no longer belong to a parent.
    case madeTopLevel(String)
    /// The property gets an index.
    case indexAdded(class: String, property: String)
    /// The property loses its index.
    case indexRemoved(class: String, property: String)
    /// The class gets an index over several properties.
    case compositeIndexAdded(class: String, CompositeIndex)
    /// The class loses an index over several properties.
    case compositeIndexRemoved(class: String, CompositeIndex)
    /// The words of the property's strings are indexed.
    case fullTextAdded(class: String, property: String)
    /// The words of the property's strings are no longer indexed.
    case fullTextRemoved(class: String, property: String)
    /// New objects get another value where none is given.
    case defaultChanged(class: String, from: Value?, to: Property)
    /// The properties come in another order.
    case orderChanged(String)
}

extension SchemaDifference {
    /// Whether an open with the same schema version refuses it.
    package var needsNewVersion: Bool {
        switch self {
        case .classAdded, .classRemoved, .indexAdded, .indexRemoved, .compositeIndexAdded,
            .compositeIndexRemoved, .fullTextAdded, .fullTextRemoved, .defaultChanged,
            .orderChanged:
            false
        default: true
        }
    }

    /// Whether `define` does it without being forced.
    package var isAdditive: Bool {
        switch self {
        case .classAdded, .propertyAdded, .madeOptional, .indexAdded, .indexRemoved,
            .compositeIndexAdded, .compositeIndexRemoved, .fullTextAdded, .fullTextRemoved,
            .defaultChanged, .orderChanged:
            true
        default: false
        }
    }
}

extension SchemaDifference: CustomStringConvertible {
    /// The difference as part of a sentence about what a change would do.
    package var description: String {
        switch self {
        case .classAdded(let name): "class '\(name)' would be added"
        case .classRemoved(let name): "class '\(name)' would be removed, with its objects"
        case .classRenamed(let from, let to): "class '\(from)' would be renamed to '\(to)'"
        case .propertyAdded(let name, let property): "'\(name).\(property.name)' would be added"
        case .propertyRemoved(let name, let property):
            "'\(name).\(property.name)' would be removed, with its values"
        case .propertyRenamed(let name, let from, let to):
            "'\(name).\(from)' would be renamed to '\(to)'"
        case .typeChanged(let name, let old, let new):
            "'\(name).\(new.name)' would change from \(old.typeName) to \(new.typeName)"
        case .madeOptional(let name, let property):
            "'\(name).\(property.name)' would become optional"
        case .madeRequired(let name, let property):
            "'\(name).\(property.name)' would become required"
        case .keyAdded(let name, let property):
            "'\(name).\(property.name)' would become the primary key"
        case .keyRemoved(let name, let property):
            "'\(name).\(property.name)' would no longer be the primary key"
        case .madeEmbedded(let name): "'\(name)' would become embedded"
        case .madeTopLevel(let name): "'\(name)' would no longer be embedded"
        case .indexAdded(let name, let property): "'\(name).\(property)' would be indexed"
        case .indexRemoved(let name, let property):
            "'\(name).\(property)' would no longer be indexed"
        case .compositeIndexAdded(let name, let index):
            "'\(name)' would be indexed by \(index.summary)"
        case .compositeIndexRemoved(let name, let index):
            "'\(name)' would no longer be indexed by \(index.summary)"
        case .fullTextAdded(let name, let property):
            "'\(name).\(property)' would be indexed for full-text search"
        case .fullTextRemoved(let name, let property):
            "'\(name).\(property)' would no longer be indexed for full-text search"
        case .defaultChanged(let name, let old, let property):
            "the default of '\(name).\(property.name)' would change from "
                + "\(old?.summary ?? "none") to \(property.defaultValue?.summary ?? "none")"
        case .orderChanged(let name): "the properties of '\(name)' would be in another order"
        }
    }
}
