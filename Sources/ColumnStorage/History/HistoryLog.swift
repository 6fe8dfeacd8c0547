import LMDBStorage

/// The change sets of the newest versions, with one entry for each version in the file's `history` table or in the
/// delta buffer.
///
/// Every commit appends its own entry in its own write transaction, even without changes, so a missing entry always
/// means that older versions were trimmed. An entry is a bit for each shard of leaves that the commit has written to,
/// the change set, and optionally a ``HistoryTrailer`` with the replaced values.
///
/// The functions use the given transaction and keep no state.
package enum HistoryLog {
    /// Returns the entry of a version, to be stored under its number.
    static func entry(_ changes: ChangeSet, shards: UInt32 = 0) -> [UInt8] {
        var writer = ByteWriter()
        changes.encode(after: shards, into: &writer)
        return writer.bytes
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
            var entry = recent.find(.history, version)
            if entry == nil { entry = try transaction.get(table, version) }
            guard let found = entry, found.count > shardBytes else { return .all }
            traces.shards |= found.loadUnaligned(as: UInt32.self)
            if ChangeSet.isSchemaChanged(found[shardBytes]) { traces.schemaChanged = true }
        }
        return traces
    }

    static let shardBytes = 4
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
    /// page each time.
    package static func trim(
        _ table: Table, limit: Int, needed: UInt64, in transaction: TransactionHandle
    ) throws(StorageError) {
        let statistics = try transaction.statistics(table)
        if statistics.pages * 4096 > sizeLimit { try trimToSize(table, needed, transaction) }
        guard statistics.entries > limit + Swift.max(16, limit / 4) else { return }
        let newest = transaction.version
        let bound = Swift.min(needed, newest - Swift.min(newest, UInt64(Swift.max(0, limit))))
        let cursor = try transaction.cursor(table)
        var entry = try cursor.first()
        while let found = entry, found.integerKey <= bound {
            try cursor.delete()
            entry = try cursor.next()
        }
    }

    /// Removes the oldest entries until the remaining ones are small enough.
    private static func trimToSize(
        _ table: Table, _ needed: UInt64, _ transaction: TransactionHandle
    ) throws(StorageError) {
        let cursor = try transaction.cursor(table)
        var entry = try cursor.first()
        while let found = entry, found.integerKey <= needed,
            try transaction.statistics(table).pages * 4096 > sizeLimit
        {
            try cursor.delete()
            entry = try cursor.next()
        }
    }

    private static func decode(
        _ bytes: UnsafeRawBufferPointer, _ transaction: TransactionHandle
    ) throws(StorageError) -> ChangeSet {
        do throws(DamagedEncoding) {
            return try ChangeSet(
                decoding: UnsafeRawBufferPointer(
                    rebasing: bytes[Swift.min(shardBytes, bytes.count)...]))
        } catch {
            throw StorageError(.damaged, call: "reading \(error.what)", file: transaction.file)
        }
    }
}
