/// The way in which the open write reaches the device.
enum CommitMode {
    /// LMDB flushes pages and header in the commit.
    case direct
    /// The redo log has a record of the commit.
    case logged
    /// The next checkpoint of the redo log flushes the commit.
    case checkpointed
    /// The commit is never flushed.
    case unflushed
}

/// The strategy by which the commits of an open file reach the device.
///
/// These calls implement all guarantees of ``Durability``. There are two implementations: ``PlainCommits`` relies on
/// LMDB alone, and ``RedoLog`` writes a redo log. Unless noted otherwise, the caller holds LMDB's write lock.
protocol CommitStrategy: AnyObject, Sendable {
    /// Decides how the write that has begun will be committed; `newest` is the version before it.
    ///
    /// Throws the reason if data can no longer be written.
    func begin(_ durability: Durability, newest: UInt64) throws(StorageError) -> CommitMode

    /// Flushes the data that must be on the device before any process can see the commit of `version`.
    ///
    /// Throws `diskFull` and the errors of the device; the write is then rolled back.
    func prepare(_ version: UInt64, _ mode: CommitMode) throws(StorageError)

    /// Called after LMDB has refused a prepared commit and released the write lock.
    func commitFailed(_ mode: CommitMode)

    /// Called before a write is rolled back; `isOutOfSpace` is true if the write found no space.
    func rollBack(_ mode: CommitMode, isOutOfSpace: Bool)

    /// Waits until every commit so far is on the device.
    ///
    /// Called without the write lock.
    func sync() throws(StorageError)

    /// Returns the versions that processes pin only for durability, without reading them.
    func pinnedVersions() -> Set<ForeignReader>

    /// Flushes the data file completely before it is closed, unless another process holds the write lock.
    ///
    /// Called without the write lock.
    func close()

    /// Removes files that no process needs, after the file was closed.
    func removeFiles()
}
