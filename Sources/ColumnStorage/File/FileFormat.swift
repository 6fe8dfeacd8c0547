import LMDBStorage

/// The number of the file format.
enum FileFormat {
    /// The format that this version writes and the newest one that it can read.
    static let current: UInt32 = 4
    /// The oldest format that can be read and written.
    ///
    /// It has no ``ColumnDefinition/contents``, and like the next one no ``CommitIdentity``.
    static let oldest: UInt32 = 2
    static let name = "format"
    static let magic: UInt32 = 0x4C4F_4F50

    /// Throws unless the format of the file is known; writes the number to a new file.
    static func check(_ file: ColumnFile) throws(StorageError) {
        let reader = try ReadTransaction(file.lease())
        let bytes = try stored(reader.handle, file)
        let historyEntries = try reader.handle.statistics(file.tables.history).entries
        reader.end()
        guard let bytes else {
            guard historyEntries == 0 else {
                throw StorageError(.notAStore, call: "format number", file: file.path)
            }
            guard !file.options.isReadOnly, !file.isReadOnly else {
                throw StorageError(.empty, call: "format number", file: file.path)
            }
            return try mark(file)
        }
        guard bytes.count >= 8, number(bytes, at: 0) == magic else {
            throw StorageError(.notAStore, call: "format number", file: file.path)
        }
        let found = number(bytes, at: 4)
        guard (oldest...current).contains(found) else {
            throw StorageError(
                found < oldest ? .olderFormat : .newerFormat, call: "format number",
                file: file.path)
        }
    }

    /// Raises the number of a file in an older format, because the write adds an identity to the history.
    static func raise(_ handle: TransactionHandle, _ file: ColumnFile) throws(StorageError) {
        guard let stored = try stored(handle, file), number(stored, at: 4) < current else { return }
        try Metadata.write(name, bytes, in: handle, file.tables.meta)
    }

    /// Returns the number without its checksum, which earlier formats did not have.
    private static func stored(
        _ handle: TransactionHandle, _ file: ColumnFile
    ) throws(StorageError) -> [UInt8]? {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            guard let stored = try handle.stored(file.tables.meta, key) else { return nil }
            let bytes = [UInt8](stored)
            if bytes.count == 8 { return bytes }
            return try handle.get(file.tables.meta, key).map { [UInt8]($0) }
        }
    }

    /// The format entry of a new file.
    static var entry: InitialEntry {
        InitialEntry(table: FileTables.metaIndex, key: Array(name.utf8), value: bytes)
    }

    private static var bytes: [UInt8] {
        [magic, current].flatMap { word in
            stride(from: 0, to: 32, by: 8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
        }
    }

    private static func mark(_ file: ColumnFile) throws(StorageError) {
        let writer = try WriteTransaction(file.lease(), durability: file.options.durability)
        let handle = writer.handle
        // Another process may have created the tables first.
        if try Metadata.read(name, in: handle, file.tables.meta) != nil {
            writer.abort()
            return try check(file)
        }
        try Metadata.write(name, bytes, in: handle, file.tables.meta)
        try writer.commit()
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// Small named blobs in the file.
enum Metadata {
    static func read(
        _ name: String, in transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) -> [UInt8]? {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            try transaction.get(table, key).map { [UInt8]($0) }
        }
    }

    static func write(
        _ name: String, _ value: [UInt8], in transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            try value.withBytes { value throws(StorageError) in
                try transaction.put(table, key, value)
            }
        }
    }

    static func remove(
        _ name: String, in transaction: TransactionHandle, _ table: Table
    ) throws(StorageError) {
        try Array(name.utf8).withBytes { key throws(StorageError) in
            _ = try transaction.delete(table, key)
        }
    }
}
