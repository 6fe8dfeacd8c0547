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
