import ObjectStore

/// The differences between two schemas, which can be applied to a third one.
///
/// Used for merging branches: the changes of a migration to its original base schema are applied to another base
/// schema. A renamed property or class counts as removed and added.
struct SchemaDelta {
    private let before: [ClassSchema]
    private let after: [ClassSchema]
    private let differences: [SchemaDifference]

    init(from before: [ClassSchema], to after: [ClassSchema]) throws {
        self.before = before
        self.after = after
        differences = try SchemaDifference.between(before, and: after)
    }

    /// Returns a schema with the differences applied.
    ///
    /// Throws `invalid_schema` if both sides have changed the same property or class in different ways.
    func applied(to base: [ClassSchema]) throws -> [ClassSchema] {
        var result = base
        for difference in differences {
            let name = difference.className
            switch (difference, result.firstIndex { $0.name == name }, Self.find(name, after)) {
            case (.classAdded, nil, let added?): result.append(added)
            case (.classAdded, let index?, let added?):
                guard Self.isSame(added, result[index]) else {
                    throw StoreError(
                        .invalidSchema, "class '\(name)' was added with different properties")
                }
            case (.classRemoved, _, _): result.removeAll { $0.name == name }
            case (_, let index?, let wanted?):
                result[index] = try changed(result[index], by: difference, to: wanted)
            default:
                throw StoreError(
                    .invalidSchema,
                    "class '\(name)' was removed on one side and changed on the other")
            }
        }
        return try result.map(withProperties).sorted { $0.name < $1.name }
    }

    private func withProperties(_ present: ClassSchema) throws -> ClassSchema {
        guard let old = Self.find(present.name, before), let new = Self.find(present.name, after)
        else { return present }
        var properties = present.properties
        for name in Set((old.properties + new.properties).map(\.name)).sorted() {
            let (was, wanted) = (old.property(named: name), new.property(named: name))
            if was?.unplaced != wanted?.unplaced {
                try change(name, of: present.name, from: was, to: wanted, in: &properties)
            }
        }
        return Self.schema(present.name, properties, present.isEmbedded, present.indexes)
    }

    private func changed(
        _ present: ClassSchema, by difference: SchemaDifference, to wanted: ClassSchema
    ) throws -> ClassSchema {
        var indexes = present.indexes
        var isEmbedded = present.isEmbedded
        switch difference {
        case .indexAdded(_, let index):
            if !Self.contains(indexes, index) { indexes.append(index) }
        case .indexRemoved(_, let index): indexes.removeAll { Self.contains([$0], index) }
        case .embedding: isEmbedded = wanted.isEmbedded
        // The declarations of properties also contain backlinks and names, which the file does not store.
        default: break
        }
        return Self.schema(present.name, present.properties, isEmbedded, indexes)
    }

    /// Replaces a property by that of the schema after the differences.
    private func change(
        _ name: String, of className: String, from was: Property?, to wanted: Property?,
        in properties: inout [Property]
    ) throws {
        let index = properties.firstIndex { $0.name == name }
        let present = index.map { properties[$0] }
        if present?.unplaced == wanted?.unplaced { return }
        guard present?.unplaced == was?.unplaced else {
            let how =
                was == nil
                ? "added with different types"
                : present == nil || wanted == nil
                    ? "removed on one side and changed on the other" : "changed in different ways"
            throw StoreError(.invalidSchema, "'\(className).\(name)' was \(how)")
        }
        if let index { properties.remove(at: index) }
        if let wanted { properties.insert(wanted.unplaced, at: index ?? properties.count) }
    }

    private static func schema(
        _ name: String, _ properties: [Property], _ isEmbedded: Bool, _ indexes: [CompositeIndex]
    ) -> ClassSchema {
        ClassSchema(
            name, properties.map(\.unplaced), isEmbedded: isEmbedded,
            indexes: indexes.map { CompositeIndex($0.properties, isUnique: $0.isUnique) }
        ).unordered
    }

    private static func find(_ name: String, _ classes: [ClassSchema]) -> ClassSchema? {
        classes.first { $0.name == name }
    }

    private static func contains(_ indexes: [CompositeIndex], _ index: CompositeIndex) -> Bool {
        indexes.contains { $0.properties == index.properties && $0.isUnique == index.isUnique }
    }

    /// Returns whether two classes have the same declaration.
    private static func isSame(_ left: ClassSchema, _ right: ClassSchema) -> Bool {
        left.isEmbedded == right.isEmbedded
            && Set(left.properties.map(\.unplaced)) == Set(right.properties.map(\.unplaced))
            && left.indexes.count == right.indexes.count
            && left.indexes.allSatisfy { contains(right.indexes, $0) }
    }
}

extension SchemaDelta {
    /// Returns a schema in which classes and properties have the new names of `renames`, by `Class` and `Class.property`.
    static func renaming(_ base: [ClassSchema], _ renames: [String: String]) -> [ClassSchema] {
        guard !renames.isEmpty else { return base }
        func name(_ property: String, of className: String) -> String {
            renames["\(className).\(property)"] ?? property
        }
        return base.map { old in
            let properties = old.properties.map { property in
                var property = property
                let newName = name(property.name, of: old.name)
                if property.storedName == property.name { property.storedName = newName }
                property.name = newName
                if let origin = property.origin {
                    property.origin = Property.Origin(
                        className: renames[origin.className] ?? origin.className,
                        property: name(origin.property, of: origin.className))
                }
                property.target = property.target.map { renames[$0] ?? $0 }
                return property
            }
            return schema(
                renames[old.name] ?? old.name, properties, old.isEmbedded,
                old.indexes.map {
                    CompositeIndex(
                        $0.properties.map { name($0, of: old.name) }, isUnique: $0.isUnique)
                })
        }
    }

    /// Returns the schema after `changes = { Person = { … } }`.
    ///
    /// The listed properties are added or replaced, declared losses are removed, and everything else remains unchanged.
    /// `ended` contains the classes that declare `embedded = false` or `indexes = {}`.
    static func schema(
        _ base: [ClassSchema], changing changes: [ClassSchema], dropping drops: Set<String>,
        ended: (embedding: Set<String>, indexes: Set<String>)
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
            var indexes = ended.indexes.contains(present.name) ? [] : present.indexes
            if let change, !change.indexes.isEmpty { indexes = change.indexes }
            result.append(
                schema(
                    present.name, properties,
                    change?.isEmbedded == true
                        || present.isEmbedded && !ended.embedding.contains(present.name),
                    indexes.filter { names.isSuperset(of: $0.properties) }))
        }
        for added in changes where find(added.name, base) == nil { result.append(added) }
        return result.sorted { $0.name < $1.name }
    }

    /// Returns the classes of a schema that differ from another one, with the properties that differ; nil if a class stops
    /// being embedded or loses all its indexes, which such a class cannot state.
    ///
    /// `oldName` returns the name of a class in the other schema; a renamed class is complete.
    static func changes(
        from before: [ClassSchema], to wanted: [ClassSchema], oldName: (String) -> String
    ) -> [ClassSchema]? {
        let isShown = wanted.allSatisfy { new in
            guard let old = find(oldName(new.name), before) else { return true }
            return (!old.isEmbedded || new.isEmbedded)
                && (old.indexes.isEmpty || !new.indexes.isEmpty)
        }
        guard isShown else { return nil }
        return wanted.compactMap { new in
            guard let old = find(oldName(new.name), before), old.name == new.name else {
                return new
            }
            let properties = new.properties.filter {
                old.property(named: $0.name)?.unplaced != $0.unplaced
            }
            let sameIndexes =
                old.indexes.map(\.summary).sorted() == new.indexes.map(\.summary).sorted()
            guard !properties.isEmpty || !sameIndexes || old.isEmbedded != new.isEmbedded else {
                return nil
            }
            return ClassSchema(
                new.name, properties, isEmbedded: new.isEmbedded,
                indexes: sameIndexes ? [] : new.indexes)
        }
    }
}
