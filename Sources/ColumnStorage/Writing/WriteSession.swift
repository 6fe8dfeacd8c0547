import LMDBStorage
import MemoryAccounts

/// An open write of a snapshot, with which rows are changed.
///
/// Reads of the snapshot see its changes immediately.
///
/// A session belongs to the thread that began it. All changed leaves are unpacked in memory until the commit, or until
/// they take too much memory. A failure during a flush (a full disk or map) is kept and thrown by `commit`, so single
/// changes need not throw; the whole write is then rolled back.
///
/// Rows and columns must exist, and values must fit: the layer above checks them.
package final class WriteSession {
    let file: ColumnFile
    let transaction: WriteTransaction
    // because: the snapshot owns the session.
    unowned let snapshot: Snapshot
    // A snapshot that is released with an open write ends the session when it no longer exists for others.
    private let workspace: WriteWorkspace
    let packer: LeafPacker
    let pool: LeafPool
    let arena: TextArena
    private let deltaBuffer: DeltaBufferStorage
    /// A counter that is incremented when unpacked leaves are flushed, which invalidates earlier addresses.
    let generation: UnsafeMutablePointer<Int>
    /// Whether leaves are kept unpacked even if they take too much memory.
    @exclusivity(unchecked) private var keepsLeaves = false
    @exclusivity(unchecked) private(set) var failure: StorageError?
    @exclusivity(unchecked) private(set) var overlays: SortedMap<TableID, TableOverlay> =
        SortedMap()
    @exclusivity(unchecked) private var recent: TableOverlay?
    /// The greatest keys of the shards that were read.
    @exclusivity(unchecked) private var maxKeys: SortedMap<Int, UInt64?> = SortedMap()
    @exclusivity(unchecked) var isSchemaChanged = false
    /// Whether a new version of the same schema was stored.
    @exclusivity(unchecked) var isVersionChanged = false
    /// Whether metadata was changed that stores read again, although the schema is the same.
    @exclusivity(unchecked) private var reloadsMetadata = false
    /// The history's record of this write if it restores an earlier version's data.
    @exclusivity(unchecked) package var restoration: Restoration?
    /// The number of versions in the history that do not count against its limit.
    package var uncountedVersions = 0
    /// The script that commits, for the history entry.
    @exclusivity(unchecked) package var author: VersionAuthor?
    @exclusivity(unchecked) var incomingColumns:
        [TableID: [(table: TableID, column: ColumnDefinition)]] = [:]
    @exclusivity(unchecked) var knownMixedColumns: [(table: TableID, column: ColumnDefinition)]?
    /// Whether early flushes are disabled because the write is ending.
    @exclusivity(unchecked) private var isEnding = false
    /// The definitions of the tables before the write changed them.
    @exclusivity(unchecked) private(set) var definitionsBefore: [TableID: TableDefinition]
    /// Copies of leaves that the write has flushed, for readers; nil until there is one.
    @exclusivity(unchecked) private(set) var copies: LeafCopies?

    /// The keys that the write must not use: those of rows in earlier writes that were rolled back.
    @exclusivity(unchecked) package var reservedKeys: [TableID: ObjectKey] = [:]
    /// The number of open savepoints.
    @exclusivity(unchecked) package private(set) var savepointCount = 0

    /// The identity that the commit gets instead of a new one: that of the commit which it repeats.
    @exclusivity(unchecked) package var givenIdentity: CommitIdentity?
    /// The identity of the commit; nil before it is prepared.
    @exclusivity(unchecked) private(set) var identity: CommitIdentity?
    /// The size in bytes of a buffer from which its changes are stored before the commit; each kind of changes has
    /// buffers of its own.
    let bufferLimit: Int
    /// The size of a text from which the memory of the write is checked.
    static let largeText = 4096

    init(_ snapshot: Snapshot, _ transaction: WriteTransaction) {
        self.snapshot = snapshot
        self.transaction = transaction
        file = snapshot.file
        workspace = snapshot.source.workspace
        packer = workspace.packer
        pool = workspace.pool
        arena = workspace.arena
        deltaBuffer = workspace.deltaBuffer
        deltaBuffer.begin(on: transaction.handle.version - 1)
        generation = workspace.generation
        bufferLimit = Self.currentBufferLimit
        definitionsBefore = snapshot.source.definitions
        swap(&overlays, &workspace.overlays)
        assert(overlays.isEmpty, "a write begins without tables")
        // because: the source exists as long as its snapshot, which ends the write.
        transaction.whenPagesMove({ [unowned source = snapshot.source] in source.forgetPages() })
    }

    /// Receives the definitions of the version on which the write began, if they were read after it began.
    func didReadDefinitions(_ definitions: [TableID: TableDefinition]) {
        if !isSchemaChanged { definitionsBefore = definitions }
    }

    // MARK: Tables

    @inline(__always)
    func overlay(_ table: TableID) -> TableOverlay {
        if let recent, recent.id == table { return recent }
        return findOverlay(table)
    }

    @inline(never)
    private func findOverlay(_ table: TableID) -> TableOverlay {
        if let known = overlays[table] {
            recent = known
            return known
        }
        let reader = snapshot.reader(table)
        if reader.isClosed { reading(or: ()) { () throws(StorageError) in try reader.open() } }
        let overlay = reader.beginWrite(self)
        overlays[table] = overlay
        recent = overlay
        if let bound = reservedKeys[table] { reserveKeys(table, below: bound) }
        return overlay
    }

    /// Creates a table, or changes its definition.
    ///
    /// Added columns are zero, null or empty in existing rows, without any cost.
    package func define(_ table: TableDefinition) throws(StorageError) {
        guard table.id.rawValue < TableID.limit - 1, table.columns.count < ColumnID.limit else {
            throw StorageError(.system, call: "too many tables or columns", file: file.path)
        }
        isSchemaChanged = true
        incomingColumns = [:]
        knownMixedColumns = nil
        let overlay = overlay(table.id)
        let before = overlay.reader.definition
        // The layout of tail rows depends on the definition.
        try overlay.packTail()
        try keepValues(overlay, before, table)
        try clearDropped(overlay, before, table)
        try clearRowIndexes(overlay.reader, table)
        snapshot.source.define(table)
        try overlay.reader.configure(table)
        overlay.columnsChanged()
        for column in table.columns where column.index != .none && !column.isDropped {
            let index = column.id.rawValue
            let old = before.columns.indices.contains(index) ? before.columns[index] : nil
            // Null has no entry.
            if column.isOptional, old?.isDropped ?? true { continue }
            if old.map({ $0.index == IndexKind.none }) ?? true { try build(overlay.reader, column) }
        }
        try addPendingEntries(overlay.reader)
    }

    /// Keeps the values of columns that become optional: from then on, a leaf that is not stored means null.
    private func keepValues(
        _ overlay: TableOverlay, _ before: TableDefinition, _ after: TableDefinition
    ) throws(StorageError) {
        for (old, new) in zip(before.columns, after.columns)
        where !old.isDropped && !new.isDropped && !old.isOptional && new.isOptional {
            for cluster in 0..<overlay.reader.clusterCount {
                try Interruption.step(16)
                try overlay.makeOptional(old.id.rawValue + 1, cluster)
            }
        }
    }

    /// Stores a small named blob.
    package func setMetadata(
        _ name: String, _ value: [UInt8], effect: MetadataEffect = .schema
    ) throws(StorageError) {
        try Metadata.write("user." + name, value, in: transaction.handle, file.tables.meta)
        switch effect {
        case .schema: isSchemaChanged = true
        case .schemaVersion: isVersionChanged = true
        case .reload: reloadsMetadata = true
        case .none: break
        }
    }

    /// Makes this and all later writes keep the identities of the commits that leave the history.
    package func keepIdentities() throws(StorageError) {
        try IdentityArchive(transaction.handle, file.tables.meta).begin()
    }

    func metadata(_ name: String) throws(StorageError) -> [UInt8]? {
        try Metadata.read("user." + name, in: transaction.handle, file.tables.meta)
    }

    // MARK: Rows

    /// Adds a row, whose columns are zero, null or empty until they are set.
    package func insert(_ table: TableID) -> ObjectKey {
        let overlay = overlay(table)
        let state = overlay.reader.state
        let key = state.pointee.keyBound
        let cluster = Int(key) / Cluster.rows
        let row = Int(key) - cluster * Cluster.rows
        if row == 0 { beginCluster(overlay, cluster) }
        assert(cluster == state.pointee.clusterCount - 1, "a new row is in the last cluster")
        var bits = overlay.unpackedLeaf(0, cluster).presence
        bits.insert(row)
        overlay.unpackedLeaf(0, cluster).presence = bits
        state.pointee.keyBound = key + 1
        state.pointee.count += 1
        return ObjectKey(key)
    }

    /// Reserves space for another cluster and flushes the previous one, which is rarely changed again.
    func beginCluster(_ overlay: TableOverlay, _ cluster: Int) {
        let state = overlay.reader.state
        guard
            state.pointee.resize(columns: state.pointee.columnCount, clusters: cluster + 1)
        else {
            // because: the directory takes a few bytes for 496 rows; a process without that much memory cannot
            // continue.
            preconditionFailure("no memory for the directory of a table")
        }
        state.pointee.clusterCount = cluster + 1
        if cluster > 0 && failure == nil {
            do throws(StorageError) {
                // This happens while the rows are still unpacked.
                if !overlay.reader.rowIndexes.isEmpty { try addPendingEntries(overlay.reader) }
                try overlay.flush(cluster: cluster - 1)
                releaseTextIfUnused()
            } catch { fail(error) }
        }
    }

    // MARK: Memory

    /// Runs `body` without flushing leaves, regardless of the memory they take.
    func keepingLeaves(_ body: () -> Void) {
        assert(!keepsLeaves, "leaves are kept by one caller at a time")
        keepsLeaves = true
        defer { keepsLeaves = false }
        body()
    }

    /// The limit of the buffers of a write that begins on the calling thread: a sixteenth of the memory of a script with
    /// a limit.
    static var currentBufferLimit: Int {
        min(24 << 20, (MemoryAccount.current?.limit ?? .max) / 16)
    }

    /// Flushes all leaves if they take too much memory; called before another leaf is created.
    func makeSpace() { if unpackedSize > bufferLimit { flushEarly() } }

    /// Flushes leaves before large text is stored, which may belong to the newest cluster of a table.
    func makeSpaceForText() { if unpackedSize + tailTextSize > bufferLimit { flushEarly() } }

    /// The size of the unpacked leaves and their text in bytes.
    private var unpackedSize: Int {
        @inline(__always) get { pool.usedSize + arena.size }
    }

    private var tailTextSize: Int { overlays.values.reduce(0) { $0 + $1.tailTextSize } }

    @inline(never)
    private func flushEarly() {
        guard failure == nil, !isEnding, !keepsLeaves else { return }
        do throws(StorageError) {
            for overlay in overlays.values { try overlay.flushAll() }
            assert(
                overlays.values.allSatisfy { $0.leaves.isEmpty },
                "no unpacked leaf points to text that is freed")
            arena.reset()
        } catch { fail(error) }
    }

    /// Frees the memory of texts when no unpacked leaf points to it.
    private func releaseTextIfUnused() {
        if arena.size > 1 << 20 && overlays.values.allSatisfy({ $0.leaves.isEmpty }) {
            arena.reset()
        }
    }

    func fail(_ error: StorageError) {
        if failure == nil { failure = error }
        isFailed = true
    }

    /// Runs a change of several parts; after an error the write has failed, because some parts may be done.
    func changing(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        do throws(StorageError) {
            try body()
        } catch {
            fail(error)
            throw error
        }
    }

    /// Returns the result of a read of a change; after an error the write has failed, and `fallback` is returned.
    @inline(__always)
    func reading<Result>(
        or fallback: Result, _ body: () throws(StorageError) -> Result
    ) -> Result {
        do throws(StorageError) {
            return try body()
        } catch {
            fail(error)
            return fallback
        }
    }

    /// Whether the write can only be rolled back.
    package var hasFailed: Bool { isFailed }
    // Not `package` itself, because other modules would check for exclusive access in each read.
    @exclusivity(unchecked) private var isFailed = false

    /// Throws the error that made the write fail.
    package func requireNoFailure() throws(StorageError) { if let failure { throw failure } }

    /// Stores a leaf; at the end of the shard, without a search.
    func put(
        _ bytes: UnsafeRawBufferPointer, at key: UInt64, of table: TableID, in shard: Table,
        mayBeLast: Bool
    ) throws(StorageError) {
        let index = FileTables.shard(of: table)
        let greatest: UInt64?
        if let known = maxKeys[index] {
            greatest = known
        } else if !mayBeLast {
            return try transaction.handle.put(shard, key, bytes)
        } else {
            let cursor = try transaction.handle.cursor(shard)
            greatest = try cursor.last()?.integerKey
        }
        let isLast = greatest.map { key > $0 } ?? true
        try transaction.handle.put(shard, key, bytes, append: isLast)
        maxKeys[index] = isLast ? key : greatest
    }

    // MARK: Ending the write

    /// Flushes all leaves and records the change set; afterward only the transaction has to be committed.
    func prepare() throws(StorageError) {
        if let failure { throw failure }
        assert(!isEnding, "a write is prepared once")
        isEnding = true
        var changes = ChangeSet(schemaChanged: isSchemaChanged || isVersionChanged)
        assert(savepointCount == 0, "a write is committed in a savepoint")
        let handle = transaction.handle
        var shards: UInt32 = 0
        for (id, overlay) in overlays where overlay.isTouched {
            if overlay.isRemoved {
                changes.tables[id] = try overlay.changes()
                shards |= 1 << UInt32(FileTables.shard(of: id))
                continue
            }
            try flushListsAndIndexes(overlay.reader)
            try overlay.flushAll(isLast: true)
            let head = overlay.closeHead()
            if head != overlay.headBefore {
                if head.hasIndexRuns, !overlay.headBefore.hasIndexRuns {
                    try FileFormat.raise(handle, file, to: FileFormat.withIndexRuns)
                }
                head.write(to: try reserveTail(TableHead.key(id), count: TableHead.size))
            }
            let changed = try overlay.changes()
            if !changed.isEmpty { changes.tables[id] = changed }
            shards |= 1 << UInt32(FileTables.shard(of: id))
        }
        if let failure { throw failure }
        var entry = ByteWriter(continuing: [])
        swap(&entry, &workspace.entry)
        defer { workspace.keep(&entry) }
        let previous = try snapshot.identity(of: snapshot.version)
        if previous == nil { try FileFormat.raise(handle, file, to: FileFormat.usual) }
        HistoryLog.begin(
            &entry, shards, reloadsMetadata: reloadsMetadata,
            changesOnlyVersion: isVersionChanged && !isSchemaChanged && changes.tables.isEmpty,
            after: previous)
        changes.encode(into: &entry)
        let options = file.options
        if options.historyLimit > 0, options.keepsHistory { appendTrailer(to: &entry, changes) }
        identity = HistoryLog.end(&entry, givenIdentity)
        let space = try deltaBuffer.reserve(
            .history, handle.version, count: entry.bytes.count, file.tables, in: handle)
        space.copyBytes(from: entry.bytes)
        try deltaBuffer.store(in: handle)
        let isLarge = entry.bytes.count > HistoryLog.largeEntry
        if handle.version % 16 == 0 || isLarge, options.keepsHistory {
            try HistoryLog.trim(
                file.tables.history, limit: options.historyLimit + uncountedVersions,
                needed: file.oldestVersion() ?? snapshot.version, in: handle,
                archive: IdentityArchive(handle, file.tables.meta))
        }
    }

    /// Moves the changes of a table's lists and indexes to the transaction.
    private func flushListsAndIndexes(_ reader: TableReader) throws(StorageError) {
        let handle = transaction.handle
        for list in reader.lists { try list?.flush() }
        for index in reader.intIndexes { try index?.flush(in: handle) }
        for index in reader.bytesIndexes { try index?.flush(in: handle) }
        try addPendingEntries(reader)
        for index in reader.rowIndexes { try index.index.flush(in: handle) }
    }

    /// Returns the changes so far.
    ///
    /// Takes time in proportion to the changes since the last savepoint.
    package func changes() throws(StorageError) -> ChangeSet {
        if let failure { throw failure }
        try changing { () throws(StorageError) in try flushEverything() }
        var changes = ChangeSet(schemaChanged: isSchemaChanged || isVersionChanged)
        for (id, overlay) in overlays where overlay.isTouched {
            let changed = try overlay.changes()
            if !changed.isEmpty { changes.tables[id] = changed }
        }
        return changes
    }

    // MARK: Savepoints

    /// Moves all changes of the write to the transaction.
    private func flushEverything() throws(StorageError) {
        for overlay in overlays.values where !overlay.isRemoved {
            try flushListsAndIndexes(overlay.reader)
            try overlay.packTail()
            try overlay.flushAll()
        }
        arena.reset()
    }

    /// Marks the present state of the write.
    ///
    /// Takes time in proportion to the changes since the last savepoint, and to the number of changed tables. Each
    /// savepoint must be ended, the newest first. Throws the error that made the write fail.
    package func beginSavepoint() throws(StorageError) -> Savepoint {
        if let failure { throw failure }
        try changing { () throws(StorageError) in try flushEverything() }
        var tables: [TableID: TableOverlay.Mark] = [:]
        for (id, overlay) in overlays { tables[id] = overlay.mark() }
        savepointCount += 1
        return Savepoint(
            log: transaction.handle.mark(), tables: tables,
            definitions: snapshot.source.definitions, isSchemaChanged: isSchemaChanged,
            isVersionChanged: isVersionChanged, reloadsMetadata: reloadsMetadata,
            deltaBuffer: deltaBuffer.mark())
    }

    /// Rolls back all changes after the newest savepoint, which remains valid.
    ///
    /// The keys of rows that were inserted since are not used again. Takes time in proportion to the changes. After an
    /// error, or in a write that has failed, the whole write can only be rolled back.
    package func rollBack(to savepoint: Savepoint) throws(StorageError) {
        if let failure { throw failure }
        assert(savepointCount > 0, "a savepoint is rolled back before it ends")
        try changing { () throws(StorageError) in try restore(savepoint) }
    }

    private func restore(_ savepoint: Savepoint) throws(StorageError) {
        let bounds = overlays.map { ($0, $1.reader.keyBound) }
        for overlay in overlays.values { overlay.discardChangesInMemory() }
        copies?.removeAll()
        arena.reset()
        generation.pointee += 1
        maxKeys = SortedMap()
        incomingColumns = [:]
        knownMixedColumns = nil
        isSchemaChanged = savepoint.isSchemaChanged
        isVersionChanged = savepoint.isVersionChanged
        reloadsMetadata = savepoint.reloadsMetadata
        deltaBuffer.restore(savepoint.deltaBuffer)
        try transaction.handle.rollBack(to: savepoint.log)
        snapshot.source.restore(savepoint.definitions)
        snapshot.source.forgetPages()
        for (id, overlay) in overlays {
            if let mark = savepoint.tables[id] {
                try overlay.restore(mark)
            } else {
                try overlay.restart()
            }
        }
        for (id, bound) in bounds where savepoint.definitions[id] != nil {
            if bound > overlay(id).reader.keyBound { reserveKeys(id, below: ObjectKey(bound)) }
        }
    }

    /// Ends the newest savepoint; its changes become those of the savepoint before it, or of the write.
    package func endSavepoint() {
        assert(savepointCount > 0, "a savepoint ends once")
        savepointCount -= 1
        guard savepointCount == 0 else { return }
        transaction.handle.endMarks()
        for overlay in overlays.values { overlay.endMarks() }
    }

    /// Reserves space for a node of the tail; the caller fills it before the next call.
    func reserveTail(
        _ key: UInt64, count: Int
    ) throws(StorageError) -> UnsafeMutableRawBufferPointer {
        try deltaBuffer.reserve(.tail, key, count: count, file.tables, in: transaction.handle)
    }

    /// Removes the nodes of the tail with keys in a range.
    func removeTail(_ keys: Range<UInt64>) throws(StorageError) {
        try deltaBuffer.removeTail(keys, in: transaction.handle)
        let cursor = try transaction.handle.cursor(file.tables.tail)
        var entry = try cursor.setRange(keys.lowerBound)
        while let found = entry, found.integerKey < keys.upperBound {
            try cursor.delete()
            entry = try cursor.next()
        }
    }

    /// Returns the copies of flushed leaves.
    func makeCopies() -> LeafCopies {
        if let copies { return copies }
        let created = LeafCopies(limit: bufferLimit)
        copies = created
        return created
    }

    /// Records the version as which the write was committed.
    func didCommit(as version: UInt64) { deltaBuffer.didCommit(as: version) }

    /// Returns the shards that the write has touched, one bit for each.
    func touchedShards() -> UInt32 {
        var shards: UInt32 = 0
        for overlay in overlays.values where overlay.isTouched {
            shards |= 1 << UInt32(FileTables.shard(of: overlay.id))
        }
        return shards
    }

    /// Releases all memory at the end of the session.
    func end() {
        recent = nil
        for overlay in overlays.values { overlay.reader.endWrite() }
        overlays.removeAll()
        swap(&overlays, &workspace.overlays)
        copies?.removeAll()
        arena.reset()
    }
}

/// The effect of a change of metadata on the stores of a file.
package enum MetadataEffect {
    /// The schema counts as changed: the version before the commit cannot be restored.
    case schema
    /// Only the version of the schema has changed: stores read it again, and the commit can be reversed.
    case schemaVersion
    /// Stores read their metadata again; the commit changes no data.
    case reload
    /// None.
    case none
}
