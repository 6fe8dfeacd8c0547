import ColumnStorage

/// The progress of a started migration, as recorded in the file.
struct MigrationProgress {
    /// An object that cannot be converted yet.
    struct Failure: Hashable {
        let table: TableID
        let key: ObjectKey
        var message: String
    }

    /// The number of objects that batches have visited.
    var converted = 0
    /// The table and the key of the last visited object.
    var table = TableID(rawValue: 0)
    var key = ObjectKey(rawValue: -1)
    /// The objects that cannot be converted, in the order of their tables and keys.
    private(set) var failures: [Failure] = []

    /// Records that an object was converted, or the reason why it was not; returns whether the record has changed.
    mutating func note(_ message: String?, _ key: ObjectKey, in table: TableID) -> Bool {
        let index = failures.firstIndex { ($0.table, $0.key) >= (table, key) } ?? failures.endIndex
        let isKnown =
            index < failures.endIndex
            && (failures[index].table, failures[index].key) == (table, key)
        guard isKnown || message != nil else { return false }
        if isKnown { failures.remove(at: index) }
        if let message {
            failures.insert(Failure(table: table, key: key, message: message), at: index)
        }
        return true
    }

    /// Forgets the objects that no longer exist.
    mutating func removeFailures(where isGone: (Failure) throws -> Bool) rethrows {
        try failures.removeAll(where: isGone)
    }

    private static let blob = "migration progress"
    private static let format: UInt64 = 1

    /// Reads the progress of a version.
    static func read(_ snapshot: Snapshot) throws -> MigrationProgress {
        let bytes = try StoreError.wrapping(snapshot.metadata(blob))
        guard let bytes, !bytes.isEmpty else { return MigrationProgress() }
        return try StoreError.decoding(bytes, "progress of a migration", of: snapshot.file, decode)
    }

    private static func decode(_ reader: inout ByteReader) throws -> MigrationProgress {
        guard try reader.number() == format else {
            throw StoreError(
                .fileFormatTooNew,
                "the file contains a migration that a newer Moonpool has started; update to continue it"
            )
        }
        var progress = MigrationProgress()
        progress.converted = try reader.number(as: Int.self)
        progress.table = TableID(rawValue: try reader.number(as: UInt32.self))
        progress.key = ObjectKey(rawValue: Int64(bitPattern: try reader.number()))
        for _ in 0..<(try reader.count()) {
            progress.failures.append(
                Failure(
                    table: TableID(rawValue: try reader.number(as: UInt32.self)),
                    key: ObjectKey(rawValue: Int64(bitPattern: try reader.number())),
                    message: try reader.text()))
        }
        return progress
    }

    /// Stores the progress in the open write transaction; no observer learns of it.
    func write(_ session: WriteSession) throws {
        var writer = ByteWriter()
        writer.number(Self.format)
        writer.number(UInt64(max(converted, 0)))
        writer.number(UInt64(table.rawValue))
        writer.number(UInt64(bitPattern: key.rawValue))
        writer.number(UInt64(failures.count))
        for failure in failures {
            writer.number(UInt64(failure.table.rawValue))
            writer.number(UInt64(bitPattern: failure.key.rawValue))
            writer.text(failure.message)
        }
        try Self.store(writer.bytes, session)
    }

    /// Removes the progress of a migration that has ended.
    static func remove(_ session: WriteSession) throws { try store([], session) }

    private static func store(_ bytes: [UInt8], _ session: WriteSession) throws {
        try StoreError.wrapping(session.setMetadata(blob, bytes, changesSchema: false))
    }
}
