/// The changes of one table between two versions.
///
/// The three parts are disjoint: an inserted or deleted row is never listed as modified, and a row that was both
/// inserted and deleted between the versions is not listed (keys are never reused, so this is unambiguous).
package struct TableChanges: Sendable, Hashable {
    /// The rows that only the newer version has.
    package var inserted: KeySet
    /// The rows that only the older version has.
    package var deleted: KeySet
    /// The modified rows of both versions, by the column that was set; setting an equal value counts.
    package var modified: SortedMap<ColumnID, KeySet>
    /// The known edits of the collections of modified rows; if there is no entry, the two versions must be compared.
    package var edits: SortedMap<ColumnID, [ObjectKey: CollectionEdits]>

    /// Creates the changes of a table, by default none.
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

    /// Whether there are no changes.
    package var isEmpty: Bool {
        inserted.isEmpty && deleted.isEmpty && modified.values.allSatisfy(\.isEmpty)
    }

    /// The rows with at least one modified column.
    package var modifiedRows: KeySet {
        var all = KeySet()
        for keys in modified.values { all.formUnion(keys) }
        return all
    }

    /// Adds later changes of the same table.
    package mutating func merge(later: TableChanges) {
        // Rows that were inserted earlier remain insertions, regardless of later changes.
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
/// A change set is a value: it can be copied, sent to another thread, and merged with later changes. Its size depends
/// on the changes, not on the size of the tables.
package struct ChangeSet: Sendable, Hashable {
    /// The tables with changes.
    package var tables: SortedMap<TableID, TableChanges>
    /// Whether the schema was changed, so that all information about the tables must be read again.
    package var schemaChanged: Bool

    /// Creates a change set, by default an empty one.
    package init(
        tables: SortedMap<TableID, TableChanges> = SortedMap(), schemaChanged: Bool = false
    ) {
        self.tables = tables
        self.schemaChanged = schemaChanged
    }

    /// Whether there are no changes.
    package var isEmpty: Bool { !schemaChanged && tables.values.allSatisfy(\.isEmpty) }

    /// Adds the changes from the newer version of this change set to an even newer version.
    ///
    /// Insertion and deletion cancel out, insertion and modification are an insertion, modification and deletion are a
    /// deletion.
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
