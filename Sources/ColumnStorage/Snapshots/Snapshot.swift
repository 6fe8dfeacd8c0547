import LMDBStorage

/// One version of the whole file, for one thread.
///
/// A live snapshot moves with ``advance()`` and can write; a frozen one stays at its version. Both pin their version in
/// the file while they exist. A snapshot is not `Sendable`: one thread uses it at a time, and a write stays on the
/// thread that began it.
package final class Snapshot {
    package let source: SnapshotSource
    /// Whether the snapshot stays at its version.
    package let isFrozen: Bool
    @exclusivity(unchecked) private var tables: SortedMap<TableID, TableReader> = SortedMap()
    /// The table that was read last.
    @exclusivity(unchecked) private var recent: TableReader?
    /// The pool of table readers for versions that a live snapshot leaves.
    private let spares: SpareReaders?
    /// Whether a move to a newer version may have skipped a change of the schema, or of other metadata that stores keep.
    ///
    /// It remains true until ``didReadMetadata()``.
    package private(set) var mayHaveNewMetadata = false
    /// The upper bounds of the keys in writes that were rolled back.
    @exclusivity(unchecked) private var discardedKeys: [TableID: ObjectKey] = [:]

    /// Creates a live snapshot at the newest version.
    package init(_ file: ColumnFile) throws(StorageError) {
        source = SnapshotSource(file, try ReadTransaction(file.lease()))
        source.watch()
        isFrozen = false
        spares = SpareReaders()
    }

    init(
        _ file: ColumnFile, _ reader: ReadTransaction, _ definitions: [TableID: TableDefinition]
    ) {
        source = SnapshotSource(file, reader, definitions: definitions)
        isFrozen = true
        spares = nil
    }

    /// Creates a frozen snapshot of the version that a live snapshot is about to leave.
    private init(
        leaving reader: ReadTransaction, of live: SnapshotSource,
        _ definitions: [TableID: TableDefinition], _ spares: SpareReaders?
    ) {
        if let spare = spares?.take() {
            source = spare.source
            tables = spare.tables
        } else {
            source = SnapshotSource(live.file, reader)
        }
        source.takeOver(reader, from: live, definitions: definitions)
        isFrozen = true
        self.spares = spares
    }

    deinit {
        guard isFrozen, let spares, source.reader != nil else { return close() }
        for reader in tables.values { reader.close() }
        recent = nil
        source.close()
        spares.keep(source, &tables)
    }

    /// Whether the file still contains the version, as far as the identity of its commit shows.
    package var isUnchanged: Bool { source.isUnchanged }

    /// Throws `replaced` unless the file still contains the version.
    package func requireUnchanged() throws(StorageError) { try source.requireUnchanged() }

    /// The open file.
    package var file: ColumnFile { source.file }

    /// The version for reads; inside a write, the version before the write.
    ///
    /// It is 0 after the snapshot was closed.
    package var version: UInt64 { source.version }

    /// Receives the definitions of the tables, after the schema has been read or has changed.
    ///
    /// Tables that are not named do not change.
    package func configure(_ definitions: [TableDefinition]) throws(StorageError) {
        for definition in definitions {
            source.define(definition)
            try tables[definition.id]?.configure(definition)
        }
        // A write that has just begun on a newer version uses the table definitions of that version.
        write?.didReadDefinitions(source.definitions)
    }

    /// Returns the definition of a table, if this snapshot knows it.
    package func definition(of table: TableID) -> TableDefinition? { source.definitions[table] }

    /// Returns the reader of a table; each call returns the same object.
    ///
    /// Throws `damaged` if the table's head cannot be read.
    package func table(_ id: TableID) throws(StorageError) -> TableReader {
        if let recent, recent.id == id, !recent.isClosed { return recent }
        let reader = reader(id)
        if reader.isClosed { try reader.open() }
        recent = reader
        return reader
    }

    /// Returns the reader of a table, which is closed if its head was not read yet or cannot be read.
    package func reader(_ id: TableID) -> TableReader {
        if let known = tables[id] { return known }
        let created = TableReader(id, source)
        tables[id] = created
        return created
    }

    /// Returns a small named blob; inside a write, with the changes of the write.
    package func metadata(_ name: String) throws(StorageError) -> [UInt8]? {
        if let write { return try write.metadata(name) }
        return try Metadata.read("user." + name, in: source.openReader().handle, file.tables.meta)
    }

    /// Records that the schema and the metadata of this version have been read.
    package func didReadMetadata() { mayHaveNewMetadata = false }

    // MARK: Versions

    /// Moves to the newest version.
    ///
    /// Returns the previous version as a frozen snapshot; nil if there is no newer version. Table readers follow. Takes
    /// a few microseconds, independent of the size. `willMove` receives the newer version while this snapshot still
    /// shows the old one.
    ///
    /// It must not be called inside a write. Throws `replaced` if another program has changed the file.
    package func advance(
        _ willMove: ((Snapshot) -> Void)? = nil
    ) throws(StorageError) -> Snapshot? {
        precondition(
            !isFrozen && write == nil,
            "a frozen snapshot, or one with an open write, cannot advance")
        let old = try source.openReader()
        try source.requireUnchanged()
        guard file.latestVersion() != old.version else { return nil }
        let next = try ReadTransaction(file.lease())
        guard next.version != old.version else { return nil }
        try source.requireSuccessor(next)
        if let willMove { willMove(Snapshot(file, next, source.definitions)) }
        let left = Snapshot(leaving: old, of: source, source.definitions, spares)
        follow(from: old.version, to: next)
        return left
    }

    private func follow(from version: UInt64, to next: ReadTransaction) {
        source.move(to: next)
        source.watch()
        let traces = source.traces(since: version)
        if traces.metadataChanged { mayHaveNewMetadata = true }
        for reader in tables.values
        where traces.shards >> UInt32(FileTables.shard(of: reader.id)) & 1 != 0 {
            reader.refresh()
        }
    }

    /// Returns a second, frozen snapshot of the same version.
    ///
    /// Inside a write, it is the version before the write.
    package func frozen() throws(StorageError) -> Snapshot {
        Snapshot(file, try source.shareReader(), write?.definitionsBefore ?? source.definitions)
    }

    /// Returns frozen snapshots of the same version for other threads, each for one of them.
    ///
    /// They keep their readers for the next call, and are released when this snapshot moves or closes.
    package func companions(_ count: Int) throws(StorageError) -> [Snapshot] {
        let missing = count - source.companions.count
        if missing > 0 {
            let version = try (isFrozen ? self : frozen()).shared()
            // because: this snapshot has the same file.
            for _ in 0..<missing { source.companions.append(version.snapshot(of: file)!) }
        }
        return Array(source.companions.prefix(count))
    }

    /// Returns the changes after version `from`, up to `to`, which is at most this snapshot's version.
    ///
    /// The result is nil if the history does not reach back that far.
    ///
    /// A row that was deleted and restored between the two counts as modified in every column.
    package func changes(from: UInt64, to: UInt64) throws(StorageError) -> ChangeSet? {
        var changes = try HistoryLog.changes(
            after: from, through: to, in: file.tables.history, source.recent,
            source.openReader().handle)
        if to > from + 1 { changes?.markRevived(source.definitions) }
        return changes
    }

    /// Releases the version.
    ///
    /// Afterward, table readers read empty tables. An open write is rolled back.
    package func close() {
        if write != nil { cancelWrite() }
        for reader in tables.values { reader.close() }
        tables.removeAll()
        recent = nil
        source.close()
        if !isFrozen { spares?.end() }
    }

    // MARK: Writing

    /// The open write, between its beginning and commit or cancel.
    package var write: WriteSession? { source.write }

    /// Waits for the file's write lock, unless `ticket` holds it, and then moves to the newest version.
    ///
    /// Returns the previous version if the snapshot moved.
    ///
    /// Throws `readOnly`, `replaced` if another program has changed the file, and `writeInProgress` if this thread has
    /// another write open on it. For `willMove` see ``advance(_:)``.
    package func beginWrite(
        _ ticket: WriteLockTicket? = nil, by user: LockUser = .unnamed, isFirst: Bool = false,
        _ willMove: ((Snapshot) -> Void)? = nil
    ) throws(StorageError) -> Snapshot? {
        precondition(
            !isFrozen && write == nil,
            "a frozen snapshot, or one with an open write, cannot begin a write")
        guard !file.isReadOnly else {
            throw StorageError(.readOnly, call: "begin write", file: file.path)
        }
        let transaction = try WriteTransaction(
            file.lease(), durability: file.options.durability, ticket: ticket, by: user,
            isFirst: isFirst, isUnchanged: { source.isUnchanged })
        let left = try advance(willMove)
        source.beginWrite(WriteSession(self, transaction))
        return left
    }

    /// Commits the write as the newest version, and moves the snapshot to it.
    ///
    /// Returns the previous version as a frozen snapshot if `keepingLeft` is true, and nil otherwise, which costs less.
    ///
    /// A write without changes also creates a version. After an error (`mapFull`, `diskFull`, …) the write is rolled
    /// back and the snapshot has not moved. `whenVisible` is called when other snapshots can see the version, which is
    /// before this snapshot has moved, so that they need not wait for it.
    @discardableResult  // because: the previous version is returned only on request
    package func commit(
        keepingLeft: Bool = false, whenVisible: () -> Void = {}
    ) throws(StorageError) -> Snapshot? {
        guard let session = write else {
            preconditionFailure("commit without a write")
        }
        let old = try source.openReader()
        let before = session.definitionsBefore
        let next: ReadTransaction
        let committed: UInt64
        do throws(StorageError) {
            try source.requireUnchanged()
            try session.prepare()
            // The reader slot is acquired while the write can still fail.
            next =
                keepingLeft || source.isReaderShared
                ? try ReadTransaction(reserving: file.lease()) : old
            committed = session.transaction.handle.version
            try session.transaction.commit()
            whenVisible()
        } catch {
            cancelWrite()
            throw error
        }
        session.didCommit(as: committed)
        do throws(StorageError) {
            try next.renew()
        } catch {
            // The write is committed; only this snapshot could not move.
            if next === old { source.close() }
            cancelWrite()
            throw error
        }
        let shards = session.touchedShards()
        for overlay in session.overlays.values { overlay.didCommit() }
        session.end()
        source.endWrite()
        session.transaction.returnMemory()
        let left = keepingLeft ? Snapshot(leaving: old, of: source, before, spares) : nil
        if next.version == committed {
            source.move(to: next)
            source.watch(session.identity)
            for reader in tables.values
            where shards >> UInt32(FileTables.shard(of: reader.id)) & 1 != 0 {
                reader.state.pointee.advanceEpoch()
            }
            return left
        }
        // Another commit has already followed.
        follow(from: committed - 1, to: next)
        return left
    }

    /// Returns the upper bounds of the keys in writes that were rolled back since the last call.
    package func takeDiscardedKeys() -> [TableID: ObjectKey] {
        let taken = discardedKeys
        if !taken.isEmpty { discardedKeys = [:] }
        return taken
    }

    /// Rolls back all changes of the write.
    package func cancelWrite() {
        guard let session = write else { return }
        for (id, overlay) in session.overlays {
            let bound = overlay.reader.keyBound
            if bound > overlay.headBefore.keyBound { discardedKeys[id] = ObjectKey(bound) }
        }
        source.endWrite()
        let touched = session.overlays.values.map(\.reader)
        session.end()
        session.transaction.abort()
        session.transaction.returnMemory()
        source.restore(session.definitionsBefore)
        source.forgetPages()
        for reader in touched {
            reader.dropTail()
            reader.refresh()
        }
    }
}
