import LMDBStorage

// The same for indexes whose entries are computed from rows.
extension WriteSession {
    /// To be called before a value of a row changes.
    @inline(never)
    func noteChange(_ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey) {
        do throws(StorageError) {
            for index in overlay.reader.rowIndexes where index.definition.depends(on: column) {
                try index.willChange(key, overlay.reader, in: transaction.handle)
            }
        } catch { fail(error) }
    }

    /// Gives the rows that have changed or are new their entries.
    func settleRowIndexes(_ reader: TableReader) throws(StorageError) {
        for index in reader.rowIndexes { try index.settle(reader, in: transaction.handle) }
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
