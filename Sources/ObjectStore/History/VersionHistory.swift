import ColumnStorage

/// The file's history of the versions up to the one that a snapshot reads.
struct VersionHistory {
    let snapshot: Snapshot

    func entry(_ version: UInt64) throws -> HistoryEntry? {
        try StoreError.wrapping { () throws(StorageError) in try snapshot.historyEntry(version) }
    }

    /// The oldest version that a writer has described.
    func oldestEntry() throws -> UInt64 {
        try StoreError.wrapping { () throws(StorageError) in try snapshot.oldestEntry() }
            ?? snapshot.version + 1
    }

    /// The oldest version whose data can be restored.
    ///
    /// All writes since then have recorded what they replaced, and none has changed the schema.
    func oldestVersion() throws -> UInt64 {
        var version = snapshot.version
        while let entry = try entry(version), entry.isReversible { version -= 1 }
        return version
    }

    /// The reason why versions before the oldest restorable one cannot be restored.
    func reason(before version: UInt64) throws -> String {
        guard let entry = try entry(version) else {
            return "the history goes back no further"
        }
        if entry.changes.schemaChanged { return "version \(version) changed the schema" }
        return "version \(version) was written with history = 0, or has replaced too much"
    }

    /// The older version whose data a version has, where undoing and redoing has brought it back or nothing was
    /// changed, and the versions that are reversed to redo what was undone, the next one last.
    func state(of version: UInt64) throws -> Restoration {
        var version = version
        while let entry = try entry(version) {
            if let restoration = entry.restoration { return restoration }
            guard entry.changes.isEmpty else { break }
            version -= 1
        }
        return Restoration(state: version, redoable: [])
    }
}

extension HistoryEntry {
    /// Whether the version before can be restored from the data of this one.
    var isReversible: Bool {
        !changes.schemaChanged && (keepsOldValues || changes.isEmpty)
    }
}
