import LMDBStorage

// Taking back what an earlier version did.
extension WriteSession {
    /// Makes everything that a version has changed what it was before that version; rows that it deleted come back under
    /// their keys.
    ///
    /// The data must be what it was at that version, and the schema too: the caller knows from the history. Costs what the
    /// version did. Throws `damaged` if the version's old values are not kept or do not fit; the write is to be
    /// cancelled then.
    public func revert(version: UInt64) throws(StorageError) {
        guard var reader = snapshot.entryReader(version) else {
            throw StorageError(.damaged, call: "a version without history", file: file.path)
        }
        let changes: ChangeSet
        do throws(DamagedEncoding) {
            changes = try ChangeSet(from: &reader)
            let trailer = try HistoryTrailer(from: &reader)
            guard trailer.hasOldValues || changes.tables.isEmpty else { throw reader.damaged }
        } catch {
            throw StorageError(.damaged, call: "reading \(error.what)", file: file.path)
        }
        let tables = changes.tables
        try checkPresence(tables)
        for (table, changed) in tables {
            for key in changed.deleted { try revive(table, key) }
        }
        for (table, changed) in tables { try restore(table, changed, &reader) }
        guard reader.remaining == 0 else { throw misfit() }
        for (table, changed) in tables {
            for key in changed.inserted { try delete(table, key) }
        }
    }

    private func misfit() -> StorageError {
        StorageError(.damaged, call: "old values that do not fit the data", file: file.path)
    }

    private func checkPresence(
        _ tables: SortedMap<TableID, TableChanges>
    ) throws(StorageError) {
        for (table, changed) in tables {
            let reader = snapshot.table(table)
            for keys in [changed.inserted] + changed.modified.values {
                for key in keys where !reader.isPresent(key) { throw misfit() }
            }
            for column in changed.modified.keys where reader.kind(of: column) == nil {
                throw misfit()
            }
            for key in changed.deleted {
                guard key.rawValue < reader.keyBound, !reader.isPresent(key) else { throw misfit() }
            }
        }
    }

    /// Brings a row back that an earlier version has deleted: every column zero, null or empty until it is set.
    private func revive(_ table: TableID, _ key: ObjectKey) throws(StorageError) {
        let overlay = overlay(table)
        let (cluster, row) = place(key)
        guard !overlay.wasPresent(cluster, row) else { throw misfit() }
        for index in overlay.reader.rowIndexes { index.willRevive(key) }
        var bits = overlay.heapLeaf(0, cluster).presence
        bits.insert(row)
        overlay.heapLeaf(0, cluster).presence = bits
        overlay.reader.state.pointee.count += 1
        for column in overlay.reader.definition.columns where !column.isDropped {
            if column.kind == .list {
                setListCount(overlay, column.id, key, 0)
            } else {
                setNull(table, column.id, key)
            }
        }
    }

    private func restore(
        _ table: TableID, _ changed: TableChanges, _ reader: inout ByteReader
    ) throws(StorageError) {
        if changed.deleted.isEmpty && changed.modified.isEmpty { return }
        let columns = overlay(table).reader.definition.columns
        do throws(DamagedEncoding) {
            guard try reader.number() == UInt64(columns.count) else { throw reader.damaged }
        } catch { throw misfit() }
        if !changed.deleted.isEmpty {
            for column in columns where !column.isDropped {
                for key in changed.deleted { try restore(table, column, key, &reader) }
            }
        }
        for (column, keys) in changed.modified {
            for key in keys { try restore(table, columns[column.rawValue], key, &reader) }
        }
    }

    private func restore(
        _ table: TableID, _ column: ColumnDefinition, _ key: ObjectKey, _ reader: inout ByteReader
    ) throws(StorageError) {
        if column.kind == .list { return try restoreCollection(table, column, key, &reader) }
        let id = column.id
        do throws(DamagedEncoding) {
            if column.isOptional && column.kind != .link, try reader.byte() != 0 {
                return setNull(table, id, key)
            }
            switch column.kind {
            case .bool: set(table, id, key, bool: try reader.signed() != 0)
            case .int: set(table, id, key, int: try reader.signed())
            case .link:
                let word = try reader.signed()
                set(table, id, key, link: word > 0 ? ObjectKey(rawValue: word - 1) : nil)
            case .double:
                set(table, id, key, double: Double(bitPattern: try reader.word(bytes: 8)))
            case .float:
                let bits = UInt32(truncatingIfNeeded: try reader.word(bytes: 4))
                set(table, id, key, float: Float(bitPattern: bits))
            case .string, .data:
                set(table, id, key, bytes: try reader.raw(try reader.count()).bytes)
            case .bytes12: set(table, id, key, bytes: try reader.raw(12).bytes)
            case .bytes16: set(table, id, key, bytes: try reader.raw(16).bytes)
            case .list: break
            }
        } catch { throw misfit() }
    }

    private func restoreCollection(
        _ table: TableID, _ column: ColumnDefinition, _ key: ObjectKey, _ reader: inout ByteReader
    ) throws(StorageError) {
        let between: Range<Int>
        var elements: [ListElement] = []
        var names: [[UInt8]] = []
        let count = overlay(table).reader.listCount(column.id, key)
        do throws(DamagedEncoding) {
            let (first, last) = (try reader.number(), try reader.number())
            guard first <= UInt64(count), last <= UInt64(count) - first else {
                throw reader.damaged
            }
            between = Int(first)..<count - Int(last)
            let number = try reader.count()
            for _ in 0..<number { elements.append(try Self.element(&reader)) }
            if column.collection == .map {
                for _ in 0..<number { names.append([UInt8](try reader.raw(try reader.count()))) }
            }
        } catch { throw misfit() }
        guard column.collection == .map else {
            let list = list(table, column.id, key)
            if between.lowerBound == 0, between.upperBound == count, count > 0 {
                try list.removeAll()
            } else {
                for position in between.reversed() { try list.remove(at: position) }
            }
            for (offset, element) in elements.enumerated() {
                try list.insert(element, at: between.lowerBound + offset)
            }
            // Also where nothing lay between: the collection counts as changed.
            return setListCount(overlay(table), column.id, key, list.count)
        }
        let map = map(table, column.id, key)
        var gone: [[UInt8]] = []
        for position in between { gone.append(try map.reader.key(at: position) ?? []) }
        for name in gone { try map.remove(name) }
        for (name, element) in zip(names, elements) { try map.set(element, for: name) }
        setListCount(overlay(table), column.id, key, map.count)
    }

    private static func element(_ reader: inout ByteReader) throws(DamagedEncoding) -> ListElement {
        switch try reader.byte() {
        case 0: return .null
        case 1: return .int(try reader.signed())
        case 2:
            return .float(
                Float(bitPattern: UInt32(truncatingIfNeeded: try reader.word(bytes: 4))))
        case 3: return .double(Double(bitPattern: try reader.word(bytes: 8)))
        case 4: return .bytes([UInt8](try reader.raw(try reader.count())))
        default: throw reader.damaged
        }
    }
}
