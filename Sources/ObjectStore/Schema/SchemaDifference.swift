/// One difference between the schema of a file and another one; the order of properties is none.
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
    /// The type differs; values are converted if the conversion is exact.
    case typeChanged(class: String, from: Property, to: Property)
    /// The values become optional, and existing ones are kept.
    case madeOptional(class: String, Property)
    /// The values become required; an object without one is an error unless the property has a default.
    case madeRequired(class: String, Property)
    /// The property becomes the primary key.
    case keyAdded(class: String, Property)
    /// The property is no longer the primary key.
    case keyRemoved(class: String, Property)
    /// Each object of the class will belong to one parent.
    case madeEmbedded(String)
    /// Objects of the class no longer belong to a parent.
    case madeTopLevel(String)
    /// The property is indexed.
    case indexAdded(class: String, property: String)
    /// The property is no longer indexed.
    case indexRemoved(class: String, property: String)
    /// The class has a new index over several properties.
    case compositeIndexAdded(class: String, CompositeIndex)
    /// The class no longer has an index over several properties.
    case compositeIndexRemoved(class: String, CompositeIndex)
    /// The property has a new full-text index.
    case fullTextAdded(class: String, property: String)
    /// The property no longer has a full-text index.
    case fullTextRemoved(class: String, property: String)
    /// New objects have another default value.
    case defaultChanged(class: String, from: Value?, to: Property)
    /// The values have other rules, or the links own their objects or no longer do.
    case rulesChanged(class: String, from: Property, to: Property)
}

extension SchemaDifference {
    /// Whether opening a store with the same schema version fails because of the difference.
    package var needsNewVersion: Bool {
        switch self {
        case .classAdded, .classRemoved, .indexAdded, .indexRemoved, .compositeIndexAdded,
            .compositeIndexRemoved, .fullTextAdded, .fullTextRemoved, .defaultChanged,
            .rulesChanged:
            false
        default: true
        }
    }

    /// Whether `define` makes the change without `force`.
    package var isAdditive: Bool {
        switch self {
        case .classAdded, .propertyAdded, .madeOptional, .indexAdded, .indexRemoved,
            .compositeIndexAdded, .compositeIndexRemoved, .fullTextAdded, .fullTextRemoved,
            .defaultChanged, .rulesChanged:
            true
        default: false
        }
    }
}

extension SchemaDifference: CustomStringConvertible {
    /// The difference as a part of a sentence about the effects of a change.
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
        case .rulesChanged(let name, let old, let property):
            "the rules of '\(name).\(property.name)' would change from \(old.rules.summary) to "
                + property.rules.summary
        }
    }
}
