import LMDBStorage

// Access to single versions of the history.
extension Snapshot {
    /// Returns the oldest version in the history; nil if the history is empty.
    ///
    /// All later versions have an entry too. Takes a search.
    package func oldestEntry() throws(StorageError) -> UInt64? {
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "reading the history", file: file.path)
        }
        do {
            let cursor = try reader.handle.cursor(file.tables.history)
            if let first = try cursor.first() { return first.integerKey }
        }
        var oldest: UInt64?
        try source.recent.forEach { home, version, _ in
            if home == .history { oldest = Swift.min(oldest ?? version, version) }
        }
        return oldest
    }

    /// Returns the history's record of a version up to that of this snapshot; nil if it is no longer kept.
    ///
    /// Takes time in proportion to the changes, not to the replaced values. Throws `damaged`, `closed`.
    package func historyEntry(_ version: UInt64) throws(StorageError) -> HistoryEntry? {
        guard var reader = try entryReader(version) else { return nil }
        do throws(DamagedEncoding) {
            let changes = try ChangeSet(from: &reader)
            let trailer = try HistoryTrailer(from: &reader)
            return HistoryEntry(
                changes: changes, restoration: trailer.restoration,
                keepsOldValues: trailer.hasOldValues, author: trailer.author)
        } catch {
            throw StorageError(.damaged, call: "reading \(error.what)", file: file.path)
        }
    }

    /// Returns the identity of the commit of a version up to that of this snapshot; nil if it is no longer kept, or was
    /// committed by a build without identities.
    package func identity(of version: UInt64) throws(StorageError) -> CommitIdentity? {
        try source.historyEntry(version).flatMap(HistoryLog.identity)
    }

    /// Calls `body` with the identities of the commits up to the version of this snapshot, the newest first, until it
    /// returns false.
    ///
    /// In the file of a publisher, they reach back further than the history.
    package func forEachIdentity(
        _ body: (_ version: UInt64, CommitIdentity) -> Bool
    ) throws(StorageError) {
        guard let reader = source.reader else { return }
        var version = version
        while let entry = try source.historyEntry(version) {
            if let identity = HistoryLog.identity(entry), !body(version, identity) { return }
            version -= 1
        }
        try IdentityArchive(reader.handle, file.tables.meta).forEach(before: version + 1, body)
    }

    /// Returns a reader of an entry after its shards; nil if there is no entry.
    func entryReader(_ version: UInt64) throws(StorageError) -> ByteReader? {
        guard let entry = try source.historyEntry(version), let bytes = HistoryLog.changeSet(entry)
        else { return nil }
        return ByteReader(bytes, of: "an entry of the history")
    }
}
