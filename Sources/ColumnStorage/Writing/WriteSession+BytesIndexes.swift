import LMDBStorage

// The same for columns of bytes.
extension WriteSession {
    func clearBytes(
        _ overlay: TableOverlay, _ column: ColumnDefinition, _ key: ObjectKey, _ cluster: Int,
        _ row: Int
    ) throws(StorageError) {
        if column.kind == .string || column.kind == .data {
            try deleteLong(overlay, column.id, cluster, row, key)
        }
    }

    func buildBytes(_ reader: TableReader, _ column: ColumnDefinition) throws(StorageError) {}
}
