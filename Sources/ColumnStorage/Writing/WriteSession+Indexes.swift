import LMDBStorage

// The effects of row changes on indexes, lists and the links of other rows.
extension WriteSession {
    /// Returns an editor of a row's list or set; the caller keeps a set in order.
    package func list(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey
    ) throws(StorageError) -> ListEditor {
        let overlay = overlay(table)
        guard let lists = overlay.reader.list(column) else {
            preconditionFailure("not a list column")
        }
        return ListEditor(
            session: self, overlay: overlay,
            column: overlay.reader.definition.columns[column.rawValue], key: key,
            writer: lists.writer(key, count: try overlay.reader.listCount(column, key)))
    }

    /// Returns an editor of a row's map.
    package func map(
        _ table: TableID, _ column: ColumnID, _ key: ObjectKey
    ) throws(StorageError) -> MapEditor {
        let values = try list(table, column, key)
        guard let keys = values.writer.column.keys else {
            preconditionFailure("not a map column")
        }
        return MapEditor(values, keys: keys.writer(key, count: try values.count))
    }

    func setListCount(
        _ overlay: TableOverlay, _ column: ColumnID, _ key: ObjectKey, to count: Int
    ) {
        let (cluster, row) = position(of: key)
        let leaf = overlay.unpackedLeaf(column.rawValue + 1, cluster)
        leaf.mark(row)
        leaf.setWord(row, UInt64(max(count, 0)))
    }

    /// Moves the entry of a row from one integer to another; nil means no entry.
    func reindex(_ index: IntIndex, _ key: ObjectKey, from old: Int64?, to new: Int64?) {
        if old == new { return }
        do throws(StorageError) {
            if let old { try index.remove(old, key, in: transaction.handle) }
            if let new { try index.insert(new, key, in: transaction.handle) }
        } catch { fail(error) }
    }

    /// Returns the columns whose links point to a table.
    func incoming(_ table: TableID) -> [(table: TableID, column: ColumnDefinition)] {
        if let known = incomingColumns[table] { return known }
        var found: [(table: TableID, column: ColumnDefinition)] = []
        for definition in snapshot.source.definitions.values {
            for column in definition.columns where !column.isDropped && column.target == table {
                if column.kind == .link || column.elementKind == .link {
                    found.append((definition.id, column))
                }
            }
        }
        incomingColumns[table] = found
        return found
    }

    /// Builds the index of a column for existing rows.
    func build(_ reader: TableReader, _ column: ColumnDefinition) throws(StorageError) {
        if let index = reader.intIndex(column.id), column.kind == .int || column.kind == .bool {
            try fill(index, reader) { key throws(StorageError) in try reader.indexedInt(column, key)
            }
        }
        if let index = reader.bytesIndex(column.id) {
            try fill(index, reader) { key throws(StorageError) in
                try reader.borrowedBytes(column.id, key).map { BytesView($0) }
            }
        }
    }

    private func fill<Value>(
        _ index: SortedIndex<Value>, _ reader: TableReader,
        _ value: (ObjectKey) throws(StorageError) -> Value?
    ) throws(StorageError) {
        for cluster in 0..<reader.clusterCount {
            try Interruption.step(Cluster.rows)
            let base = Int64(cluster * Cluster.rows)
            try reader.presence(cluster).forEachRow { row throws(StorageError) in
                let key = ObjectKey(base + Int64(row))
                if let value = try value(key) {
                    try index.insert(value, key, in: transaction.handle)
                }
            }
        }
    }
}
