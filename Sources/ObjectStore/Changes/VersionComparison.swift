import ColumnStorage

/// Finds the changes between two versions by comparing them.
///
/// The comparison is used if the history does not reach back to the old version. The result equals that of the history,
/// except that a value that was set to an equal value does not count as changed. Reads every value of every object.
enum VersionComparison {
    static func changes(from old: StoreView, to new: StoreView) throws -> ChangeSet {
        var result = ChangeSet(schemaChanged: old.schema !== new.schema)
        for classSchema in old.schema.classes {
            guard let latest = new.schema.find(table: classSchema.table) else {
                let reader = try old.table(classSchema)
                result.tables[classSchema.table] = try TableChanges(
                    deleted: KeySet(unordered: keys(reader)))
                continue
            }
            let changes = try compare(old, classSchema, with: new, latest)
            if !changes.isEmpty { result.tables[classSchema.table] = changes }
        }
        for classSchema in new.schema.classes where old.schema.find(table: classSchema.table) == nil
        {
            let inserted = try KeySet(unordered: keys(new.table(classSchema)))
            if !inserted.isEmpty {
                result.tables[classSchema.table] = TableChanges(inserted: inserted)
            }
        }
        return result
    }

    private static func compare(
        _ old: StoreView, _ oldClass: ClassSchema, with new: StoreView, _ newClass: ClassSchema
    ) throws -> TableChanges {
        let before = try KeySet(unordered: keys(old.table(oldClass)))
        let after = try KeySet(unordered: keys(new.table(newClass)))
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

    /// Returns all keys of a table in ascending order.
    private static func keys(_ reader: TableReader) throws -> [ObjectKey] {
        var keys: [ObjectKey] = []
        for cluster in 0..<reader.clusterCount {
            try reader.presence(cluster).forEachRow { row in
                keys.append(ObjectKey(rawValue: Int64(cluster * Cluster.rows + row)))
            }
        }
        return keys
    }
}
