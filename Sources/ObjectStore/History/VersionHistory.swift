import ColumnStorage

/// The file's history up to the version of a snapshot.
struct VersionHistory {
    let snapshot: Snapshot

    func entry(_ version: UInt64) throws -> HistoryEntry? {
        try StoreError.wrapping(snapshot.historyEntry(version))
    }

    /// Returns the oldest version that the history describes.
    func oldestEntry() throws -> UInt64 {
        try StoreError.wrapping(snapshot.oldestEntry())
            ?? snapshot.version + 1
    }

    /// Returns the oldest version whose data can be restored.
    ///
    /// All writes after that version recorded the values that they replaced, and none of them changed the schema.
    func oldestVersion() throws -> UInt64 {
        var version = snapshot.version
        while let entry = try entry(version), entry.isReversible { version -= 1 }
        return version
    }

    /// Returns the reason why a version before the oldest restorable one cannot be restored.
    func reason(before version: UInt64) throws -> String {
        guard let entry = try entry(version) else {
            return "the history does not contain earlier versions"
        }
        if entry.changes.schemaChanged { return "version \(version) changed the schema" }
        return "version \(version) was written with history = 0, or has replaced too many values"
    }

    /// Returns the version with the same data as a given version, and the versions to reverse for a
    /// redo.
    ///
    /// The returned version is an older one if the given version is an undo, a redo or a restoration, or changed no
    /// data; otherwise it is the given version. The last element of the list is the next version to reverse.
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

extension Store {
    /// Returns the newest version with a commit that another store has too, and the other store's version of the commit;
    /// nil if the histories of the two have no commit in common, as far as they reach back.
    ///
    /// The versions differ if one of the stores follows the other. Throws `closed`, `wrong_thread`, `file_corrupt`.
    package func lastCommonVersion(with other: Store) throws -> (own: UInt64, other: UInt64)? {
        try check()
        var versions: [CommitIdentity: UInt64] = [:]
        var common: (own: UInt64, other: UInt64)?
        try StoreError.wrapping { () throws(StorageError) in
            try view.snapshot.forEachIdentity { version, identity in
                versions[identity] = max(version, versions[identity] ?? 0)
                return true
            }
            try other.view.snapshot.forEachIdentity { version, identity in
                common = versions[identity].map { ($0, version) }
                return common == nil
            }
        }
        return common
    }
}

extension HistoryEntry {
    /// Whether the previous version can be restored from the data of this one.
    var isReversible: Bool {
        !changes.schemaChanged && (keepsOldValues || changes.isEmpty)
    }
}
