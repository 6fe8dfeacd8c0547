import ColumnStorage

/// Assigns tables and columns to the requested classes, and records the differences.
///
/// A property whose values can be kept keeps its column. Other properties get a new column: numbers of columns and
/// tables are not reused, so old values are never mistaken for new ones.
struct SchemaPlanner {
    private let current: Schema
    private let circumstances: SchemaChange.Circumstances
    private(set) var nextTable: UInt32
    private(set) var differences: [SchemaDifference] = []

    init(from current: Schema, _ circumstances: SchemaChange.Circumstances) {
        self.current = current
        self.circumstances = circumstances
        nextTable = max(current.nextTable, circumstances.interim?.nextTable ?? 0)
    }

    private var renames: SchemaRenames { circumstances.renames }

    /// Returns a requested class with its table and columns.
    mutating func plan(_ wanted: ClassSchema) -> ClassSchema {
        guard let oldName = renames.oldClass(of: wanted.name),
            !circumstances.removed.contains(oldName),
            let stored = current.find(oldName)
        else { return planNew(wanted) }
        if oldName != wanted.name {
            differences.append(.classRenamed(from: oldName, to: wanted.name))
        }
        let interim = circumstances.interim?.find(table: stored.table)
        var columnCount = max(stored.columnCount, interim?.columnCount ?? 0)
        var properties: [Property] = []
        for var property in wanted.properties {
            let old = counterpart(of: property, in: stored)
            if property.isBacklinks {
                if let old, !old.isBacklinks {
                    differences.append(
                        .propertyChanged(class: wanted.name, .type, from: old, to: property))
                }
                properties.append(property)
                continue
            }
            if let kept = keptProperty(of: property, old, stored, wanted.name) {
                property.adoptColumns(of: kept)
            } else if let created = interim?.property(named: property.name),
                created.column.rawValue >= stored.columnCount, created.hasSameStorage(as: property)
            {
                property.adoptColumns(of: created)
            } else {
                property.takeColumns(&columnCount)
            }
            properties.append(property)
        }
        recordRemoved(stored, wanted)
        if !wanted.isOrdered { properties = inStoredOrder(properties, stored) }
        let result = ClassSchema(
            wanted.name, properties, table: stored.table, columnCount: columnCount,
            isEmbedded: wanted.isEmbedded, indexes: wanted.indexes
        ).numberingIndexes(after: stored)
        if stored.isEmbedded != wanted.isEmbedded {
            differences.append(.embedding(class: wanted.name, wanted.isEmbedded))
        }
        recordKey(stored, result)
        recordIndexes(stored, wanted)
        return result
    }

    /// Returns the classes that only the file has and that are kept, with renames applied.
    ///
    /// Their backlinks properties are removed if the links were removed.
    mutating func planUnnamed(besides wanted: [ClassSchema]) -> [ClassSchema] {
        let named = Set(wanted.map(\.name))
        var classes: [ClassSchema] = []
        for stored in current.classes where !named.contains(stored.name) {
            if named.contains(renames.newClass(of: stored.name)) { continue }
            if circumstances.removed.contains(stored.name) {
                differences.append(.classRemoved(stored.name))
                continue
            }
            let properties = stored.properties.map(renamedTarget).filter { property in
                guard let origin = property.origin,
                    let source = wanted.first(where: { $0.name == origin.className })
                else { return true }
                let link = source.property(named: origin.property)
                return link?.type == .object && link?.target == stored.name
            }
            classes.append(
                properties == stored.properties
                    ? stored
                    : ClassSchema(
                        stored.name, properties, table: stored.table,
                        columnCount: stored.columnCount, isEmbedded: stored.isEmbedded,
                        indexes: stored.indexes))
        }
        return classes
    }

    private func renamedTarget(_ property: Property) -> Property {
        guard let target = property.target else { return property }
        var property = property
        property.target = renames.newClass(of: target)
        if let origin = property.origin {
            property.origin = Property.Origin(
                className: renames.newClass(of: origin.className),
                property: renames.newProperty(of: origin.property, in: origin.className))
        }
        return property
    }

    private mutating func planNew(_ wanted: ClassSchema) -> ClassSchema {
        differences.append(.classAdded(wanted.name))
        let created = circumstances.interim?.find(wanted.name)
        let isMade = created.map { current.find(table: $0.table) == nil } ?? false
        let table: TableID
        if let created, isMade {
            table = created.table
        } else {
            table = TableID(rawValue: nextTable)
            nextTable += 1
        }
        var properties = wanted.properties
        var columnCount = 0
        for position in properties.indices where !properties[position].isBacklinks {
            properties[position].takeColumns(&columnCount)
        }
        return ClassSchema(
            wanted.name, properties, table: table, columnCount: columnCount,
            isEmbedded: wanted.isEmbedded, indexes: wanted.indexes
        ).numberingIndexes()
    }

    private func counterpart(of property: Property, in stored: ClassSchema) -> Property? {
        if renames.isRenamed(property.name, in: stored.name) {
            return renames.oldProperty(of: property.name, in: stored.name)
                .flatMap(stored.property(named:))
        }
        guard let old = stored.property(storedAs: property.storedName),
            renames.newProperty(of: old.name, in: stored.name) == old.name
        else { return nil }
        return old
    }

    /// Returns the property whose values a property keeps; nil if there is none.
    private mutating func keptProperty(
        of new: Property, _ old: Property?, _ stored: ClassSchema, _ name: String
    ) -> Property? {
        guard let old else {
            differences.append(.propertyAdded(class: name, new))
            return nil
        }
        var aspects: [SchemaDifference.Aspect] = []
        if renames.isRenamed(new.name, in: stored.name) { aspects.append(.name) }
        // Elements that may be nil are stored in another way. Single values keep their column, and the end of the migration
        // checks that none is nil.
        let isKept =
            !old.isBacklinks && old.hasSameType(as: new, after: renames)
            && (circumstances.isTransition
                ? new.isOptional == old.isOptional
                : new.isOptional || !old.isOptional || new.collection == nil)
        if isKept {
            if old.isOptional != new.isOptional {
                aspects.append(new.isOptional ? .optional : .required)
            }
            if old.rules != new.rules { aspects.append(.rules) }
            if new.isIndexed ? !old.hasIndex : old.isIndexed && !new.hasIndex {
                aspects.append(.index(new.isIndexed))
            }
            if old.isFullText != new.isFullText { aspects.append(.fullText(new.isFullText)) }
            if old.defaultValue != new.defaultValue { aspects.append(.defaultValue) }
        } else {
            aspects.append(.type)
        }
        differences += aspects.map { .propertyChanged(class: name, $0, from: old, to: new) }
        return isKept ? old : nil
    }

    private mutating func recordRemoved(_ stored: ClassSchema, _ wanted: ClassSchema) {
        let kept = Set(wanted.properties.compactMap { counterpart(of: $0, in: stored)?.name })
        for old in stored.properties where !old.isBacklinks {
            guard !kept.contains(old.name) else { continue }
            differences.append(.propertyRemoved(class: wanted.name, old))
        }
    }

    /// Records the differences of indexes over several properties, with the new names of their properties.
    private mutating func recordIndexes(_ stored: ClassSchema, _ wanted: ClassSchema) {
        let before = stored.indexes.map { index in
            CompositeIndex(
                index.properties.map { renames.newProperty(of: $0, in: stored.name) },
                isUnique: index.isUnique)
        }
        for index in wanted.indexes where !before.contains(where: index.hasSameMeaning) {
            differences.append(.indexAdded(class: wanted.name, index))
        }
        for index in before where !wanted.indexes.contains(where: index.hasSameMeaning) {
            differences.append(.indexRemoved(class: wanted.name, index))
        }
    }

    /// Returns the properties in the order of the file, followed by the new ones.
    private func inStoredOrder(_ properties: [Property], _ stored: ClassSchema) -> [Property] {
        let positions = properties.map { property in
            counterpart(of: property, in: stored).flatMap { stored.position(of: $0.name) } ?? .max
        }
        return properties.indices.sorted { (positions[$0], $0) < (positions[$1], $1) }
            .map { properties[$0] }
    }

    private mutating func recordKey(_ stored: ClassSchema, _ result: ClassSchema) {
        if let key = result.primaryKey {
            if stored.primaryKey?.column != key.column {
                differences.append(.keyAdded(class: result.name, key))
            }
        } else if let key = stored.primaryKey {
            differences.append(.keyRemoved(class: result.name, key))
        }
    }
}

extension Property {
    /// Returns whether both properties have the same type, regardless of whether values may be nil.
    fileprivate func hasSameType(as other: Property, after renames: SchemaRenames) -> Bool {
        type == other.type && collection == other.collection
            && target.map(renames.newClass(of:)) == other.target
    }

    /// Returns whether both are stored in the same way.
    fileprivate func hasSameStorage(as other: Property) -> Bool {
        type == other.type && collection == other.collection && isOptional == other.isOptional
            && target == other.target
    }
}
