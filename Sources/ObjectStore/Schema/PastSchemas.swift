import ColumnStorage

/// The encoded schemas of earlier versions, with which replication finds what a schema change has added.
///
/// Each commit that changes the schema adds the schema before it. The schemas are those of consecutive changes: if a
/// build without this record has changed the schema meanwhile, the earlier ones are dropped.
struct PastSchemas {
    /// The name of the blob in the file's metadata.
    static let name = "past_schemas"
    private static let maxChanges = 64
    private static let maxBytes = 1 << 20

    private struct Change {
        let version: UInt64
        /// The schema before the version.
        let before: [UInt8]
    }

    /// The oldest version whose schema is known.
    private var oldest: UInt64 = 0
    private var changes: [Change] = []
    /// The schema after the last change.
    private var after: [UInt8] = []

    init() {}

    init(_ reader: inout ByteReader) throws(DamagedEncoding) {
        oldest = try reader.number()
        after = try reader.data()
        for _ in 0..<(try reader.count()) {
            changes.append(Change(version: try reader.number(), before: try reader.data()))
        }
    }

    var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.number(oldest)
        writer.data(after)
        writer.number(UInt64(changes.count))
        for change in changes {
            writer.number(change.version)
            writer.data(change.before)
        }
        return writer.bytes
    }

    /// Adds a change; the last of several changes of one version counts.
    mutating func add(_ version: UInt64, from before: [UInt8], to after: [UInt8]) {
        if changes.last?.version != version {
            if self.after != before || changes.isEmpty {
                changes = []
                oldest = version - 1
            }
            changes.append(Change(version: version, before: before))
        }
        self.after = after
        while changes.count > Self.maxChanges
            || changes.count > 1 && changes.reduce(0, { $0 + $1.before.count }) > Self.maxBytes
        {
            oldest = changes.removeFirst().version
        }
    }

    /// Returns the schema of a version; nil if it is unknown.
    ///
    /// `present` is the schema of the newest version.
    func schema(of version: UInt64, present: [UInt8]) -> [UInt8]? {
        guard version >= oldest, !changes.isEmpty, after == present else { return nil }
        return changes.first { $0.version > version }?.before ?? present
    }

    /// Returns the schema after each change of a later version, in their order; only the present one if others are
    /// unknown.
    func changes(after version: UInt64, present: [UInt8]) -> [(version: UInt64, schema: [UInt8])] {
        let later = changes.filter { $0.version > version }
        guard version >= oldest, after == present, !later.isEmpty else {
            return [(version + 1, present)]
        }
        return Array(zip(later.map(\.version), later.dropFirst().map(\.before) + [present]))
    }
}

extension Store {
    /// Keeps the present schema in the open write transaction, which sets another one.
    func keepPastSchema(before bytes: [UInt8], _ session: WriteSession) throws {
        var past = try pastSchemas()
        past.add(view.version + 1, from: catalog, to: bytes)
        try StoreError.wrapping(session.setMetadata(PastSchemas.name, past.bytes, effect: .none))
    }

    func pastSchemas() throws -> PastSchemas {
        let stored = try StoreError.wrapping(view.snapshot.metadata(PastSchemas.name))
        guard let stored, !stored.isEmpty else { return PastSchemas() }
        return try StoreError.decoding(stored, "past schemas", of: view.snapshot.file) {
            (reader) throws(DamagedEncoding) in try PastSchemas(&reader)
        }
    }

    /// Returns the schema of a version up to that of the store; nil if it is unknown, because it is too old or an
    /// earlier build has changed the schema since.
    ///
    /// Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func schema(of version: UInt64) throws -> Schema? {
        try check()
        let bytes = try pastSchemas().schema(of: version, present: catalog)
        return try bytes.map { try SchemaCatalog.decodeFile($0, of: view.snapshot.file).old }
    }
}
