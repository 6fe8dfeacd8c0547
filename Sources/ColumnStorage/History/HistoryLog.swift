import LMDBStorage
import Synchronization

/// The change sets of the newest versions, with one entry for each version in the file's `history` table or in the
/// delta buffer.
///
/// Every commit appends its own entry in its own write transaction, even without changes, so a missing entry always
/// means that older versions were trimmed. An entry is a bit for each shard of leaves that the commit has written to,
/// the ``CommitIdentity`` if the highest bit of these is set, the change set, and optionally a ``HistoryTrailer`` with the
/// replaced values. The second highest bit is set if the commit has changed metadata that stores read again, and the third
/// one if it has changed the version of the schema and nothing else.
///
/// The functions use the given transaction and keep no state.
package enum HistoryLog {
    private static let identityBit: UInt32 = 1 << 31
    private static let metadataBit: UInt32 = 1 << 30
    private static let versionBit: UInt32 = 1 << 29
    private static let shardBytes = 4
    /// The offset of the change set in a new entry.
    static let headSize = shardBytes + CommitIdentity.size

    /// Begins the entry of a commit.
    static func begin(
        _ entry: inout ByteWriter, _ shards: UInt32, reloadsMetadata: Bool = false,
        changesOnlyVersion: Bool = false, after previous: CommitIdentity?
    ) {
        let bits =
            identityBit | (reloadsMetadata ? metadataBit : 0)
            | (changesOnlyVersion ? versionBit : 0)
        assert(
            shards & (identityBit | metadataBit | versionBit) == 0,
            "the highest bits are not those of shards")
        entry.word(UInt64(shards | bits), bytes: shardBytes)
        CommitIdentity.append(previous, to: &entry)
        assert(entry.count == headSize, "an entry begins with the shards and the identity")
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

    /// Returns whether the commit of an entry has changed the version of the schema and nothing else.
    static func changesOnlyVersion(_ entry: UnsafeRawBufferPointer) -> Bool {
        entry.count > shardBytes
            && entry.loadUnaligned(as: UInt32.self) & (identityBit | versionBit)
                == identityBit | versionBit
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
        /// Whether the schema, or other metadata that stores keep, was changed.
        var metadataChanged: Bool

        static let all = Traces(shards: .max, metadataChanged: true)
    }

    /// Returns the changes of the versions after `from`, up to and including `to`.
    ///
    /// The result covers all shards if the log does not have the versions or reading them would take long.
    static func traces(
        after from: UInt64, through to: UInt64, in table: Table, _ recent: DeltaBuffer,
        _ transaction: TransactionHandle
    ) throws(StorageError) -> Traces {
        guard from <= to, to - from <= 64 else { return .all }
        var traces = Traces(shards: 0, metadataChanged: false)
        var version = from
        while version < to {
            version += 1
            guard let entry = try find(version, in: table, recent, transaction),
                let changes = changeSet(entry)
            else { return .all }
            traces.shards |= entry.loadUnaligned(as: UInt32.self)
            if ChangeSet.isSchemaChanged(changes[0]) { traces.metadataChanged = true }
        }
        if traces.shards & metadataBit != 0 { traces.metadataChanged = true }
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

/// The identity of a commit: all copies of a store that contain the commit have the same one, and no other commit has it.
///
/// It is a hash of the identity before it, of the commit's entry in the history, and of a number that no other commit has:
/// each process takes consecutive numbers from a random one. The commit of a follower has the identity of the publisher's
/// commit. Two files that have an identity in common have the same data at that commit.
package struct CommitIdentity: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    static let size = 16
    private static let seed = Atomic<UInt64>(.random(in: 0 ... .max))

    /// Reads an identity.
    @inline(__always)
    init(at place: UnsafeRawPointer) {
        high = place.loadUnaligned(as: UInt64.self)
        low = place.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    /// Creates the identity of a new commit with this entry, which contains the identity before it.
    init(of entry: UnsafeRawBufferPointer) {
        (high, low) = ValueSeal.hash128(
            entry, seed: Self.seed.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// Returns an identity for a commit whose entry is not known yet.
    package static func random() -> CommitIdentity {
        var generator = SystemRandomNumberGenerator()
        let words = [generator.next(), generator.next()]
        return words.withUnsafeBytes { CommitIdentity(at: $0.baseAddress!) }
    }

    /// Whether this is the value for no identity.
    var isZero: Bool { high == 0 && low == 0 }

    /// Appends the identity, or zeros for none.
    static func append(_ identity: CommitIdentity?, to writer: inout ByteWriter) {
        writer.word(identity?.high ?? 0)
        writer.word(identity?.low ?? 0)
    }

    func replace(in writer: inout ByteWriter, at position: Int) {
        writer.replace(at: position, word: high, bytes: 8)
        writer.replace(at: position + 8, word: low, bytes: 8)
    }
}

extension CommitIdentity: LosslessStringConvertible {
    /// The 32 hexadecimal digits.
    package var description: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    package init?(_ description: String) {
        guard description.utf8.count == 32, let high = UInt64(description.prefix(16), radix: 16),
            let low = UInt64(description.suffix(16), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }
}

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
        let changesOnlyVersion =
            try source.historyEntry(version).map(HistoryLog.changesOnlyVersion) == true
        do throws(DamagedEncoding) {
            var changes = try ChangeSet(from: &reader)
            let trailer = try HistoryTrailer(from: &reader)
            if changesOnlyVersion { changes.schemaChanged = false }
            return HistoryEntry(
                changes: changes, changesOnlyVersion: changesOnlyVersion,
                restoration: trailer.restoration,
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
