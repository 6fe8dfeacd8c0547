/// One difference between the schema of a file and another schema.
///
/// The order of properties makes no difference.
/// This is the only comparison of schemas. Opening, `define`, migrations, plans, reports and merges of branches follow
/// from it: each difference knows the lost values and the new values of existing objects.
package enum SchemaDifference: Hashable, Sendable {
    /// The file does not have the class.
    case classAdded(String)
    /// Only the file has the class.
    case classRemoved(String)
    /// The class has another name in the file.
    case classRenamed(from: String, to: String)
    /// Each object of the class will belong to one parent, or no longer does.
    case embedding(class: String, Bool)
    /// The class has a new index over several properties.
    case indexAdded(class: String, CompositeIndex)
    /// The class no longer has an index over several properties.
    case indexRemoved(class: String, CompositeIndex)
    /// The property becomes the primary key.
    case keyAdded(class: String, Property)
    /// The property is no longer the primary key.
    case keyRemoved(class: String, Property)
    /// The class in the file does not have the property.
    case propertyAdded(class: String, Property)
    /// Only the class in the file has the property.
    case propertyRemoved(class: String, Property)
    /// The class has the property in both schemas.
    case propertyChanged(class: String, Aspect, from: Property, to: Property)

    /// What changes about a property.
    package enum Aspect: Hashable, Sendable {
        /// Its name; the values are kept.
        case name
        /// Its type, its target, or whether elements of a collection can be nil. Values are converted if the conversion is
        /// exact.
        case type
        /// Values can be nil; existing ones are kept.
        case optional
        /// Values can no longer be nil; an object without one is an error unless the property has a default.
        case required
        /// Whether it is indexed.
        case index(Bool)
        /// Whether it has a full-text index.
        case fullText(Bool)
        /// The value of new objects.
        case defaultValue
        /// The rules of its values, or whether links own their objects.
        case rules
    }

    /// What existing objects lose.
    package enum Loss {
        /// All objects of a class.
        case objects(String)
        /// The values of a property, except those that another property of the new schema received.
        case values(Property, of: String, except: Property?)
    }

    /// How existing objects get the value of a property without a migration function.
    package enum Conversion {
        /// All get the default.
        case fill(Value)
        /// Those without a value get the default.
        case complete(Value)
        /// All get the old value if it converts exactly.
        case exact(from: Property)
    }
}

extension SchemaDifference {
    /// Returns the differences between a file's schema and a complete one; classes that are not named are removed.
    ///
    /// `renamed` has the new names of renamed classes, by their old names.
    package static func between(
        _ schema: Schema, and classes: [ClassSchema], renamed: [String: String] = [:]
    ) throws -> [SchemaDifference] {
        var circumstances = SchemaChange.Circumstances()
        let stored = Set(schema.classes.map(\.name))
        for (name, newName) in renamed {
            circumstances.renames.renameClass(name, to: newName, among: stored)
        }
        circumstances.removed = stored.subtracting(classes.map(\.name)).subtracting(renamed.keys)
        return try SchemaChange(
            from: schema, to: classes, version: schema.version, allowing: .newVersion,
            circumstances
        ).differences
    }

    /// Returns the differences between two complete schemas.
    package static func between(
        _ before: [ClassSchema], and after: [ClassSchema]
    ) throws -> [SchemaDifference] {
        try between(Schema.planned(before.map(\.unplaced)), and: after)
    }

    /// The name of the class in the new schema; in the old one for a removed class.
    package var className: String {
        switch self {
        case .classAdded(let name), .classRemoved(let name), .classRenamed(_, let name),
            .embedding(let name, _), .indexAdded(let name, _), .indexRemoved(let name, _),
            .keyAdded(let name, _), .keyRemoved(let name, _), .propertyAdded(let name, _),
            .propertyRemoved(let name, _), .propertyChanged(let name, _, _, _):
            name
        }
    }

    /// The property in the old and in the new schema; nil where there is none, and for classes.
    package var properties: (old: Property?, new: Property?) {
        switch self {
        case .propertyAdded(_, let new): (nil, new)
        case .propertyRemoved(_, let old): (old, nil)
        case .propertyChanged(_, _, let old, let new): (old, new)
        case .keyAdded(_, let key), .keyRemoved(_, let key): (key, key)
        default: (nil, nil)
        }
    }

    /// The addition as `Class.property` or the name of a class; nil for other differences.
    package var addition: String? {
        switch self {
        case .classAdded(let name): name
        case .propertyAdded(let name, let property): "\(name).\(property.name)"
        default: nil
        }
    }

    /// What existing objects lose; nil for nothing.
    package var loss: Loss? {
        switch self {
        case .classRemoved(let name): .objects(name)
        case .propertyRemoved(let name, let old): .values(old, of: name, except: nil)
        case .propertyChanged(let name, .type, let old, let new):
            .values(old, of: name, except: new)
        default: nil
        }
    }

    /// How existing objects get values of a property of the new schema; nil if they keep them, or have none.
    package var conversion: (to: Property, Conversion)? {
        switch self {
        case .propertyAdded(_, let new) where new.isSingle && !new.isOptional:
            new.defaultValue.map { (new, .fill($0)) }
        case .propertyChanged(_, .required, _, let new) where new.isSingle:
            new.defaultValue.map { (new, .complete($0)) }
        case .propertyChanged(_, .type, let old, let new)
        where !old.isBacklinks && !new.isBacklinks:
            (new, .exact(from: old))
        default: nil
        }
    }

    /// Whether opening a store with the same schema version fails because of the difference.
    package var needsNewVersion: Bool {
        switch self {
        case .classAdded, .classRemoved, .indexAdded, .indexRemoved,
            .propertyChanged(_, .index, _, _), .propertyChanged(_, .fullText, _, _),
            .propertyChanged(_, .defaultValue, _, _), .propertyChanged(_, .rules, _, _):
            false
        default: true
        }
    }

    /// Whether `define` makes the change without `force`.
    package var isAdditive: Bool {
        switch self {
        case .classRemoved: false
        case .propertyAdded, .propertyChanged(_, .optional, _, _): true
        default: !needsNewVersion
        }
    }

    /// Whether objects can be read as declared despite the difference.
    var isReadable: Bool {
        switch self {
        case .propertyRemoved: true
        case .propertyChanged(_, .rules, _, _): false
        default: !needsNewVersion
        }
    }
}

extension Sequence<SchemaDifference> {
    /// Returns the name that a class of the new schema has in the file.
    package func oldName(ofClass name: String) -> String {
        for case .classRenamed(let from, name) in self { return from }
        return name
    }
}

extension SchemaDifference: CustomStringConvertible {
    /// The difference as a part of a sentence about the effects of a change.
    package var description: String {
        switch self {
        case .classAdded(let name): "class '\(name)' would be added"
        case .classRemoved(let name): "class '\(name)' would be removed, with its objects"
        case .classRenamed(let from, let to): "class '\(from)' would be renamed to '\(to)'"
        case .embedding(let name, true): "'\(name)' would become embedded"
        case .embedding(let name, false): "'\(name)' would no longer be embedded"
        case .indexAdded(let name, let index): "'\(name)' would be indexed by \(index.summary)"
        case .indexRemoved(let name, let index):
            "'\(name)' would no longer be indexed by \(index.summary)"
        case .keyAdded(let name, let property):
            "'\(name).\(property.name)' would become the primary key"
        case .keyRemoved(let name, let property):
            "'\(name).\(property.name)' would no longer be the primary key"
        case .propertyAdded(let name, let property): "'\(name).\(property.name)' would be added"
        case .propertyRemoved(let name, let property):
            "'\(name).\(property.name)' would be removed, with its values"
        case .propertyChanged(let name, .defaultValue, let old, let new):
            "the default of '\(name).\(new.name)' would change from "
                + "\(old.defaultValue?.summary ?? "none") to \(new.defaultValue?.summary ?? "none")"
        case .propertyChanged(let name, .rules, let old, let new):
            "the rules of '\(name).\(new.name)' would change from \(old.rules.summary) to "
                + new.rules.summary
        case .propertyChanged(let name, .name, let old, let new):
            "'\(name).\(old.name)' would be renamed to '\(new.name)'"
        case .propertyChanged(let name, let aspect, let old, let new):
            "'\(name).\(new.name)' would \(aspect.effect(old, new))"
        }
    }
}

extension SchemaDifference.Aspect {
    /// The effect on a property, as a part of a sentence.
    fileprivate func effect(_ old: Property, _ new: Property) -> String {
        switch self {
        case .optional: "become optional"
        case .required: "become required"
        case .index(let isAdded): (isAdded ? "" : "no longer ") + "be indexed"
        case .fullText(let isAdded):
            (isAdded ? "" : "no longer ") + "be indexed for full-text search"
        default: "change from \(old.typeName) to \(new.typeName)"
        }
    }
}

/// The names that a migration has changed.
///
/// Old names are those of the file before the migration. A name means what had it in the file, unless that was renamed;
/// a new name may be renamed again. All renames together are judged at the end, so names can be exchanged in any order.
struct SchemaRenames {
    /// The old names of renamed classes, by their new names.
    private(set) var classes: [String: String] = [:]
    /// The old names of renamed properties, by the old name of their class and their new name.
    private(set) var properties: [String: [String: String]] = [:]

    /// Returns the old name of a class; nil for a new class with a name that another class had.
    func oldClass(of name: String) -> String? {
        classes[name] ?? (classes.values.contains(name) ? nil : name)
    }

    /// Returns the new name of a class.
    func newClass(of oldName: String) -> String {
        classes.first { $0.value == oldName }?.key ?? oldName
    }

    /// Returns the old name of a property; nil for a new property with a name that another one had.
    func oldProperty(of name: String, in oldClass: String) -> String? {
        guard let renamed = properties[oldClass] else { return name }
        return renamed[name] ?? (renamed.values.contains(name) ? nil : name)
    }

    /// Returns the new name of a property.
    func newProperty(of oldName: String, in oldClass: String) -> String {
        properties[oldClass]?.first { $0.value == oldName }?.key ?? oldName
    }

    /// Returns whether a property keeps its values because it was renamed.
    func isRenamed(_ name: String, in oldClass: String) -> Bool {
        properties[oldClass]?[name] != nil
    }

    /// Renames the class that had a name in the file; otherwise the one that has it now.
    mutating func renameClass(_ name: String, to newName: String, among stored: Set<String>) {
        Self.rename(name, to: newName, among: stored, in: &classes)
    }

    /// Renames the property that had a name in the file; otherwise the one that has it now.
    mutating func renameProperty(
        _ name: String, to newName: String, in oldClass: ClassSchema
    ) {
        Self.rename(
            name, to: newName, among: Set(oldClass.properties.map(\.name)),
            in: &properties[oldClass.name, default: [:]])
    }

    /// Returns the old name of the class that a rename of a name concerns.
    func classToRename(_ name: String, among stored: Set<String>) -> String? {
        Self.original(of: name, among: stored, in: classes)
    }

    /// Returns the old name of the property that a rename of a name concerns.
    func propertyToRename(_ name: String, in oldClass: ClassSchema) -> String? {
        Self.original(
            of: name, among: Set(oldClass.properties.map(\.name)),
            in: properties[oldClass.name] ?? [:])
    }

    private static func original(
        of name: String, among stored: Set<String>, in names: [String: String]
    ) -> String? {
        stored.contains(name) && !names.values.contains(name) ? name : names[name]
    }

    private static func rename(
        _ name: String, to newName: String, among stored: Set<String>,
        in names: inout [String: String]
    ) {
        guard let old = original(of: name, among: stored, in: names) else { return }
        if names[name] == old { names[name] = nil }
        names[newName] = old == newName ? nil : old
        assert(Set(names.values).count == names.count, "each old name has one new name")
    }
}

extension Schema {
    /// Returns the new names of the classes and properties that have other names in a later schema of the same data, by
    /// their old names: a class, or `Class.property` with the old name of the class.
    package func renames(in later: Schema) -> [String: String] {
        var renames: [String: String] = [:]
        for old in classes {
            guard let new = later.find(table: old.table) else { continue }
            if new.name != old.name { renames[old.name] = new.name }
            for property in old.properties where !property.isBacklinks {
                guard let renamed = new.property(in: property.column),
                    renamed.name != property.name
                else { continue }
                renames["\(old.name).\(property.name)"] = renamed.name
            }
        }
        return renames
    }
}
