/// The changes of one table between two versions.
///
/// The three parts are disjoint: an inserted or deleted row is never listed as modified, and a row that was both
/// inserted and deleted between the versions is not listed (keys are never reused, so this is unambiguous).
package struct TableChanges: Sendable, Hashable {
    /// The rows that only the newer version has.
    package var inserted: KeySet
    /// The rows that only the older version has.
    package var deleted: KeySet
    /// The modified rows of both versions, by the column that was set; setting an equal value counts.
    package var modified: SortedMap<ColumnID, KeySet>
    /// The known edits of the collections of modified rows; if there is no entry, the two versions must be compared.
    package var edits: SortedMap<ColumnID, [ObjectKey: CollectionEdits]>

    /// Creates the changes of a table, by default none.
    package init(
        inserted: KeySet = KeySet(), deleted: KeySet = KeySet(),
        modified: SortedMap<ColumnID, KeySet> = SortedMap(),
        edits: SortedMap<ColumnID, [ObjectKey: CollectionEdits]> = SortedMap()
    ) {
        self.inserted = inserted
        self.deleted = deleted
        self.modified = modified
        self.edits = edits
    }

    /// Whether there are no changes.
    package var isEmpty: Bool {
        inserted.isEmpty && deleted.isEmpty && modified.values.allSatisfy(\.isEmpty)
    }

    /// The rows with at least one modified column.
    package var modifiedRows: KeySet {
        var all = KeySet()
        for keys in modified.values { all.formUnion(keys) }
        return all
    }

    /// Adds later changes of the same table.
    package mutating func merge(later: TableChanges) {
        // Rows that were inserted earlier remain insertions, regardless of later changes.
        let earlierInserted = inserted
        let earlierModified = modified
        modified.removeAll()
        for (column, keys) in earlierModified {
            var keys = keys
            keys.subtract(later.deleted)
            if !keys.isEmpty { modified[column] = keys }
        }
        for (column, keys) in later.modified {
            var keys = keys
            keys.subtract(earlierInserted)
            if !keys.isEmpty { modified[column, default: KeySet()].formUnion(keys) }
        }
        if !edits.isEmpty || !later.edits.isEmpty {
            mergeEdits(later, earlierInserted, earlierModified)
        }
        inserted.subtract(later.deleted)
        inserted.formUnion(later.inserted)
        deleted.formUnion(later.deleted.subtracting(earlierInserted))
    }

    private mutating func mergeEdits(
        _ later: TableChanges, _ earlierInserted: KeySet,
        _ earlierModified: SortedMap<ColumnID, KeySet>
    ) {
        for (column, collections) in edits {
            let again = later.modified[column] ?? KeySet()
            edits[column] = collections.filter { key, _ in
                // If the later change of a collection is unknown, the combined change is unknown.
                !later.deleted.contains(key)
                    && (!again.contains(key) || later.edits[column]?[key] != nil)
            }
        }
        for (column, collections) in later.edits {
            for (key, edit) in collections where !earlierInserted.contains(key) {
                if earlierModified[column]?.contains(key) != true {
                    edits[column, default: [:]][key] = edit
                } else if edits[column]?[key] != nil {
                    edits[column]?[key]?.append(later: edit)
                }
            }
        }
        edits = edits.filter { !$0.value.isEmpty }
    }
}

/// The changes of a file between two versions: by table, the rows that were inserted, deleted and modified, and the
/// modified columns.
///
/// A change set is a value: it can be copied, sent to another thread, and merged with later changes. Its size depends
/// on the changes, not on the size of the tables.
package struct ChangeSet: Sendable, Hashable {
    /// The tables with changes.
    package var tables: SortedMap<TableID, TableChanges>
    /// Whether the schema was changed, so that all information about the tables must be read again.
    package var schemaChanged: Bool

    /// Creates a change set, by default an empty one.
    package init(
        tables: SortedMap<TableID, TableChanges> = SortedMap(), schemaChanged: Bool = false
    ) {
        self.tables = tables
        self.schemaChanged = schemaChanged
    }

    /// Whether there are no changes.
    package var isEmpty: Bool { !schemaChanged && tables.values.allSatisfy(\.isEmpty) }

    /// Adds the changes from the newer version of this change set to an even newer version.
    ///
    /// Insertion and deletion cancel out, insertion and modification are an insertion, modification and deletion are a
    /// deletion.
    package mutating func merge(later: ChangeSet) {
        schemaChanged = schemaChanged || later.schemaChanged
        for (table, changes) in later.tables {
            guard var earlier = tables.removeValue(forKey: table) else {
                tables[table] = changes
                continue
            }
            earlier.merge(later: changes)
            if !earlier.isEmpty { tables[table] = earlier }
        }
    }
}

/// The stored form of a change set, version 1.
///
/// It is a byte `1 | schemaChanged << 4 | more << 5`, the number of tables, and for each table, by ascending id: the
/// distance to the previous id, a byte of flags (1 inserted, 2 deleted, 4 modified, 8 edits) and the flagged parts.
/// `modified` is a number of columns and, by ascending id, the distance to the previous id and the keys. `edits` is the
/// same with, for each column, a number of rows and, by ascending key, the distance to the previous key and the edits.
extension ChangeSet {
    private static let format: UInt8 = 1
    private static let schemaBit: UInt8 = 0x10
    /// The bit in the first byte that is set if more data follows the change set.
    static let isFollowed: UInt8 = 0x20

    /// Returns whether the first byte of a stored change set has the bit for a changed schema.
    static func isSchemaChanged(_ header: UInt8) -> Bool { header & schemaBit != 0 }

    /// Returns the stored form of this change set, without tables and columns that have no changes.
    package func encode() -> [UInt8] {
        var writer = ByteWriter()
        encode(into: &writer)
        return writer.bytes
    }

    /// Appends the stored form.
    func encode(into writer: inout ByteWriter) {
        writer.byte(Self.format | (schemaChanged ? Self.schemaBit : 0))
        var named = 0
        for (_, changes) in tables where !changes.isEmpty { named += 1 }
        writer.number(UInt64(named))
        var expected: UInt64 = 0
        for (table, changes) in tables where !changes.isEmpty {
            writer.number(UInt64(table.rawValue) - expected)
            changes.encode(into: &writer)
            expected = UInt64(table.rawValue) + 1
        }
    }

    /// Decodes a stored change set; throws ``DamagedEncoding`` for bytes that ``encode()`` cannot have written.
    init(decoding bytes: UnsafeRawBufferPointer) throws(DamagedEncoding) {
        var reader = ByteReader(bytes, of: "a change set")
        try self.init(from: &reader)
    }

    /// Decodes a stored change set and stops after it; more bytes may follow only if the header has the bit for it.
    init(from reader: inout ByteReader) throws(DamagedEncoding) {
        self.init()
        let header = try reader.byte()
        guard header & 0x0F == Self.format, header & 0xC0 == 0 else { throw reader.damaged }
        schemaChanged = Self.isSchemaChanged(header)
        var expected: UInt64 = 0
        for _ in 0..<(try reader.count()) {
            let distance = try reader.number()
            guard distance <= UInt64(UInt32.max), expected + distance <= UInt64(UInt32.max) else {
                throw reader.damaged
            }
            let table = TableID(rawValue: UInt32(expected + distance))
            tables[table] = try TableChanges(from: &reader)
            expected += distance + 1
        }
        guard (reader.remaining == 0) == (header & Self.isFollowed == 0) else {
            throw reader.damaged
        }
    }
}

extension TableChanges {
    func encode(into writer: inout ByteWriter) {
        assert(!isEmpty, "a table without changes is not stored")
        var columns = 0
        for (_, keys) in modified where !keys.isEmpty { columns += 1 }
        writer.byte(
            (inserted.isEmpty ? 0 : 1) | (deleted.isEmpty ? 0 : 2) | (columns == 0 ? 0 : 4)
                | (edits.isEmpty ? 0 : 8))
        if !inserted.isEmpty { inserted.encode(into: &writer) }
        if !deleted.isEmpty { deleted.encode(into: &writer) }
        if columns > 0 { encodeModified(columns, into: &writer) }
        if !edits.isEmpty { encodeEdits(into: &writer) }
    }

    private func encodeModified(_ columns: Int, into writer: inout ByteWriter) {
        writer.number(UInt64(columns))
        var expected = 0
        for (column, keys) in modified where !keys.isEmpty {
            writer.number(UInt64(column.rawValue - expected))
            keys.encode(into: &writer)
            expected = column.rawValue + 1
        }
    }

    private func encodeEdits(into writer: inout ByteWriter) {
        writer.number(UInt64(edits.count))
        var expected = 0
        for (column, collections) in edits {
            writer.number(UInt64(column.rawValue - expected))
            expected = column.rawValue + 1
            writer.number(UInt64(collections.count))
            var next: Int64 = 0
            for (key, edit) in collections.sorted(by: { $0.key < $1.key }) {
                writer.number(UInt64(key.rawValue - next))
                next = key.rawValue + 1
                edit.encode(into: &writer)
            }
        }
    }

    init(from reader: inout ByteReader) throws(DamagedEncoding) {
        self.init()
        let flags = try reader.byte()
        guard flags != 0, flags <= 15 else { throw reader.damaged }
        if flags & 1 != 0 { inserted = try KeySet(from: &reader) }
        if flags & 2 != 0 { deleted = try KeySet(from: &reader) }
        guard !inserted.intersects(deleted) else { throw reader.damaged }
        if flags & 4 != 0 { try decodeModified(&reader) }
        if flags & 8 != 0 { try decodeEdits(&reader) }
    }

    private mutating func decodeModified(
        _ reader: inout ByteReader
    ) throws(DamagedEncoding) {
        var expected: UInt64 = 0
        // This bound is far above any real column, and far below an overflow.
        let bound = UInt64(UInt32.max)
        for _ in 0..<(try reader.count()) {
            let distance = try reader.number()
            guard distance <= bound, expected + distance <= bound else { throw reader.damaged }
            let keys = try KeySet(from: &reader)
            // Readers rely on disjoint parts, so this must hold for damaged bytes too.
            guard !keys.intersects(inserted), !keys.intersects(deleted) else {
                throw reader.damaged
            }
            modified[ColumnID(rawValue: Int(expected + distance))] = keys
            expected += distance + 1
        }
    }
    private mutating func decodeEdits(_ reader: inout ByteReader) throws(DamagedEncoding) {
        var expected: UInt64 = 0
        let bound = UInt64(UInt32.max)
        for _ in 0..<(try reader.count()) {
            let distance = try reader.number()
            guard distance <= bound, expected + distance <= bound else { throw reader.damaged }
            let column = ColumnID(rawValue: Int(expected + distance))
            expected += distance + 1
            var next: UInt64 = 0
            for _ in 0..<(try reader.count()) {
                let gap = try reader.number()
                guard gap < 1 << 62, next + gap < 1 << 62 else { throw reader.damaged }
                let key = ObjectKey(rawValue: Int64(next + gap))
                next += gap + 1
                // Edits belong to modified rows; readers would not find any others.
                guard modified[column]?.contains(key) == true else { throw reader.damaged }
                edits[column, default: [:]][key] = try CollectionEdits(from: &reader)
            }
        }
    }
}

extension ChangeSet {
    /// Reports rows that were deleted and restored as modified, after change sets were merged.
    ///
    /// The merged sets list these rows as both deleted and inserted. The rows exist in both versions, so each of their
    /// columns counts as modified.
    mutating func markRevived(_ definitions: [TableID: TableDefinition]) {
        for (id, changes) in tables
        where !changes.inserted.isEmpty && !changes.deleted.isEmpty
            && changes.inserted.intersects(changes.deleted)
        {
            guard let definition = definitions[id] else { continue }
            tables[id]?.markRevived(definition)
        }
    }
}

extension TableChanges {
    fileprivate mutating func markRevived(_ definition: TableDefinition) {
        let revived = inserted.intersection(deleted)
        inserted.subtract(revived)
        deleted.subtract(revived)
        for column in definition.columns where !column.isDropped {
            modified[column.id, default: KeySet()].formUnion(revived)
            edits[column.id] = edits[column.id]?.filter { !revived.contains($0.key) }
        }
        edits = edits.filter { !$0.value.isEmpty }
    }
}
