import LMDBStorage

// The values that a write has replaced, stored after its change set, which determines what they are: for each table, by
// ascending id, the number of its columns; then for every column, if rows were deleted, the values of these rows in the
// order of their keys; then for every modified column the values of the modified rows. Values are stored one after the
// other:
//
//     bool, int, link, date   a signed number (links as key + 1, 0 for none)
//     float, double           4 or 8 bytes
//     string, data            the number of bytes, and the bytes
//     12 or 16 bytes          the bytes
//     collections             a number: 0 if all elements are replaced, otherwise the number of hunks plus one. For
//                             each hunk: the number of unchanged elements since the previous hunk, of new elements, and
//                             of old elements; then the old elements, each after its kind; for a map also their keys.
//                             If all elements are replaced: the number of old elements, and these
//
// Older files have one hunk for each collection instead. It has the number of unchanged elements at the beginning and
// at the end, and the number of old elements between them.
//
// An optional value has a byte before it: 1 for null, which has no further bytes, otherwise 0.
extension WriteSession {
    /// The maximum size of the values of one write; with more, no values are kept.
    private var oldValuesLimit: Int { min(32 << 20, 2 * bufferLimit) }

    /// Appends the record of the write and the values that it has replaced to its history entry.
    ///
    /// Takes a search for each written leaf and a copy of each value. The values are not kept if the write changed the
    /// schema, replaced too many bytes, or found damage.
    func appendTrailer(to writer: inout ByteWriter, _ changes: ChangeSet) {
        let hasValues = !changes.schemaChanged && !(changes.tables.isEmpty && restoration == nil)
        guard hasValues || author != nil else { return }
        guard let reader = snapshot.source.reader else { return }
        writer.replace(
            at: HistoryLog.headSize, writer.bytes[HistoryLog.headSize] | ChangeSet.isFollowed)
        let start = writer.bytes.count
        writer.byte(0)
        var flags: UInt8 = 0
        if let author {
            flags |= HistoryTrailer.hasAuthor
            author.append(to: &writer)
        }
        guard hasValues else {
            writer.replace(at: start, flags)
            return
        }
        if let restoration {
            flags |= HistoryTrailer.hasRestoration
            writer.number(restoration.state)
            let redoable = restoration.redoable.suffix(Restoration.limit)
            writer.number(UInt64(redoable.count))
            for version in redoable { writer.number(version) }
        }
        let end = writer.bytes.count
        let workspace = snapshot.source.workspace
        let previous = workspace.previous ?? PreviousVersion(file, reader)
        workspace.previous = previous
        previous.begin(reader)
        do throws(StorageError) {
            try appendOldValues(of: changes, previous, to: &writer)
            flags |= HistoryTrailer.hasHunks
        } catch {
            writer.truncate(to: end)
        }
        previous.end()
        writer.replace(at: start, flags)
    }

    private func appendOldValues(
        of changes: ChangeSet, _ previous: PreviousVersion, to writer: inout ByteWriter
    ) throws(StorageError) {
        for (id, changed) in changes.tables {
            guard let overlay = overlays[id] else { continue }
            if changed.deleted.isEmpty && changed.modified.isEmpty { continue }
            let encoder = OldValueEncoder(try previous.table(overlay), limit: oldValuesLimit)
            let columns = overlay.reader.definition.columns
            writer.number(UInt64(columns.count))
            if !changed.deleted.isEmpty {
                for column in columns where column.hasOldValues {
                    try encoder.append(column, changed.deleted, nil, to: &writer)
                }
            }
            for (column, keys) in changed.modified {
                try encoder.append(
                    columns[column.rawValue], keys, changed.edits[column], to: &writer)
            }
        }
    }
}

extension ColumnDefinition {
    /// Whether the history keeps the values of deleted rows; the elements of collections belong to the column with their
    /// count.
    var hasOldValues: Bool { !isDropped && !isContents }
}

/// Encodes values of one table in one version.
struct OldValueEncoder {
    private let reader: TableReader
    private let limit: Int

    init(_ reader: TableReader, limit: Int) {
        self.reader = reader
        self.limit = limit
    }

    /// Appends the values of some rows, which must exist; throws if the values exceed the size limit.
    func append(
        _ column: ColumnDefinition, _ keys: KeySet, _ edits: [ObjectKey: CollectionEdits]?,
        to writer: inout ByteWriter
    ) throws(StorageError) {
        var current = -1
        var leaf = Leaf(LeafDefaults.absent)
        for key in keys {
            let cluster = Int(key.rawValue) / Cluster.rows
            if cluster != current {
                guard cluster < reader.clusterCount else { throw Self.failure }
                current = cluster
                leaf = try Leaf(reader.leaf(column.id.rawValue + 1, cluster))
            }
            let row = Int(key.rawValue) - cluster * Cluster.rows
            if column.kind == .list {
                try appendCollection(column, key, edits?[key], to: &writer)
                continue
            }
            try require(0, writer)
            if column.isOptional && column.kind != .link {
                let isNull = leaf.isNull(row)
                writer.byte(isNull ? 1 : 0)
                if isNull { continue }
            }
            switch column.kind {
            case .bool, .int, .link: writer.signed(leaf.int(row))
            case .double: writer.word(leaf.double(row).bitPattern, bytes: 8)
            case .float: writer.word(UInt64(leaf.float(row).bitPattern), bytes: 4)
            case .string, .data:
                let bytes = try reader.bytes(column.id, key, .init(leaf: leaf, row: row))
                try require(bytes.count, writer)
                writer.number(UInt64(bytes.count))
                writer.raw(bytes)
            case .bytes12, .bytes16:
                try writer.raw(reader.bytes(column.id, key, .init(leaf: leaf, row: row)))
            case .list: break
            }
        }
    }

    private static var failure: StorageError {
        StorageError(.damaged, call: "keeping old values", file: "")
    }

    /// Throws if the values would exceed the size limit with this number of bytes more.
    private func require(_ bytes: Int, _ writer: borrowing ByteWriter) throws(StorageError) {
        guard writer.count + bytes < limit else { throw Self.failure }
    }

    private func appendCollection(
        _ column: ColumnDefinition, _ key: ObjectKey, _ edits: CollectionEdits?,
        to writer: inout ByteWriter
    ) throws(StorageError) {
        guard let list = try reader.list(column.id, key) else { throw Self.failure }
        // The count is that of the owner's column, because counting would read all chunks of a list of which only one
        // may have changed.
        let count = try reader.listCount(column.id, key)
        let names = try column.collection == .map ? reader.map(column.id, key) : nil
        func append(_ old: Range<Int>) throws(StorageError) {
            writer.number(UInt64(old.count))
            for position in old {
                let element = try list.element(at: position) ?? .null
                try require(element.pendingBytes, writer)
                self.append(element, to: &writer)
            }
            guard let names else { return }
            for position in old {
                let name = try names.key(at: position) ?? []
                try require(name.count, writer)
                writer.number(UInt64(name.count))
                name.withUnsafeBytes { writer.raw($0) }
            }
        }
        guard let edits, let replaced = CollectionHunks(edits, of: count) else {
            writer.number(0)
            return try append(0..<count)
        }
        writer.number(UInt64(replaced.hunks.count) + 1)
        var start = 0
        for hunk in replaced.hunks {
            writer.number(UInt64(hunk.kept))
            writer.number(UInt64(hunk.new))
            start += hunk.kept
            try append(start..<start + hunk.old)
            start += hunk.old
        }
    }

    private func append(_ element: ListElement, to writer: inout ByteWriter) {
        switch element {
        case .null: writer.byte(0)
        case .int(let value):
            writer.byte(1)
            writer.signed(value)
        case .float(let value):
            writer.byte(2)
            writer.word(UInt64(value.bitPattern), bytes: 4)
        case .double(let value):
            writer.byte(3)
            writer.word(value.bitPattern, bytes: 8)
        case .bytes(let value):
            writer.byte(4)
            writer.number(UInt64(value.count))
            value.withUnsafeBytes { writer.raw($0) }
        }
    }
}
