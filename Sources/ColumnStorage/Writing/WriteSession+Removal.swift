import LMDBStorage

// Removing columns and tables. Their data is freed in the same write.
extension WriteSession {
    /// Removes the entries of indexes that the next definition lacks, and the lists and values of dropped columns.
    func clearDropped(
        _ overlay: TableOverlay, _ before: TableDefinition, _ after: TableDefinition
    ) throws(StorageError) {
        let reader = overlay.reader
        for (index, column) in before.columns.enumerated() where !column.isDropped {
            let next = after.columns.indices.contains(index) ? after.columns[index] : nil
            if column.usesIntIndex && next?.usesIntIndex != true {
                try reader.intIndex(column.id)?.removeAll(in: transaction.handle)
            }
            if column.usesBytesIndex && next?.usesBytesIndex != true {
                try reader.bytesIndex(column.id)?.removeAll(in: transaction.handle)
            }
            guard next?.isDropped != false else { continue }
            if column.kind == .list { try reader.list(column.id)?.removeAllLists() }
            if column.kind == .string || column.kind == .data {
                try LongValueKey.removeAll(
                    of: reader.id, column.id, transaction.handle, file.tables.values)
            }
            try overlay.removeLeaves(of: index + 1)
        }
    }

    /// Removes a table with its rows and all their data; each row counts as deleted.
    ///
    /// The number of the table is not reused. Columns of other tables that link to it must have been dropped before,
    /// because links are not searched. Takes only the time to free the pages.
    package func removeTable(_ table: TableID) throws(StorageError) {
        let overlay = overlay(table)
        guard !overlay.isRemoved else { return }
        isSchemaChanged = true
        incomingColumns = [:]
        overlay.touch()
        try overlay.packTail()
        let reader = overlay.reader
        let empty = TableDefinition(id: table, columns: [])
        try overlay.removeAllRows()
        try clearRowIndexes(reader, empty)
        reader.clear()
        try clearDropped(overlay, reader.definition, empty)
        try removeEntries(
            reader.leaves, from: LeafKey(table, cluster: 0, slot: 0).rawValue,
            through: UInt64(table.rawValue) << 48 | (1 << 48 - 1))
        try removeTail(TableHead.key(table, 0)..<TableHead.key(table) + 1)
        snapshot.source.define(empty)
        try reader.configure(empty)
    }

    /// Whether the write has not changed any data yet.
    package var isUntouched: Bool {
        !isSchemaChanged && overlays.values.allSatisfy { !$0.isTouched }
    }

    /// Returns the rows that the write has inserted, or in which it has set one of the columns.
    ///
    /// Takes time in proportion to the touched rows.
    package func touchedKeys(_ table: TableID, _ columns: [ColumnID]) throws(StorageError) -> KeySet
    {
        try overlays[table]?.touchedKeys(columns) ?? KeySet()
    }

    /// Returns whether the write has set a column of a row that is older than the write.
    package func hasSet(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) -> Bool {
        overlays[table]?.hasSet(column, key) == true
    }

    /// Returns whether the write has touched a table.
    package func hasTouched(_ table: TableID) -> Bool { overlays[table]?.isTouched == true }

    private func removeEntries(
        _ table: Table, from first: UInt64, through last: UInt64
    ) throws(StorageError) {
        let cursor = try transaction.handle.cursor(table)
        var entry = try cursor.setRange(first)
        while let found = entry, found.integerKey <= last {
            try cursor.delete()
            entry = try cursor.next()
        }
    }
}

extension LongValueKey {
    /// Removes the long values of a column.
    static func removeAll(
        of table: TableID, _ column: ColumnID, _ transaction: TransactionHandle, _ values: Table
    ) throws(StorageError) {
        let cursor = try transaction.cursor(values)
        let first = LongValueKey(table, column, ObjectKey(0))
        var entry = try first.seek(cursor)
        while let found = entry, first.hasSameColumn(found.key) {
            try cursor.delete()
            entry = try cursor.next()
        }
    }
}
