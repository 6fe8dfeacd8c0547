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
        !isSchemaChanged && !isVersionChanged && overlays.values.allSatisfy { !$0.isTouched }
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

/// A function that receives a row that loses a link, with its table and column.
package typealias LinkObserver = (TableID, ColumnID, ObjectKey) -> Void

/// Removes rows of one table.
///
/// The affected indexes, lists, long values and columns of other rows are determined once for all rows.
struct RowRemoval {
    private typealias Source = (table: TableID, column: ColumnDefinition, index: IntIndex)

    private let session: WriteSession
    private let overlay: TableOverlay
    private let reader: TableReader
    /// Receives each row that loses a link, with its table and column.
    private let didUnlink: LinkObserver?
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
    init(
        _ session: WriteSession, _ table: TableID, count: Int, didUnlink: LinkObserver? = nil
    ) throws(StorageError) {
        self.session = session
        self.didUnlink = didUnlink
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
        if hasMixedColumns { try session.unlinkMixed(overlay.id, key, didUnlink) }
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
        let owners = try source.index.keys(equalTo: key.rawValue, in: session.transaction.handle)
        if owners.isEmpty { return }
        let rows = session.overlay(source.table).reader
        var rest = owners[...]
        while let owner = rest.first {
            // An owner occurs once for each of its links.
            let number = rest.prefix { $0 == owner }.count
            rest = rest.dropFirst(number)
            guard owner.rawValue >= 0, owner.rawValue < rows.keyBound else {
                throw rows.source.damaged("the index of links in table \(source.table.rawValue)")
            }
            didUnlink?(source.table, column.id, owner)
            if column.kind == .link {
                session.set(source.table, column.id, owner, link: nil)
            } else if column.collection == .map {
                try session.map(source.table, column.id, owner).removeValues(key, number: number)
            } else {
                try session.list(source.table, column.id, owner).removeAll(key, number: number)
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
    /// Removes a row; `didUnlink` receives each row that loses a link to it, with its table and column.
    ///
    /// Its key is not reused.
    package func delete(
        _ table: TableID, _ key: ObjectKey, didUnlink: LinkObserver? = nil
    ) throws(StorageError) {
        let isPresent = try overlay(table).reader.isPresent(key)
        precondition(isPresent, "the row does not exist")
        try changing { () throws(StorageError) in
            try RowRemoval(self, table, count: 1, didUnlink: didUnlink).remove(key)
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

// Reverting the changes of an earlier version.
extension WriteSession {
    /// Restores all data that a version has changed, including rows that it deleted, with their keys.
    ///
    /// The data and the schema must be those of that version, which the caller checks in the history. Takes time in
    /// proportion to the changes of the version. Throws `damaged` if the version's old values are not kept or do not
    /// fit; the write must then be rolled back.
    package func revert(version: UInt64) throws(StorageError) {
        guard var reader = try snapshot.entryReader(version) else {
            throw StorageError(.damaged, call: "a version without history", file: file.path)
        }
        let changes: ChangeSet
        let hasHunks: Bool
        do throws(DamagedEncoding) {
            changes = try ChangeSet(from: &reader)
            let trailer = try HistoryTrailer(from: &reader)
            guard trailer.hasOldValues || changes.tables.isEmpty else { throw reader.damaged }
            hasHunks = trailer.hasHunks
        } catch {
            throw StorageError(.damaged, call: "reading \(error.what)", file: file.path)
        }
        let tables = changes.tables
        try checkPresence(tables)
        for (table, changed) in tables {
            for key in changed.deleted { try revive(table, key) }
        }
        var oldValues = OldValuesReader(session: self, hasHunks: hasHunks, reader: reader)
        for (table, changed) in tables { try oldValues.restore(table, changed) }
        guard oldValues.isAtEnd else { throw misfit() }
        for (table, changed) in tables {
            for key in changed.inserted { try delete(table, key) }
        }
    }

    fileprivate func misfit() -> StorageError {
        StorageError(.damaged, call: "old values that do not match the data", file: file.path)
    }

    private func checkPresence(
        _ tables: SortedMap<TableID, TableChanges>
    ) throws(StorageError) {
        for (table, changed) in tables {
            let reader = try snapshot.table(table)
            for keys in [changed.inserted] + changed.modified.values {
                for key in keys where try !reader.isPresent(key) { throw misfit() }
            }
            for column in changed.modified.keys where reader.kind(of: column) == nil {
                throw misfit()
            }
            for key in changed.deleted {
                guard key.rawValue < reader.keyBound, try !reader.isPresent(key) else {
                    throw misfit()
                }
            }
        }
    }

    /// Restores a row that an earlier version or this write has deleted; its columns are zero, null or empty until they
    /// are set.
    ///
    /// The leaves may still have the values from before the deletion, but no index has entries of them.
    func revive(_ table: TableID, _ key: ObjectKey) throws(StorageError) {
        let overlay = overlay(table)
        let (cluster, row) = position(of: key)
        for index in overlay.reader.rowIndexes { index.willRevive(key) }
        let root = overlay.unpackedLeaf(0, cluster)
        root.presence.insert(row)
        overlay.reader.state.pointee.count += 1
        for column in overlay.reader.definition.columns where !column.isDropped {
            if column.isContents {
                overlay.setBytes(column.id, key, UnsafeRawBufferPointer(start: nil, count: 0))
                continue
            }
            let slot = column.id.rawValue + 1
            if column.kind == .list, overlay.hadValue(slot, cluster, row),
                let lists = overlay.reader.list(column.id)
            {
                try lists.removeAll(key)
                lists.recordedEdits.drop()
            }
            let leaf = overlay.unpackedLeaf(slot, cluster)
            leaf.mark(row)
            leaf.clear(row, column.kind)
        }
    }
}

/// Restores the values that a version has replaced, in the order in which its history entry contains them.
private struct OldValuesReader {
    let session: WriteSession
    /// Whether collections are stored as hunks, and not whole.
    let hasHunks: Bool
    var reader: ByteReader

    var isAtEnd: Bool { reader.remaining == 0 }

    /// Restores the rows of one table, which all exist.
    mutating func restore(_ table: TableID, _ changed: TableChanges) throws(StorageError) {
        if changed.deleted.isEmpty && changed.modified.isEmpty { return }
        let columns = session.overlay(table).reader.definition.columns
        do throws(DamagedEncoding) {
            guard try reader.number() == UInt64(columns.count) else { throw reader.damaged }
        } catch { throw session.misfit() }
        if !changed.deleted.isEmpty {
            for column in columns where column.hasOldValues {
                for key in changed.deleted { try restore(table, column, key) }
            }
        }
        for (column, keys) in changed.modified {
            for key in keys { try restore(table, columns[column.rawValue], key) }
        }
    }

    private mutating func restore(
        _ table: TableID, _ column: ColumnDefinition, _ key: ObjectKey
    ) throws(StorageError) {
        if column.kind == .list { return try restoreCollection(table, column, key) }
        let id = column.id
        do throws(DamagedEncoding) {
            if column.isOptional && column.kind != .link, try reader.byte() != 0 {
                return session.setNull(table, id, key)
            }
            switch column.kind {
            case .bool: session.set(table, id, key, bool: try reader.signed() != 0)
            case .int: session.set(table, id, key, int: try reader.signed())
            case .link:
                let word = try reader.signed()
                session.set(table, id, key, link: word > 0 ? ObjectKey(rawValue: word - 1) : nil)
            case .double:
                session.set(table, id, key, double: Double(bitPattern: try reader.word(bytes: 8)))
            case .float:
                let bits = UInt32(truncatingIfNeeded: try reader.word(bytes: 4))
                session.set(table, id, key, float: Float(bitPattern: bits))
            case .string, .data:
                session.set(table, id, key, bytes: try reader.raw(try reader.count()).bytes)
            case .bytes12: session.set(table, id, key, bytes: try reader.raw(12).bytes)
            case .bytes16: session.set(table, id, key, bytes: try reader.raw(16).bytes)
            case .list: break
            }
        } catch { throw session.misfit() }
    }

    private mutating func restoreCollection(
        _ table: TableID, _ column: ColumnDefinition, _ key: ObjectKey
    ) throws(StorageError) {
        let overlay = session.overlay(table)
        let count = try overlay.reader.listCount(column.id, key)
        let hunks: [ReplacedElements]
        do throws(DamagedEncoding) {
            hunks = try ReplacedElements.read(
                count: count, isMap: column.collection == .map, hasHunks: hasHunks, &reader)
        } catch { throw session.misfit() }
        let restored: Int
        if column.collection == .map {
            restored = try Self.restore(session.map(table, column.id, key), hunks)
        } else {
            restored = try Self.restore(session.list(table, column.id, key), hunks, of: count)
        }
        // The count is set even if no elements were replaced, because the collection counts as changed.
        session.setListCount(overlay, column.id, key, to: restored)
    }

    /// Restores the elements of a list of `count` elements, and returns their number.
    private static func restore(
        _ list: ListEditor, _ hunks: [ReplacedElements], of count: Int
    ) throws(StorageError) -> Int {
        // The hunks are reverted from the end, so the positions before them do not change.
        for hunk in hunks.reversed() {
            if hunk.new == 0..<count, count > 0 {
                try list.removeAll()
            } else {
                for position in hunk.new.reversed() { try list.remove(at: position) }
            }
            for (offset, element) in hunk.elements.enumerated() {
                try list.insert(element, at: hunk.new.lowerBound + offset)
            }
        }
        return try list.count
    }

    /// Restores the values of a map, and returns their number.
    private static func restore(
        _ map: MapEditor, _ hunks: [ReplacedElements]
    ) throws(StorageError) -> Int {
        var gone: [[UInt8]] = []
        for position in hunks.flatMap(\.new) { gone.append(try map.reader.key(at: position) ?? []) }
        for name in gone { try map.remove(name) }
        for hunk in hunks {
            for (name, element) in zip(hunk.names, hunk.elements) {
                try map.set(element, for: name)
            }
        }
        return try map.count
    }
}
