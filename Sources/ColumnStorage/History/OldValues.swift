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
        assert(writer.count > HistoryLog.headSize, "the trailer follows the change set")
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
                assert(cluster > current, "the keys ascend")
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

/// One hunk of a collection in the form of ``OldValueEncoder``: the range of the new elements, and the old elements
/// that they replaced.
struct ReplacedElements {
    let new: Range<Int>
    /// The replaced elements.
    private(set) var elements: [ListElement] = []
    /// The keys of the elements of a map.
    private(set) var names: [[UInt8]] = []

    /// Decodes the hunks of a collection of `count` current elements; if `hasHunks` is false, the single hunk of older
    /// files.
    static func read(
        count: Int, isMap: Bool, hasHunks: Bool, _ reader: inout ByteReader
    ) throws(DamagedEncoding) -> [ReplacedElements] {
        guard hasHunks else {
            let (first, last) = (try reader.number(), try reader.number())
            guard first <= UInt64(count), last <= UInt64(count) - first else {
                throw reader.damaged
            }
            return [try ReplacedElements(Int(first)..<count - Int(last), isMap, &reader)]
        }
        let number = try reader.number()
        guard number <= UInt64(reader.remaining) + 1 else { throw reader.damaged }
        if number == 0 { return [try ReplacedElements(0..<count, isMap, &reader)] }
        var hunks: [ReplacedElements] = []
        var start = 0
        for _ in 1..<number {
            let (kept, new) = (try reader.number(), try reader.number())
            guard kept <= UInt64(count - start), new <= UInt64(count - start) - kept else {
                throw reader.damaged
            }
            start += Int(kept)
            hunks.append(try ReplacedElements(start..<start + Int(new), isMap, &reader))
            start += Int(new)
        }
        return hunks
    }

    private init(
        _ new: Range<Int>, _ isMap: Bool, _ reader: inout ByteReader
    ) throws(DamagedEncoding) {
        self.new = new
        let number = try reader.count()
        for _ in 0..<number { elements.append(try Self.element(&reader)) }
        guard isMap else { return }
        for _ in 0..<number { names.append([UInt8](try reader.raw(try reader.count()))) }
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

/// Shows a file's versions from the newest one backwards, without copying the file and without holding its write lock.
///
/// Each step reverts the changes of a version in a write that is never committed: changed leaves are in memory, and
/// everything else is read from the file. A pass takes time in proportion to the changes of the versions, not to the
/// size of the file. The memory of a pass is proportional to the changed leaves.
///
///     let rewind = try VersionRewind(file, definitions)
///     try rewind.begin(at: held.version)
///     while rewind.version > wanted, try rewind.stepBack() {}
///     // … read rewind.snapshot
///     rewind.end()
///
/// Between ``begin(at:)`` and ``end()``, the caller must pin the initial version, and any version while the rewind is
/// created. Confined to one thread.
package final class VersionRewind {
    /// The data of ``version``.
    package let snapshot: Snapshot
    /// The version that is shown.
    package private(set) var version: UInt64 = 0

    /// Opens the file for stepping back from its newest version; `definitions` are those of the newest version's
    /// tables.
    ///
    /// Throws `closed`, `procMissing`, and the system's error if the address space is limited.
    package init(
        _ file: ColumnFile, _ definitions: [TableDefinition]
    ) throws(StorageError) {
        snapshot = try Snapshot(ColumnFile.scratch(of: file))
        try snapshot.configure(definitions)
    }

    deinit { snapshot.close() }

    /// Begins at a version, which the caller has pinned.
    ///
    /// Returns false if it is no longer the newest one.
    ///
    /// Throws `damaged`, `closed`.
    package func begin(at newest: UInt64) throws(StorageError) -> Bool {
        _ = try snapshot.beginWrite()
        // LMDB has copied the header without a lock. The header was complete, because an earlier reader has used it.
        // The header was not replaced, because it was still the newest version when the snapshot was taken.
        guard let write = snapshot.write, write.transaction.handle.version == newest + 1,
            snapshot.version == newest
        else {
            snapshot.cancelWrite()
            return false
        }
        version = newest
        return true
    }

    /// Returns the history's record of a version up to the initial one; nil if it is no longer kept.
    package func entry(_ version: UInt64) throws(StorageError) -> HistoryEntry? {
        try snapshot.historyEntry(version)
    }

    /// Steps back to the previous version.
    ///
    /// Returns false if the history does not contain the required values.
    ///
    /// Throws `damaged` if the history does not match the data.
    package func stepBack() throws(StorageError) -> Bool {
        guard let write = snapshot.write, let entry = try entry(version),
            !entry.changes.schemaChanged, entry.keepsOldValues || entry.changes.isEmpty
        else { return false }
        assert(version <= snapshot.version, "a rewind shows no newer version")
        if !entry.changes.isEmpty { try write.revert(version: version) }
        try write.requireNoFailure()
        version -= 1
        return true
    }

    /// Discards the reverted changes.
    package func end() { snapshot.cancelWrite() }
}
