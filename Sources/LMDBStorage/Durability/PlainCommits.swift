import CLMDB

/// Commits by LMDB alone: either pages and header are both flushed before the commit returns, or neither is.
///
/// This strategy is used for files without a redo log: files that only this process can open, files that cannot be
/// written, and all files if LMDB's structures differ from the layout that ``LMDBLayout`` expects. Here `async` equals
/// `full`, because without a flush pages and headers are written in any order, and a power failure could damage the
/// file.
final class PlainCommits: CommitStrategy, @unchecked Sendable {
    // Unchecked because: all threads may use LMDB's environment.
    private let environment: OpaquePointer
    private let path: String
    private let isPrivate: Bool

    /// Creates the strategy of an environment; `isPrivate` is true if no other process can find the file.
    init(_ environment: OpaquePointer, _ path: String, isPrivate: Bool) {
        self.environment = environment
        self.path = path
        self.isPrivate = isPrivate
    }

    func begin(_ durability: Durability, newest: UInt64) throws(StorageError) -> CommitMode {
        if !isPrivate { try endLog() }
        return durability == .memory ? .unflushed : .direct
    }

    /// Makes the file complete without its redo log, if a process with another release of LMDB has begun one.
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
