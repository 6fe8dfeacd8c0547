import ObjectStore

/// The differences between two schemas, which can be applied to a third one.
///
/// Used for merging branches: the changes of a migration to its original base schema are applied to another base
/// schema. A renamed property or class counts as removed and added.
struct SchemaDelta {
    private let before: [ClassSchema]
    private let after: [ClassSchema]

    init(from before: [ClassSchema], to after: [ClassSchema]) {
        self.before = before
        self.after = after
    }

    /// Returns a schema with the differences applied.
    ///
    /// Throws `invalid_schema` if both sides have changed the same property or class in different ways.
    func applied(to base: [ClassSchema]) throws -> [ClassSchema] {
        var result: [ClassSchema] = []
        for present in base {
            let old = Self.find(present.name, before)
            guard let new = Self.find(present.name, after) else {
                // A class that these differences remove is removed with the additions of the other side, unless the
                // other side added the class.
                if old == nil { result.append(present) }
                continue
            }
            guard let old else {
                guard Self.isSame(new, present) else {
                    throw conflict("class '\(present.name)' was added")
                }
                result.append(present)
                continue
            }
            result.append(try merged(present, old, new))
        }
        for new in after where Self.find(new.name, base) == nil {
            guard Self.find(new.name, before) == nil else {
                if Self.isSame(new, Self.find(new.name, before) ?? new) { continue }
                throw conflict(
                    "class '\(new.name)' was removed on one side and changed on the other")
            }
            result.append(new)
        }
        return result.sorted { $0.name < $1.name }
    }

    private func merged(
        _ present: ClassSchema, _ old: ClassSchema, _ new: ClassSchema
    ) throws -> ClassSchema {
        var properties: [Property] = []
        for property in present.properties {
            let qualifiedName = "\(present.name).\(property.name)"
            let before = old.property(named: property.name)
            let after = new.property(named: property.name)
            switch (before, after) {
            case (nil, nil): properties.append(property)
            case (nil, let added?):
                guard Self.isSame(added, property) else {
                    throw conflict("'\(qualifiedName)' was added with different types")
                }
                properties.append(property)
            case (let before?, nil):
                guard Self.isSame(before, property) else {
                    throw conflict(
                        "'\(qualifiedName)' was removed on one side and changed on the other")
                }
            case (let before?, let after?):
                if Self.isSame(before, after) {
                    properties.append(property)
                } else if Self.isSame(before, property) || Self.isSame(after, property) {
                    properties.append(Self.unplaced(after))
                } else {
                    throw conflict("'\(qualifiedName)' was changed in different ways")
                }
            }
        }
        for added in new.properties
        where old.property(named: added.name) == nil && present.property(named: added.name) == nil {
            properties.append(Self.unplaced(added))
        }
        let added = new.indexes.filter { !Self.contains(old.indexes, $0) }
        let removed = old.indexes.filter { !Self.contains(new.indexes, $0) }
        let kept = present.indexes.filter { !Self.contains(removed, $0) }
        return ClassSchema(
            present.name, properties,
            isEmbedded: old.isEmbedded == new.isEmbedded ? present.isEmbedded : new.isEmbedded,
            indexes: (kept + added.filter { !Self.contains(kept, $0) }).map {
                CompositeIndex($0.properties, isUnique: $0.isUnique)
            }
        ).unordered
    }

    private func conflict(_ what: String) -> StoreError {
        StoreError(
            .invalidSchema,
            "the branches cannot be merged: \(what); edit one of the two migrations")
    }

    private static func find(_ name: String, _ classes: [ClassSchema]) -> ClassSchema? {
        classes.first { $0.name == name }
    }

    private static func contains(_ indexes: [CompositeIndex], _ index: CompositeIndex) -> Bool {
        indexes.contains { $0.properties == index.properties && $0.isUnique == index.isUnique }
    }

    /// Returns whether two properties have the same declaration, regardless of their storage.
    static func isSame(_ left: Property, _ right: Property) -> Bool {
        unplaced(left) == unplaced(right)
    }

    /// Returns whether two classes have the same declaration.
    static func isSame(_ left: ClassSchema, _ right: ClassSchema) -> Bool {
        left.isEmbedded == right.isEmbedded
            && Set(left.properties.map(unplaced)) == Set(right.properties.map(unplaced))
            && left.indexes.count == right.indexes.count
            && left.indexes.allSatisfy { contains(right.indexes, $0) }
    }

    private static func unplaced(_ property: Property) -> Property {
        var property = property
        property.column = .unassigned
        return property
    }
}

extension SchemaDelta {
    /// Returns the schema after `changes = { Person = { … } }`.
    ///
    /// The listed properties are added or replaced, declared losses are removed, and everything else remains unchanged.
    static func schema(
        _ base: [ClassSchema], changing changes: [ClassSchema], dropping drops: Set<String>
    ) -> [ClassSchema] {
        var result: [ClassSchema] = []
        for present in base where !drops.contains(present.name) {
            let change = find(present.name, changes)
            var properties = present.properties.filter {
                !drops.contains("\(present.name).\($0.name)")
            }
            for property in change?.properties ?? [] {
                if let index = properties.firstIndex(where: { $0.name == property.name }) {
                    properties[index] = property
                } else {
                    properties.append(property)
                }
            }
            let names = Set(properties.map(\.name))
            let indexes =
                change.map { $0.indexes.isEmpty ? present.indexes : $0.indexes }
                ?? present.indexes
            result.append(
                ClassSchema(
                    present.name, properties.map(unplaced),
                    isEmbedded: change?.isEmbedded == true || present.isEmbedded,
                    indexes: indexes.filter { names.isSuperset(of: $0.properties) }.map {
                        CompositeIndex($0.properties, isUnique: $0.isUnique)
                    }
                ).unordered)
        }
        for added in changes where find(added.name, base) == nil { result.append(added) }
        return result.sorted { $0.name < $1.name }
    }
}
