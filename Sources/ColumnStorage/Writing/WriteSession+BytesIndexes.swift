import LMDBStorage

// Index updates for columns of bytes.
extension WriteSession {
    /// Moves the entry of a row in an index of bytes from its current bytes to others; nil means no entry.
    ///
    /// Call it before the row is changed.
    func reindexBytes(
        _ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey,
        to new: UnsafeRawBufferPointer?, isNew: Bool
    ) {
        guard let index = overlay.reader.bytesIndex(column) else { return }
        let (cluster, row) = position(of: key)
        let hadValue = !isNew && overlay.hadValue(column.rawValue + 1, cluster, row)
        let old = reading(or: nil) { () throws(StorageError) in
            hadValue ? try overlay.reader.borrowedBytes(column, key) : nil
        }
        if let old, let new, BytesTest.isEqual(old, new) { return }
        do throws(StorageError) {
            if let old { try index.remove(old, key, in: transaction.handle) }
            if let new { try index.insert(new, key, in: transaction.handle) }
        } catch { fail(error) }
    }

    /// Removes the data of a deleted row from the index and from the table of long values.
    func clearBytes(
        _ overlay: TableOverlay, _ column: ColumnDefinition, _ key: ObjectKey, cluster: Int,
        row: Int
    ) throws(StorageError) {
        if column.usesBytesIndex {
            reindexBytes(overlay, column.id, key, to: nil, isNew: false)
        }
        if column.isMixed { reindexMixed(overlay, column.id, key, to: nil, isNew: false) }
        if column.kind == .string || column.kind == .data {
            try deleteLong(overlay, column.id, cluster: cluster, row: row, key)
        }
    }
}
