extension ChangeSet {
    /// After a merge, rows that were deleted and restored are among the deleted and the inserted rows.
    ///
    /// They exist in both versions, so they count as modified, in every column.
    mutating func settleRevived(_ definitions: [TableID: TableDefinition]) {
        for (id, changes) in tables
        where !changes.inserted.isEmpty && !changes.deleted.isEmpty
            && changes.inserted.intersects(changes.deleted)
        {
            guard let definition = definitions[id] else { continue }
            tables[id]?.settleRevived(definition)
        }
    }
}

extension TableChanges {
    fileprivate mutating func settleRevived(_ definition: TableDefinition) {
        let revived = inserted.intersection(deleted)
        inserted.subtract(revived)
        deleted.subtract(revived)
        for column in definition.columns where !column.isDropped {
            modified[column.id, default: KeySet()].formUnion(revived)
            edits[column.id] = edits[column.id]?.filter { !revived.contains($0.key) }
        }
        edits = edits.filter { !$0.value.isEmpty }
    }
}
