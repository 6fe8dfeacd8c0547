import LMDBStorage

/// The change sets of the newest versions, with one entry for each version in the file's `history` table or in the
/// delta buffer.
///
/// Every commit appends its own entry in its own write transaction, even without changes, so a missing entry always
/// means that older versions were trimmed. An entry is a bit for each shard of leaves that the commit has written to,
/// the ``CommitIdentity`` if the highest bit of these is set, the change set, and optionally a ``HistoryTrailer`` with the
/// replaced values.
///
/// The functions use the given transaction and keep no state.
package enum HistoryLog {
    private static let identityBit: UInt32 = 1 << 31
    private static let shardBytes = 4
    /// The offset of the change set in a new entry.
    static let headSize = shardBytes + CommitIdentity.size

    /// Begins the entry of a commit.
    static func begin(
        _ entry: inout ByteWriter, _ shards: UInt32, after previous: CommitIdentity?
    ) {
        entry.word(UInt64(shards | identityBit), bytes: shardBytes)
        CommitIdentity.append(previous, to: &entry)
    }

    /// Replaces the previous identity in a complete entry by that of its commit: the given one, or a new one.
    static func end(_ entry: inout ByteWriter, _ given: CommitIdentity?) -> CommitIdentity {
        let identity = given ?? entry.bytes.withUnsafeBytes { CommitIdentity(of: $0) }
        identity.replace(in: &entry, at: shardBytes)
        return identity
    }

    /// Returns the place of the identity in an entry; nil for an entry of an older file.
    static func identityPlace(_ entry: UnsafeRawBufferPointer) -> UnsafeRawPointer? {
        guard entry.count > headSize, let base = entry.baseAddress,
            base.loadUnaligned(as: UInt32.self) & identityBit != 0
        else { return nil }
        return base + shardBytes
    }

    /// Returns the identity in an entry; nil for an entry of an older file.
    static func identity(_ entry: UnsafeRawBufferPointer) -> CommitIdentity? {
        identityPlace(entry).map { CommitIdentity(at: $0) }
    }

    /// Returns an entry without the shards and the identity; nil if it is too short.
    static func changeSet(_ entry: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let start = identityPlace(entry) == nil ? shardBytes : headSize
        guard entry.count > start else { return nil }
        return UnsafeRawBufferPointer(rebasing: entry[start...])
    }

    /// Returns the entry of a version; nil if it is no longer kept.
    static func find(
        _ version: UInt64, in table: Table, _ recent: DeltaBuffer, _ transaction: TransactionHandle
    ) throws(StorageError) -> UnsafeRawBufferPointer? {
        if let entry = recent.find(.history, version) { return entry }
        return try transaction.get(table, version)
    }

    /// The changes that a reader must check when it skips versions.
    struct Traces {
        /// The shards of leaves that were written to, one bit for each.
        var shards: UInt32
        var schemaChanged: Bool

        static let all = Traces(shards: .max, schemaChanged: true)
    }

    /// Returns the changes of the versions after `from`, up to and including `to`.
    ///
    /// The result covers all shards if the log does not have the versions or reading them would take long.
    static func traces(
        after from: UInt64, through to: UInt64, in table: Table, _ recent: DeltaBuffer,
        _ transaction: TransactionHandle
    ) throws(StorageError) -> Traces {
        guard from <= to, to - from <= 64 else { return .all }
        var traces = Traces(shards: 0, schemaChanged: false)
        var version = from
        while version < to {
            version += 1
            guard let entry = try find(version, in: table, recent, transaction),
                let changes = changeSet(entry)
            else { return .all }
            traces.shards |= entry.loadUnaligned(as: UInt32.self)
            if ChangeSet.isSchemaChanged(changes[0]) { traces.schemaChanged = true }
        }
        return traces
    }

    /// The maximum space of entries; with more, old ones are removed even within the limit of versions.
    private static let sizeLimit = 64 << 20
    /// The size of a commit's entry from which the total size is checked.
    static let largeEntry = 1 << 20

    /// Returns the changes after version `from`, up to and including version `to`, as one change set.
    ///
    /// Returns nil if the log does not reach back to `from`. Throws `damaged` if an entry cannot be read. Takes time in
    /// proportion to the size of the entries, times the logarithm of their number.
    static func changes(
        after from: UInt64, through to: UInt64, in table: Table, _ recent: DeltaBuffer,
        _ transaction: TransactionHandle
    ) throws(StorageError) -> ChangeSet? {
        guard from < to else { return ChangeSet() }
        var pending = PendingMerge()
        var expected = from + 1
        // The newest entries are in the delta buffer, and usually no others are needed.
        if recent.find(.history, expected) == nil {
            let cursor = try transaction.cursor(table)
            var stored = try cursor.setRange(expected)
            while expected <= to, let found = stored, found.integerKey == expected {
                pending.append(try decode(found.value, transaction))
                stored = try cursor.next()
                expected += 1
            }
        }
        while expected <= to {
            guard let found = recent.find(.history, expected) else { return nil }
            pending.append(try decode(found, transaction))
            expected += 1
        }
        return pending.merged()
    }

    /// The change sets of consecutive versions while they are merged.
    ///
    /// Neighbors of similar size are merged first, as in a binary counter, so a long range of small entries is not
    /// merged into one growing set repeatedly.
    private struct PendingMerge {
        private var parts: [(changes: ChangeSet, versions: UInt64)] = []

        mutating func append(_ changes: ChangeSet) {
            parts.append((changes, 1))
            while parts.count > 1,
                parts[parts.count - 2].versions <= parts[parts.count - 1].versions
            {
                mergeLastTwo()
            }
        }

        /// Returns all change sets merged into one; there must be at least one.
        mutating func merged() -> ChangeSet {
            while parts.count > 1 { mergeLastTwo() }
            return parts[0].changes
        }

        private mutating func mergeLastTwo() {
            let later = parts.removeLast()
            parts[parts.count - 1].changes.merge(later: later.changes)
            parts[parts.count - 1].versions += later.versions
        }
    }

    /// Removes old entries so that about `limit` remain, but no entry after version `needed`, the oldest one in use.
    ///
    /// Entries beyond `limit` are removed several at a time, because removing one in each commit would dirty another
    /// page each time. The `archive` receives their identities.
    static func trim(
        _ table: Table, limit: Int, needed: UInt64, in transaction: TransactionHandle,
        archive: IdentityArchive? = nil
    ) throws(StorageError) {
        let statistics = try transaction.statistics(table)
        let isLarge = statistics.pages * 4096 > sizeLimit
        let isLong = statistics.entries > limit + Swift.max(16, limit / 4)
        guard isLarge || isLong else { return }
        let newest = transaction.version
        let excess = newest - Swift.min(newest, UInt64(Swift.max(0, limit)))
        let archive = try archive?.isKept == true ? archive : nil
        var removed: [(version: UInt64, identity: CommitIdentity)] = []
        let cursor = try transaction.cursor(table)
        var entry = try cursor.first()
        while let found = entry, found.integerKey <= needed {
            if !isLong || found.integerKey > excess {
                guard isLarge, try transaction.statistics(table).pages * 4096 > sizeLimit
                else { break }
            }
            if archive != nil, let identity = identity(found.value) {
                removed.append((found.integerKey, identity))
            }
            try cursor.delete()
            entry = try cursor.next()
        }
        try archive?.add(removed)
    }

    private static func decode(
        _ bytes: UnsafeRawBufferPointer, _ transaction: TransactionHandle
    ) throws(StorageError) -> ChangeSet {
        do throws(DamagedEncoding) {
            return try ChangeSet(decoding: changeSet(bytes) ?? .init(start: nil, count: 0))
        } catch {
            throw StorageError(.damaged, call: "reading \(error.what)", file: transaction.file)
        }
    }
}
