extension ChangeSet {
    /// Reports rows that were deleted and restored as modified, after change sets were merged.
    ///
    /// The merged sets list these rows as both deleted and inserted. The rows exist in both versions, so each of their
    /// columns counts as modified.
    mutating func markRevived(_ definitions: [TableID: TableDefinition]) {
        for (id, changes) in tables
        where !changes.inserted.isEmpty && !changes.deleted.isEmpty
            && changes.inserted.intersects(changes.deleted)
        {
            guard let definition = definitions[id] else { continue }
            tables[id]?.markRevived(definition)
        }
    }
}

extension TableChanges {
    fileprivate mutating func markRevived(_ definition: TableDefinition) {
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
