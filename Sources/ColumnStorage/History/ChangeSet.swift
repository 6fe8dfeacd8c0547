/// The changes of one table between two versions.
///
/// The three parts are disjoint: a row that was inserted or deleted is never named as modified, and
/// a row that was inserted and deleted between the two versions is not named at all (keys are never
/// used again, so nothing can be confused).
package struct TableChanges: Sendable, Hashable {
    /// Rows that the newer version has and the older has not.
    package var inserted: KeySet
    /// Rows that the older version has and the newer has not.
    package var deleted: KeySet
    /// Rows that both versions have, by the column that was set; setting an equal value counts.
    package var modified: SortedMap<ColumnID, KeySet>
    /// The known edits of the collections of modified rows; without an entry the two versions must be compared.
    package var edits: SortedMap<ColumnID, [ObjectKey: CollectionEdits]>

    /// Changes of a table, by default none.
    package init(
        inserted: KeySet = KeySet(), deleted: KeySet = KeySet(),
        modified: SortedMap<ColumnID, KeySet> = SortedMap(),
        edits: SortedMap<ColumnID, [ObjectKey: CollectionEdits]> = SortedMap()
    ) {
        self.inserted = inserted
        self.deleted = deleted
        self.modified = modified
        self.edits = edits
    }

    /// Whether nothing happened.
    package var isEmpty: Bool {
        inserted.isEmpty && deleted.isEmpty && modified.values.allSatisfy(\.isEmpty)
    }

    /// The rows with at least one modified column.
    package var modifiedRows: KeySet {
        var all = KeySet()
        for keys in modified.values { all.formUnion(keys) }
        return all
    }

    /// Adds what happened to the same table after this.
    package mutating func merge(later: TableChanges) {
        // Rows that were inserted in the earlier part stay insertions whatever was set in them later.
        let earlierInserted = inserted
        let earlierModified = modified
        modified.removeAll()
        for (column, keys) in earlierModified {
            var keys = keys
            keys.subtract(later.deleted)
            if !keys.isEmpty { modified[column] = keys }
        }
        for (column, keys) in later.modified {
            var keys = keys
            keys.subtract(earlierInserted)
            if !keys.isEmpty { modified[column, default: KeySet()].formUnion(keys) }
        }
        if !edits.isEmpty || !later.edits.isEmpty {
            mergeEdits(later, earlierInserted, earlierModified)
        }
        inserted.subtract(later.deleted)
        inserted.formUnion(later.inserted)
        deleted.formUnion(later.deleted.subtracting(earlierInserted))
    }

    private mutating func mergeEdits(
        _ later: TableChanges, _ earlierInserted: KeySet,
        _ earlierModified: SortedMap<ColumnID, KeySet>
    ) {
        for (column, collections) in edits {
            let again = later.modified[column] ?? KeySet()
            edits[column] = collections.filter { key, _ in
                // If the later change of a collection is unknown, the combined change is unknown.
                !later.deleted.contains(key)
                    && (!again.contains(key) || later.edits[column]?[key] != nil)
            }
        }
        for (column, collections) in later.edits {
            for (key, edit) in collections where !earlierInserted.contains(key) {
                if earlierModified[column]?.contains(key) != true {
                    edits[column, default: [:]][key] = edit
                } else if edits[column]?[key] != nil {
                    edits[column]?[key]?.append(later: edit)
                }
            }
        }
        edits = edits.filter { !$0.value.isEmpty }
    }
}

/// The changes of a file between two versions: by table, the rows that were inserted, deleted and modified, and the
/// modified columns.
///
/// A value like any other: copy it, send it to another thread, merge it with what came after. Its
/// size follows what happened, not the size of the tables.
package struct ChangeSet: Sendable, Hashable {
    /// The tables with changes; one without changes is not named.
    package var tables: SortedMap<TableID, TableChanges>
    /// Whether the schema was changed, so that everything known about the tables must be read
    /// again.
    package var schemaChanged: Bool

    /// A change set, by default an empty one.
    package init(
        tables: SortedMap<TableID, TableChanges> = SortedMap(), schemaChanged: Bool = false
    ) {
        self.tables = tables
        self.schemaChanged = schemaChanged
    }

    /// Whether nothing happened.
    package var isEmpty: Bool { !schemaChanged && tables.values.allSatisfy(\.isEmpty) }

    /// Adds what happened between the newer version of this change set and a still newer one.
    ///
    /// Insertion and deletion cancel out, insertion and modification are an insertion, modification
    /// and deletion are a deletion.
    package mutating func merge(later: ChangeSet) {
        schemaChanged = schemaChanged || later.schemaChanged
        for (table, changes) in later.tables {
            guard var earlier = tables.removeValue(forKey: table) else {
                tables[table] = changes
                continue
            }
            earlier.merge(later: changes)
            if !earlier.isEmpty { tables[table] = earlier }
        }
    }
}
