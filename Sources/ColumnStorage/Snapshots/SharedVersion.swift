import LMDBStorage

/// Keeps a file open in this process, including a file in memory without any other handle.
package struct FileHold: Sendable {
    private let file: ColumnFile
    private let lease: EnvironmentLease

    /// The identity of the file, as in ``ColumnFile/identity``.
    package var identity: ObjectIdentifier { file.identity }

    init(_ file: ColumnFile) throws(StorageError) {
        self.file = file
        lease = try file.lease()
    }
}

extension ColumnFile {
    /// Returns an object that keeps the file open as long as it exists.
    ///
    /// Throws `closed`.
    package func hold() throws(StorageError) -> FileHold { try FileHold(self) }
}

/// One pinned version of a file, of which every thread can create its own snapshot.
package final class SharedVersion: @unchecked Sendable {
    // Unchecked because: the properties are constant, and LMDB only reads in this transaction. The transaction is never
    // renewed, and does not end while this object references it. The only state that reading would change (the
    // transaction's record of a table on its first read) was set up for all tables when this object was created.
    private let reader: ReadTransaction
    private let definitions: [TableID: TableDefinition]
    private let identity: ObjectIdentifier

    /// The version number.
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

    /// Returns a snapshot for the calling thread, which has the file open as `file`; nil if that is another file.
    package func snapshot(of file: ColumnFile) -> Snapshot? {
        file.identity == identity ? Snapshot(file, reader, definitions) : nil
    }
}

extension Snapshot {
    /// Returns the version of a frozen snapshot for use on other threads.
    ///
    /// Reads the roots of the file's few tables. Throws `closed`.
    package func shared() throws(StorageError) -> SharedVersion {
        precondition(isFrozen, "only a frozen snapshot stays at its version")
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "share", file: file.path)
        }
        return try SharedVersion(file, reader, source.definitions)
    }
}
