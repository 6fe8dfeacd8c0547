import LMDBStorage

/// Removes rows of one table.
///
/// The affected indexes, lists, long values and columns of other rows are determined once for all rows.
struct RowRemoval {
    private typealias Source = (table: TableID, column: ColumnDefinition, index: IntIndex)

    private let session: WriteSession
    private let overlay: TableOverlay
    private let reader: TableReader
    /// The columns that may have links to the rows.
    private let sources: [Source]
    private let hasMixedColumns: Bool
    /// The columns with an index of integers.
    private let indexed: [(column: ColumnDefinition, index: IntIndex)]
    /// The columns with data outside of their leaves that must be removed.
    private let others: [ColumnDefinition]

    /// The number of rows from which it is worthwhile to check first whether there are any links.
    private static let many = 8

    /// Prepares to remove about `count` rows.
    init(_ session: WriteSession, _ table: TableID, count: Int) throws(StorageError) {
        self.session = session
        overlay = session.overlay(table)
        reader = overlay.reader
        let handle = session.transaction.handle
        var sources: [Source] = []
        for (source, column) in session.incoming(table) {
            guard let index = try session.snapshot.table(source).intIndex(column.id) else {
                continue
            }
            if count > Self.many, try index.isEmpty(in: handle) { continue }
            sources.append((source, column, index))
        }
        self.sources = sources
        hasMixedColumns = !session.mixedColumns().isEmpty
        var indexed: [(column: ColumnDefinition, index: IntIndex)] = []
        var others: [ColumnDefinition] = []
        for column in reader.definition.columns where !column.isDropped && !column.isContents {
            switch column.kind {
            case .string, .data, .list: others.append(column)
            case .bytes12, .bytes16: if column.usesBytesIndex { others.append(column) }
            default:
                if let index = reader.intIndex(column.id) { indexed.append((column, index)) }
            }
        }
        self.indexed = indexed
        self.others = others
    }

    /// Removes a row, which must exist.
    func remove(_ key: ObjectKey) throws(StorageError) {
        let (cluster, row) = session.position(of: key)
        for source in sources { try unlink(key, from: source) }
        if hasMixedColumns { try session.unlinkMixed(overlay.id, key) }
        for index in reader.rowIndexes {
            try index.willDelete(key, reader, in: session.transaction.handle)
        }
        try clear(key, cluster, row)
        overlay.unpackedLeaf(0, cluster).removePresence(row)
        reader.state.pointee.count -= 1
    }

    /// Removes the links to a row: single links and values of maps become null, and lists and sets lose the row.
    private func unlink(
        _ key: ObjectKey, from source: Source
    ) throws(StorageError) {
        let column = source.column
        var last: ObjectKey?
        let owners = try source.index.keys(equalTo: key.rawValue, in: session.transaction.handle)
        for owner in owners where owner != last {
            last = owner
            if column.kind == .link {
                session.set(source.table, column.id, owner, link: nil)
                continue
            }
            let element = ListElement.int(key.rawValue)
            if column.collection == .map {
                try session.map(source.table, column.id, owner).removeValues(equalTo: element)
            } else {
                try session.list(source.table, column.id, owner).removeAll(equalTo: element)
            }
        }
    }

    /// Returns whether a collection has data outside of its row.
    private func needsRemoval(
        _ column: ColumnDefinition, _ key: ObjectKey
    ) throws(StorageError) -> Bool {
        if column.usesIntIndex { return true }
        return try reader.list(column.id)?.isInline(key.rawValue) != true
    }

    /// Removes the data of a row in indexes, lists and the table of long values.
    private func clear(_ key: ObjectKey, _ cluster: Int, _ row: Int) throws(StorageError) {
        for (column, index) in indexed {
            let wasPresent = overlay.unpackedLeaf(0, cluster).isMarked(row)
            guard wasPresent || overlay.hadValue(column.id.rawValue + 1, cluster, row),
                let value = try reader.indexedInt(column, key)
            else { continue }
            try index.remove(value, key, in: session.transaction.handle)
        }
        for column in others {
            if column.kind != .list {
                try session.clearBytes(overlay, column, key, cluster: cluster, row: row)
            } else if try reader.listCount(column.id, key) > 0, try needsRemoval(column, key) {
                try session.list(overlay.id, column.id, key).removeAll()
            }
        }
    }
}

extension WriteSession {
    /// Removes a row.
    ///
    /// Its key is not reused.
    package func delete(_ table: TableID, _ key: ObjectKey) throws(StorageError) {
        let isPresent = try overlay(table).reader.isPresent(key)
        precondition(isPresent, "the row does not exist")
        try changing { () throws(StorageError) in
            try RowRemoval(self, table, count: 1).remove(key)
        }
    }

    /// Removes those of the rows that exist.
    package func delete(_ table: TableID, _ keys: [ObjectKey]) throws(StorageError) {
        let reader = overlay(table).reader
        try changing { () throws(StorageError) in
            let removal = try RowRemoval(self, table, count: keys.count)
            for key in keys where try reader.isPresent(key) { try removal.remove(key) }
        }
    }

    /// Removes every row of a table.
    package func deleteAll(_ table: TableID) throws(StorageError) {
        let reader = overlay(table).reader
        try changing { () throws(StorageError) in
            let removal = try RowRemoval(self, table, count: reader.count)
            for cluster in 0..<reader.clusterCount {
                let base = Int64(cluster * Cluster.rows)
                try reader.presence(cluster).forEachRow { row throws(StorageError) in
                    try removal.remove(ObjectKey(base + Int64(row)))
                }
            }
        }
    }

    func deleteLong(
        _ overlay: TableOverlay, _ column: ColumnID, cluster: Int, row: Int, _ key: ObjectKey
    ) throws(StorageError) {
        let leaf = try Leaf(overlay.reader.leaf(column.rawValue + 1, cluster))
        let isLong: Bool
        if leaf.encoding == LeafEncoding.pointers {
            isLong = overlay.unpackedLeaf(column.rawValue + 1, cluster).longs.contains(row)
        } else {
            isLong = leaf.isLong(row)
        }
        if isLong {
            try LongValueKey(overlay.id, column, key).delete(
                transaction.handle, file.tables.values)
        }
    }
}
