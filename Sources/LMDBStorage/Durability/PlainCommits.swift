import CLMDB

/// Commits as LMDB makes them: pages and header are each flushed before the commit returns, or neither is.
///
/// Serves files without a log: those that only this process can see, those that cannot be written, and all files where
/// LMDB is not laid out as ``LMDBLayout`` expects. `async` is the same as `full` here. LMDB without a flush writes pages
/// and headers in any order, so that a power failure could damage the file.
final class PlainCommits: CommitStrategy, @unchecked Sendable {
    // Unchecked because: LMDB's environment may be used from all threads.
    private let environment: OpaquePointer
    private let path: String
    private let isPrivate: Bool

    /// `isPrivate` says that no other process finds the file.
    init(_ environment: OpaquePointer, _ path: String, isPrivate: Bool) {
        self.environment = environment
        self.path = path
        self.isPrivate = isPrivate
    }

    func begin(_ durability: Durability, newest: UInt64) throws(StorageError) -> CommitMode {
        if !isPrivate { try endLog() }
        return durability == .memory ? .unflushed : .direct
    }

    /// Makes the file complete without the log that another process, with another release of LMDB, may have begun.
    private func endLog() throws(StorageError) {
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        if LogMarker.read(descriptor).id != 0 { try LogMarker.end(descriptor, path) }
    }

    func prepare(_ version: UInt64, _ mode: CommitMode) throws(StorageError) {}
    func commitFailed(_ mode: CommitMode) {}
    func rollBack(_ mode: CommitMode, isOutOfSpace: Bool) {}

    func sync() throws(StorageError) {
        try check(mdb_env_sync(environment, 1), "mdb_env_sync", path)
    }

    func pinnedVersions() -> Set<ForeignReader> { [] }
    func close() {}
    func removeFiles() {}
}
