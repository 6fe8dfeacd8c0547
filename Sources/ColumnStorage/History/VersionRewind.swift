import LMDBStorage

/// Shows a file's versions from the newest one backwards, without copying the file and without holding its write lock.
///
/// Each step takes back what a version has done, in a write that is never committed: changed leaves are in memory, and
/// everything else is read from the file. A pass costs what the versions did, whatever the size of the file. The memory
/// of a pass is that of the leaves that it has changed.
///
///     let rewind = try VersionRewind(file, definitions)
///     try rewind.begin(at: held.version)
///     while rewind.version > wanted, try rewind.stepBack() {}
///     // … read rewind.snapshot
///     rewind.end()
///
/// Between ``begin(at:)`` and ``end()``, the caller must hold the version that it begins at, and any version while the rewind
/// is created. Confined to one thread.
package final class VersionRewind {
    /// The data of ``version``.
    package let snapshot: Snapshot
    /// The version that is shown.
    package private(set) var version: UInt64 = 0

    /// Opens the file for going back from its newest version; `definitions` are those of the newest version's tables.
    ///
    /// Throws `closed`, `procMissing`, and what the system reports where the address space is limited.
    package init(
        _ file: ColumnFile, _ definitions: [TableDefinition]
    ) throws(StorageError) {
        snapshot = try Snapshot(ColumnFile.scratch(of: file))
        snapshot.configure(definitions)
    }

    deinit { snapshot.close() }

    /// Begins at a version, which the caller holds; false if it is no longer the newest one.
    ///
    /// Throws `damaged`, `closed`.
    package func begin(at newest: UInt64) throws(StorageError) -> Bool {
        _ = try snapshot.beginWrite()
        // LMDB has copied the header without a lock. It was complete, because a reader has begun with it before, and it was not
        // replaced, because the snapshot has found it to be the newest one afterwards.
        guard let write = snapshot.write, write.transaction.handle.version == newest + 1,
            snapshot.version == newest
        else {
            snapshot.cancelWrite()
            return false
        }
        version = newest
        return true
    }

    /// The history's record of a version up to the one that was begun with; nil if it is no longer kept.
    package func entry(_ version: UInt64) throws(StorageError) -> HistoryEntry? {
        try snapshot.historyEntry(version)
    }

    /// Shows the version before; false if the history does not have what it takes.
    ///
    /// Throws `damaged` where the history does not fit the data.
    package func stepBack() throws(StorageError) -> Bool {
        guard let write = snapshot.write, let entry = try entry(version),
            !entry.changes.schemaChanged, entry.keepsOldValues || entry.changes.isEmpty
        else { return false }
        if !entry.changes.isEmpty { try write.revert(version: version) }
        try write.requireNoFailure()
        version -= 1
        return true
    }

    /// Discards what was taken back.
    package func end() { snapshot.cancelWrite() }
}
