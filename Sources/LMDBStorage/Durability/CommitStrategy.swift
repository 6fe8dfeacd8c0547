/// How the open write reaches the device.
enum CommitMode {
    /// LMDB flushes pages and header.
    case direct
    /// The log has a record of it.
    case logged
    /// The log's next checkpoint brings it to the device.
    case checkpointed
    /// Nothing is flushed.
    case unflushed
}

/// How the commits of an open file reach the device.
///
/// Everything that ``Durability`` promises is kept behind these calls. Two implementations exist: ``PlainCommits`` leaves
/// all of it to LMDB, and ``RedoLog`` writes a log. Except where noted, the caller has LMDB's write lock.
protocol CommitStrategy: AnyObject, Sendable {
    /// Decides how the write that has begun will be committed; `newest` is the version that it builds on.
    ///
    /// Throws why nothing can be written any more.
    func begin(_ durability: Durability, newest: UInt64) throws(StorageError) -> CommitMode

    /// Brings to the device what must be there before any process can see the commit of `version`.
    ///
    /// Throws `diskFull` and what the device reports; the write is then rolled back.
    func prepare(_ version: UInt64, _ mode: CommitMode) throws(StorageError)

    /// LMDB has refused a commit that was prepared, and released the write lock.
    func commitFailed(_ mode: CommitMode)

    /// A write is about to be rolled back; `isOutOfSpace` says that it has found no space.
    func rollBack(_ mode: CommitMode, isOutOfSpace: Bool)

    /// Waits until every commit so far is on the device.
    ///
    /// Called without the write lock.
    func sync() throws(StorageError)

    /// The versions that processes hold only for the sake of durability, without reading them.
    func pinnedVersions() -> Set<ForeignReader>

    /// Completes the data file, unless another process has the write lock, before the file is closed.
    ///
    /// Called without the write lock.
    func close()

    /// Removes files that no process needs any more, after the file was closed.
    func removeFiles()
}
