import ColumnStorage

/// The step from the version that an observer has seen to the next one that it receives.
///
/// Both versions can be read, and the changes between them are known by row and column. All observers that take the
/// same step share it and the results that they compute from it.
final class VersionStep {
    let old: StoreView
    let new: StoreView
    let changes: ChangeSet
    /// The cached touched rows, by scope; observers with the same key paths share them.
    private var touched: [KeyPathFilter.Scope: KeySet] = [:]
    /// The cached objects that gained or lost a link, by column and target table.
    private var relinked: [Links: KeySet] = [:]
    /// The cached rows from which links lead to a change, by the first link.
    private var reached: [Reach: KeySet] = [:]

    private struct Reach: Hashable {
        let table: TableID
        let property: String
        /// The key path that the link begins; nil for an observer without key paths.
        let path: String?
    }

    /// Links of one column to the objects of one table.
    struct Links: Hashable {
        let backlinks: WatchGraph.Backlinks
        let target: TableID
    }

    init(from old: StoreView, to new: StoreView, changes: ChangeSet) {
        self.old = old
        self.new = new
        self.changes = changes
    }

    /// Returns the touched rows of a scope, which `find` computes for the first observer.
    func touchedRows(in scope: KeyPathFilter.Scope, _ find: () throws -> KeySet) throws -> KeySet {
        try cached(scope, in: \.touched, find)
    }

    /// Returns the objects that gained or lost a link, which `find` computes for the first observer.
    func relinkedTargets(_ links: Links, _ find: () throws -> KeySet) throws -> KeySet {
        try cached(links, in: \.relinked, find)
    }

    // The cache is passed as a key path, because `find` also uses the caches.
    private func cached<Key: Hashable>(
        _ key: Key, in cache: ReferenceWritableKeyPath<VersionStep, [Key: KeySet]>,
        _ find: () throws -> KeySet
    ) throws -> KeySet {
        if let known = self[keyPath: cache][key] { return known }
        let found = try find()
        self[keyPath: cache][key] = found
        return found
    }

    func changes(of table: TableID) -> TableChanges? { changes.tables[table] }

    /// Returns whether the step deletes the owner of a collection.
    ///
    /// Throws `unknown_class` if it removes the class of the collection, or the owner's class.
    func removes(_ table: TableID, owner: ObjectReference?) throws -> Bool {
        if changes.schemaChanged {
            for table in [table, owner?.table].compactMap(\.self) { try requireClass(table) }
        }
        guard let owner else { return false }
        return changes(of: owner.table)?.deleted.contains(owner.key) == true
    }

    /// Throws `unknown_class` if the step removes a class.
    func requireClass(_ table: TableID) throws {
        guard new.schema.find(table: table) == nil, let gone = old.schema.find(table: table) else {
            return
        }
        _ = try new.schema.require(gone.name)
        throw StoreError(.unknownClass, "another class is called '\(gone.name)' now")
    }

    /// Returns whether a collection of a row changed.
    func isChanged(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) -> Bool {
        changes.tables[table]?.modified[column]?.contains(key) == true
    }

    /// Returns the edits of a collection of a row, if they are known.
    func edits(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) -> CollectionEdits? {
        changes.tables[table]?.edits[column]?[key].flatMap { $0.isComplete ? $0 : nil }
    }

    /// Returns the rows of a class from which the links of one property lead to a change, within the depth of an
    /// observer without key paths.
    ///
    /// The result is computed once for all rows of a step.
    func rows(touchedThrough property: Property, of classSchema: ClassSchema) throws -> KeySet {
        let reach = Reach(table: classSchema.table, property: property.name, path: nil)
        return try cached(reach, in: \.reached) {
            // Without key paths, links are followed forwards only.
            try WatchGraph(through: property, of: classSchema, schema: new.schema).touchedRows(
                in: self)
        }
    }

    /// Returns the rows from which the steps of a key path that begins with the property lead to a change.
    func rows(
        touchedThrough property: Property, of classSchema: ClassSchema, on path: KeyPathFilter.Path
    ) throws -> KeySet {
        let reach = Reach(table: classSchema.table, property: property.name, path: path.text)
        return try cached(reach, in: \.reached) {
            try path.first.filter { $0.property.name == property.name }
                .reduce(into: KeySet()) { try $0.formUnion($1.watched.touchedRows(in: self)) }
        }
    }
}

/// Finds the changes between two versions by comparing them.
///
/// The comparison is used if the history does not reach back to the old version. The result equals that of the history,
/// except that a value that was set to an equal value does not count as changed. Reads the values in clusters of rows that
/// the versions do not share.
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
        let (before, after) = try (old.table(oldClass), new.table(newClass))
        let properties = newClass.properties.filter { !$0.isBacklinks }
        var (inserted, deleted): ([ObjectKey], [ObjectKey]) = ([], [])
        var modified = properties.map { _ in [ObjectKey]() }
        for cluster in 0..<max(before.clusterCount, after.clusterCount) {
            let base = Int64(cluster * Cluster.rows)
            func key(_ row: Int) -> ObjectKey { ObjectKey(base + Int64(row)) }
            let (first, second) = try StoreError.evaluating {
                try (before.presence(cluster), after.presence(cluster))
            }
            if first != second {
                (first & ~second).forEachRow { deleted.append(key($0)) }
                (second & ~first).forEachRow { inserted.append(key($0)) }
            }
            let both = first & second
            if both.isEmpty { continue }
            for (index, property) in properties.enumerated() {
                let oldProperty = oldClass.property(in: property.column)
                // The value in rows that were not set since the property was added.
                let unset: Value? =
                    property.isSingle
                    ? property.isOptional ? .null : property.type.zero : .list([])
                let rows = try StoreError.evaluating {
                    oldProperty == property
                        ? try after.rows(
                            thatMayDifferFrom: before, in: property.column, cluster, among: both)
                        : both
                }
                try rows.forEachRow { row in
                    let key = key(row)
                    let first =
                        try oldProperty.map { try old.value($0, of: key, in: oldClass) } ?? unset
                    let second = try new.value(property, of: key, in: newClass)
                    if first != second { modified[index].append(key) }
                }
            }
        }
        var changes = TableChanges(
            inserted: KeySet(unordered: inserted), deleted: KeySet(unordered: deleted))
        for (property, keys) in zip(properties, modified) where !keys.isEmpty {
            changes.modified[property.column] = KeySet(unordered: keys)
        }
        return changes
    }

    private static func keys(_ view: StoreView, _ classSchema: ClassSchema) throws -> KeySet {
        var keys: [ObjectKey] = []
        try view.forEachKey(of: classSchema) { keys.append($0) }
        return KeySet(unordered: keys)
    }
}
