import ColumnStorage

/// Reads the commits of a store one by one, including commits that are not the newest one.
///
///     let reader = CommitReader(store)
///     try reader.forEachNewestFirst(after: 12) { commit in … }
///
/// Confined to the thread of the store.
package final class CommitReader {
    /// A commit, or several that the history no longer distinguishes.
    package struct Commit {
        /// The changes.
        ///
        /// Only the newer version can be read, until the next commit is requested.
        package let change: VersionChange
        /// The version before the commit.
        package let since: UInt64
        /// The version after the commit.
        package var version: UInt64 { change.newer.version }
    }

    private let store: Store
    /// The rewind that steps back through the versions, and the schema for which it was created.
    private var rewind: (versions: VersionRewind, schema: Schema)?
    /// Whether the system has refused to open the file a second time.
    private var cannotOpen = false

    /// Creates a reader; the reader opens the file a second time when it first reads commits.
    package init(_ store: Store) { self.store = store }

    /// Calls `body` with each commit after a version, the newest first.
    ///
    /// The store first moves to the newest version. A version and all versions before it are combined into one commit
    /// if the version did not record the replaced values (see ``StoreConfiguration/history``) or changed the schema.
    /// Returns false, without a call, if the history does not reach back, the file cannot be opened a second time, or is
    /// written to without a pause.
    ///
    /// The cost is proportional to the commits, not to the store. Throws `closed`, `wrong_thread`, `file_corrupt`, and
    /// the errors of `body`.
    package func forEachNewestFirst(
        after since: UInt64, _ body: (Commit) throws -> Void
    ) throws -> Bool {
        for _ in 0..<Self.attempts {
            store.fileMayHaveChanged()
            try store.refresh()
            // The view keeps the pages of this version from being reused while they are read.
            let held = try store.frozenView()
            guard since < held.version else { return false }
            guard let versions = try begin(at: held) else { continue }
            defer { versions.end() }
            let oldest = try StoreError.wrapping(versions.snapshot.oldestEntry())
            guard let oldest, oldest <= since + 1 else { return false }
            try read(versions, after: since, body)
            return true
        }
        return false
    }

    private static let attempts = 32

    private func begin(at held: StoreView) throws -> VersionRewind? {
        if let rewind, rewind.schema !== held.schema { self.rewind = nil }
        guard !cannotOpen else { return nil }
        do throws(StorageError) {
            let versions: VersionRewind
            if let rewind {
                versions = rewind.versions
            } else {
                versions = try VersionRewind(
                    held.snapshot.file, store.fileSchema.tableDefinitions)
                rewind = (versions, held.schema)
            }
            return try versions.begin(at: held.version) ? versions : nil
        } catch {
            guard error.code == .damaged || error.code == .closed else {
                cannotOpen = true
                return nil
            }
            throw StoreError(error)
        }
    }

    private func read(
        _ versions: VersionRewind, after since: UInt64, _ body: (Commit) throws -> Void
    ) throws {
        let schema = store.view.schema
        while versions.version > since {
            let version = versions.version
            let entry = try StoreError.wrapping(versions.entry(version))
            guard let entry else { return }
            let view = StoreView(
                schema: schema, snapshot: versions.snapshot, isFrozen: true,
                originalVersion: version)
            var (changes, before) = (entry.changes, version - 1)
            // Followers receive the version of the schema too.
            if entry.changesOnlyVersion { changes.schemaChanged = true }
            if !entry.isReversible {
                before = since
                changes = try StoreError.wrapping(
                    versions.snapshot.changes(from: since, to: version) ?? changes)
            }
            let step = VersionStep(from: view, to: view, changes: changes)
            try body(Commit(change: VersionChange(step), since: before))
            guard before > since else { return }
            _ = try StoreError.wrapping(versions.stepBack())
        }
    }
}
