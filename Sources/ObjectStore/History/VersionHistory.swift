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

/// The views of earlier versions that a caller requested and still holds.
struct PastViews {
    private struct Reference {
        weak var view: StoreView?
    }

    private var views: [UInt64: Reference] = [:]

    subscript(version: UInt64) -> StoreView? {
        get { views[version]?.view.flatMap { $0.isClosed ? nil : $0 } }
        set {
            views = views.filter { $0.value.view != nil }
            views[version] = newValue.map { Reference(view: $0) }
        }
    }
}

extension Store {
    /// Returns the store at an earlier version, for reading.
    ///
    /// A version is readable if each later write recorded the values that it replaced (see
    /// ``StoreConfiguration/history``) and the schema has not changed since. This includes versions of other threads,
    /// of other processes, and from before the file was opened. Objects have the same keys in all versions. The file
    /// keeps no pages of the version. Instead, this function copies the file's data, into memory if there is enough,
    /// and reverts the copy to the version. It reads and writes the file's used pages once. While a view of the version
    /// is in use, another request for that version returns the same view at no cost.
    ///
    /// Throws `out_of_range` for a version outside of the history, `disk_full`, `file_replaced`,
    /// `closed`, `wrong_thread`.
    package func at(_ version: UInt64, for holder: VersionHolder = VersionHolder()) throws
        -> StoreView
    {
        try check()
        try view.requireUnchanged()
        guard version <= self.version else {
            throw StoreError(
                .outOfRange,
                "version \(version) does not exist; the latest version is \(self.version)")
        }
        if version == self.version { return try frozenView(for: holder) }
        if let known = pastViews[version] { return known }
        try checkKept(version)
        let definitions = fileSchema.tableDefinitions
        let snapshot = try StoreError.wrapping(view.snapshot.file.copy(asOf: version, definitions))
        // Another process may have changed the schema, or removed the history, since this store last advanced.
        guard let snapshot else {
            throw StoreError(
                .outOfRange,
                "version \(version) is no longer in the history; refresh, and use a later version")
        }
        let past = StoreView(
            schema: schema, snapshot: snapshot, isFrozen: true, originalVersion: version)
        pastViews[version] = past
        return past
    }

    private func checkKept(_ version: UInt64) throws {
        let history = VersionHistory(snapshot: view.snapshot)
        let oldest = try history.oldestVersion()
        guard version < oldest else { return }
        throw StoreError(
            .outOfRange,
            "version \(version) is no longer in the history; the oldest version is \(oldest), because "
                + (try history.reason(before: oldest)))
    }

    /// Returns a summary of each version in the history, the oldest first.
    ///
    /// Reads the changes of all these versions. Throws `file_replaced`, `closed`, `wrong_thread`, `file_corrupt`.
    package func versions() throws -> [VersionSummary] {
        try check()
        try view.requireUnchanged()
        let history = VersionHistory(snapshot: view.snapshot)
        let reachable = try history.oldestVersion()
        var found: [VersionSummary] = []
        var version = try history.oldestEntry()
        while version <= self.version {
            if let entry = try history.entry(version) {
                found.append(
                    VersionSummary(version, entry, schema, isKept: version >= reachable))
            }
            version += 1
        }
        return found
    }
}

extension Store {
    /// Returns the history's summary of one version; nil if the history does not contain it.
    ///
    /// Reads the changes of the version. Throws `file_replaced`, `closed`, `wrong_thread`, `file_corrupt`.
    package func summary(of version: UInt64) throws -> VersionSummary? {
        try check()
        try view.requireUnchanged()
        return try VersionHistory(snapshot: view.snapshot).entry(version).map {
            VersionSummary(version, $0, schema, isKept: true)
        }
    }
}

/// The history's summary of one version.
package struct VersionSummary: Sendable, Hashable {
    /// The numbers of objects of a class that the version changed.
    package struct Counts: Sendable, Hashable {
        /// The name of the class.
        package let className: String
        /// The number of created objects.
        package let inserted: Int
        /// The number of deleted objects.
        package let deleted: Int
        /// The number of other objects that were modified.
        package let modified: Int
        /// The properties set in the modified objects, in schema order.
        package let properties: [PropertyCount]
    }

    /// The number of the version.
    package let version: UInt64
    /// The number of objects in which a version set a property.
    package struct PropertyCount: Sendable, Hashable {
        /// The property's name.
        package let name: String
        /// The number of objects.
        package let count: Int
    }

    /// The changes by class in alphabetical order, without removed classes.
    package let classes: [Counts]
    /// Whether the version changed the schema.
    package let changesSchema: Bool
    /// The older version whose data this version restored by undo or redo; nil for other versions.
    package let restored: UInt64?
    /// Whether ``Store/at(_:for:)`` can read the version.
    package let isKept: Bool

    init(_ version: UInt64, _ entry: HistoryEntry, _ schema: Schema, isKept: Bool) {
        self.version = version
        classes = entry.changes.tables.compactMap { table, changes in
            schema.find(table: table).map { classSchema in
                Counts(
                    className: classSchema.name, inserted: changes.inserted.count,
                    deleted: changes.deleted.count, modified: changes.modifiedRows.count,
                    properties: classSchema.properties.compactMap { property in
                        guard !property.isBacklinks,
                            let keys = changes.modified[property.column], !keys.isEmpty
                        else { return nil }
                        return PropertyCount(name: property.name, count: keys.count)
                    })
            }
        }.sorted { $0.className < $1.className }
        changesSchema = entry.changes.schemaChanged
        restored = entry.restoration?.state
        self.isKept = isKept
    }
}
