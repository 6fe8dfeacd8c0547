import ColumnStorage

/// Finds the changes between two versions by comparing them.
///
/// The comparison is used if the history does not reach back to the old version. The result equals that of the history,
/// except that a value that was set to an equal value does not count as changed. Reads every value of every object.
enum VersionComparison {
    static func changes(from old: StoreView, to new: StoreView) throws -> ChangeSet {
        var result = ChangeSet(schemaChanged: !new.schema.isSame(as: old.schema))
        for classSchema in old.schema.classes {
            guard let latest = new.schema.find(table: classSchema.table) else {
                result.tables[classSchema.table] = try TableChanges(
                    deleted: keys(old, classSchema))
                continue
            }
            let changes = try compare(old, classSchema, with: new, latest)
            if !changes.isEmpty { result.tables[classSchema.table] = changes }
        }
        for classSchema in new.schema.classes where old.schema.find(table: classSchema.table) == nil
        {
            let inserted = try keys(new, classSchema)
            if !inserted.isEmpty {
                result.tables[classSchema.table] = TableChanges(inserted: inserted)
            }
        }
        return result
    }

    private static func compare(
        _ old: StoreView, _ oldClass: ClassSchema, with new: StoreView, _ newClass: ClassSchema
    ) throws -> TableChanges {
        let before = try keys(old, oldClass)
        let after = try keys(new, newClass)
        var changes = TableChanges(
            inserted: after.subtracting(before), deleted: before.subtracting(after))
        let both = before.intersection(after)
        for property in newClass.properties where !property.isBacklinks {
            let oldProperty = oldClass.property(in: property.column)
            // The value in rows that were not set since the property was added.
            let unset: Value? =
                property.isSingle ? property.isOptional ? .null : property.type.zero : .list([])
            var modified = KeySet()
            for key in both {
                let first =
                    try oldProperty.map { try old.value($0, of: key, in: oldClass) } ?? unset
                let second = try new.value(property, of: key, in: newClass)
                if first != second { modified.insert(key) }
            }
            if !modified.isEmpty { changes.modified[property.column] = modified }
        }
        return changes
    }

    private static func keys(_ view: StoreView, _ classSchema: ClassSchema) throws -> KeySet {
        var keys: [ObjectKey] = []
        try view.forEachKey(of: classSchema) { keys.append($0) }
        return KeySet(unordered: keys)
    }
}
