import LMDBStorage

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

    /// Restores a row that an earlier version has deleted; its columns are zero, null or empty until they are set.
    func revive(_ table: TableID, _ key: ObjectKey) throws(StorageError) {
        let overlay = overlay(table)
        let (cluster, row) = position(of: key)
        guard !overlay.wasPresent(cluster, row) else { throw misfit() }
        for index in overlay.reader.rowIndexes { index.willRevive(key) }
        var bits = overlay.unpackedLeaf(0, cluster).presence
        bits.insert(row)
        overlay.unpackedLeaf(0, cluster).presence = bits
        overlay.reader.state.pointee.count += 1
        for column in overlay.reader.definition.columns where !column.isDropped {
            if column.kind == .list {
                setListCount(overlay, column.id, key, to: 0)
            } else if column.isContents {
                overlay.setBytes(column.id, key, UnsafeRawBufferPointer(start: nil, count: 0))
            } else {
                setNull(table, column.id, key)
            }
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
