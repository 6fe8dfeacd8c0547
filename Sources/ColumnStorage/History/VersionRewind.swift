import LMDBStorage

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
        if !entry.changes.isEmpty { try write.revert(version: version) }
        try write.requireNoFailure()
        version -= 1
        return true
    }

    /// Discards the reverted changes.
    package func end() { snapshot.cancelWrite() }
}
