import LMDBStorage

// Updates of indexes whose entries are computed from rows.
extension WriteSession {
    /// Removes the index entries of a row before one of its values changes.
    @inline(never)
    func noteChange(_ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey) {
        do throws(StorageError) {
            for index in overlay.reader.rowIndexes where index.definition.depends(on: column) {
                try index.willChange(key, overlay.reader, in: transaction.handle)
            }
        } catch { fail(error) }
    }

    /// Adds the index entries of changed and new rows.
    func addPendingEntries(_ reader: TableReader) throws(StorageError) {
        for index in reader.rowIndexes { try index.addPending(reader, in: transaction.handle) }
    }

    /// Removes the indexes that the next definition does not have.
    func clearRowIndexes(
        _ reader: TableReader, _ next: TableDefinition
    ) throws(StorageError) {
        let wanted = next.rowIndexes
        for index in reader.rowIndexes where !wanted.contains(index.definition) {
            try index.index.removeAll(in: transaction.handle)
        }
    }
}
