import LMDBStorage

/// Keeps a file open in this process, including a file in memory that has no other handle at the moment.
package struct FileHold: Sendable {
    private let file: ColumnFile
    private let lease: EnvironmentLease

    /// The file, as ``ColumnFile/identity`` identifies it.
    package var identity: ObjectIdentifier { file.identity }

    init(_ file: ColumnFile) throws(StorageError) {
        self.file = file
        lease = try file.lease()
    }
}

extension ColumnFile {
    /// Keeps the file open as long as the result exists.
    ///
    /// Throws `closed`.
    package func hold() throws(StorageError) -> FileHold { try FileHold(self) }
}

/// One version of a file, held in place, of which every thread can make a snapshot for itself.
package final class SharedVersion: @unchecked Sendable {
    // Unchecked because: the properties are constant, and LMDB only reads in this transaction. The transaction is never
    // renewed, and not ended while this object holds it. The one state that reading would change (what the transaction
    // knows about a table that is read for the first time) was set up for all tables when this object was created.
    private let reader: ReadTransaction
    private let definitions: [TableID: TableDefinition]
    private let identity: ObjectIdentifier

    /// The version.
    package let version: UInt64

    fileprivate init(
        _ file: ColumnFile, _ reader: ReadTransaction, _ definitions: [TableID: TableDefinition]
    ) throws(StorageError) {
        self.reader = reader
        self.definitions = definitions
        identity = file.identity
        version = reader.version
        for table in reader.environment.tables { _ = try reader.handle.statistics(table) }
    }

    /// A snapshot for the calling thread, which has the file open as `file`; nil if that is another file.
    package func snapshot(of file: ColumnFile) -> Snapshot? {
        file.identity == identity ? Snapshot(file, reader, definitions) : nil
    }
}

extension Snapshot {
    /// The version of a frozen snapshot, for other threads.
    ///
    /// Costs a look at each of the file's few tables. Throws `closed`.
    package func shared() throws(StorageError) -> SharedVersion {
        precondition(isFrozen, "only a frozen snapshot stays at its version")
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "share", file: file.path)
        }
        return try SharedVersion(file, reader, source.definitions)
    }
}
