import LMDBStorage

/// One version of the whole file as one thread sees it.
///
/// A live snapshot moves with ``advance()`` and can write; a frozen one stays. Both hold their version in
/// place in the file while they live. Not `Sendable`: one thread at a time, and writes on the thread that
/// began them.
package final class Snapshot {
    package let source: SnapshotSource
    /// Whether it stays at its version.
    package let isFrozen: Bool
    @exclusivity(unchecked) private var tables: SortedMap<TableID, TableReader> = SortedMap()
    /// The table that was used last.
    @exclusivity(unchecked) private var recent: TableReader?
    /// Where the readers of versions that a live snapshot has left come from and go to.
    private let spares: SpareReaders?
    /// Whether a move to a newer version may have passed over a change of the schema.
    ///
    /// Stays true until its reader resets it.
    package var mayHaveNewSchema = false

    /// A live snapshot at the newest version.
    package init(_ file: ColumnFile) throws(StorageError) {
        source = SnapshotSource(file, try ReadTransaction(file.lease()))
        isFrozen = false
        spares = SpareReaders()
    }

    init(
        _ file: ColumnFile, _ reader: ReadTransaction, _ definitions: [TableID: TableDefinition]
    ) {
        source = SnapshotSource(file, reader)
        source.definitions = definitions
        isFrozen = true
        spares = nil
    }

    /// The version that a live snapshot is about to leave.
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
        source.takeOver(reader, from: live)
        source.definitions = definitions
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

    /// The file.
    package var file: ColumnFile { source.file }

    /// The version that is read; inside a write, the version before it.
    ///
    /// 0 once closed.
    package var version: UInt64 { source.version }

    /// The first thing in the file that made no sense, if anything did.
    ///
    /// It was read as empty.
    package var damage: StorageError? { source.damage }

    /// Receives the definitions of the tables, after the schema has been read or has changed.
    ///
    /// Tables that are not named stay as they are.
    package func configure(_ definitions: [TableDefinition]) {
        for definition in definitions {
            source.definitions[definition.id] = definition
            tables[definition.id]?.configure(definition)
        }
        // A write that has just begun on a newer version works on what the tables are there.
        if let write, !write.isSchemaChanged { write.definitionsBefore = source.definitions }
    }

    /// The definition of a table, as far as this snapshot knows it.
    package func definition(of table: TableID) -> TableDefinition? { source.definitions[table] }

    /// The reader of a table; the same one each time.
    package func table(_ id: TableID) -> TableReader {
        if let recent, recent.id == id { return recent }
        let reader: TableReader
        if let known = tables[id] {
            if known.isClosed { known.reopen() }
            reader = known
        } else {
            reader = TableReader(id, source)
            tables[id] = reader
        }
        recent = reader
        return reader
    }

    /// A small named blob; inside a write, as the write has left it.
    package func metadata(_ name: String) throws(StorageError) -> [UInt8]? {
        if let write { return try write.metadata(name) }
        return try Metadata.read("user." + name, in: reader().handle, file.tables.meta)
    }

    private func reader() throws(StorageError) -> ReadTransaction {
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "read", file: file.path)
        }
        return reader
    }

    // MARK: Versions

    /// Moves to the newest version.
    ///
    /// Returns the version that was left, frozen; nil when there is no newer one. Table readers
    /// follow; cost: a few microseconds, whatever the size.
    ///
    /// Not inside a write.
    package func advance() throws(StorageError) -> Snapshot? {
        precondition(!isFrozen && write == nil, "only a live snapshot outside a write advances")
        let old = try reader()
        guard file.latestVersion() != old.version else { return nil }
        let next = try ReadTransaction(file.lease())
        guard next.version != old.version else { return nil }
        return move(from: old, to: next)
    }

    private func move(from old: ReadTransaction, to next: ReadTransaction) -> Snapshot {
        let left = Snapshot(leaving: old, of: source, source.definitions, spares)
        follow(from: old.version, to: next)
        return left
    }

    private func follow(from version: UInt64, to next: ReadTransaction) {
        source.move(to: next)
        let traces = source.traces(since: version)
        if traces.schemaChanged { mayHaveNewSchema = true }
        for reader in tables.values
        where traces.shards >> UInt32(FileTables.shard(of: reader.id)) & 1 != 0 {
            reader.refresh()
        }
    }

    /// A second, immutable view of the same version.
    ///
    /// Inside a write: of the version before it.
    package func frozen() throws(StorageError) -> Snapshot {
        source.isReaderShared = true
        return Snapshot(file, try reader(), write?.definitionsBefore ?? source.definitions)
    }

    /// The changes after version `from`, up to `to`, which is at most this snapshot's.
    ///
    /// Nil when the history does not reach back that far.
    ///
    /// A row that was deleted and came back between the two counts as modified in every column.
    package func changes(from: UInt64, to: UInt64) throws(StorageError) -> ChangeSet? {
        var changes = try HistoryLog.changes(
            after: from, through: to, in: file.tables.history, source.recent, reader().handle)
        if to > from + 1 { changes?.settleRevived(source.definitions) }
        return changes
    }

    /// Lets the version go.
    ///
    /// Table readers read as empty tables from now on. An open write is cancelled.
    package func close() {
        if write != nil { cancelWrite() }
        for reader in tables.values { reader.close() }
        tables.removeAll()
        recent = nil
        source.close()
        if !isFrozen { spares?.end() }
    }

    // MARK: Writing

    /// The open write, between begin and commit or cancel.
    package var write: WriteSession? { source.write }

    /// Waits for the file's write lock, unless `turn` has come, then moves to the newest version inside it.
    ///
    /// Returns the version that was left, if it moved.
    ///
    /// Throws `readOnly`, and `writeInProgress` when this thread has another write open on the file.
    package func beginWrite(_ turn: WriteLockTicket? = nil) throws(StorageError) -> Snapshot? {
        precondition(!isFrozen && write == nil, "only a live snapshot outside a write begins one")
        guard !file.isReadOnly else {
            throw StorageError(.readOnly, call: "begin write", file: file.path)
        }
        try source.requireSound()
        let transaction = try WriteTransaction(
            file.lease(), durability: file.options.durability, turn: turn)
        let left = try advance()
        source.write = WriteSession(self, transaction)
        source.forgetPages()
        return left
    }

    /// Makes the write the newest version and moves there.
    ///
    /// Returns the version before it, frozen.
    ///
    /// A write that changed nothing makes a version too. On an error (`mapFull`, `diskFull`, …) nothing of
    /// the write remains and the snapshot is where it was. `whenVisible` is called as soon as others can see the
    /// version: before this snapshot has moved there, so that they need not wait for that.
    package func commit(whenVisible: () -> Void = {}) throws(StorageError) -> Snapshot {
        // because: it is kept on request.
        try commit(keepingLeft: true, whenVisible)!
    }

    /// The same without the version before, which costs less.
    package func commitOnly(whenVisible: () -> Void = {}) throws(StorageError) {
        _ = try commit(keepingLeft: false, whenVisible)
    }

    private func commit(
        keepingLeft: Bool, _ whenVisible: () -> Void
    ) throws(StorageError) -> Snapshot? {
        guard let session = write else {
            preconditionFailure("commit without a write")
        }
        let old = try reader()
        let before = session.definitionsBefore
        let next: ReadTransaction
        let committed: UInt64
        do throws(StorageError) {
            // Damaged pages read as empty: a write that continues from them would make the loss permanent.
            try source.requireSound()
            try session.prepare()
            try source.requireSound()
            // The reader's slot is taken while the write can still fail.
            next =
                keepingLeft || source.isReaderShared
                ? try ReadTransaction(reserving: file.lease()) : old
            committed = session.transaction.handle.version
            try session.transaction.commit()
        } catch {
            cancelWrite()
            throw error
        }
        whenVisible()
        session.didCommit(as: committed)
        do throws(StorageError) {
            try next.renew()
        } catch {
            // The write is in the file; only this snapshot could not follow.
            if next === old { source.close() }
            cancelWrite()
            throw error
        }
        let shards = session.touchedShards()
        for overlay in session.overlays.values { overlay.settleTail() }
        session.end()
        source.write = nil
        let left = keepingLeft ? Snapshot(leaving: old, of: source, before, spares) : nil
        if next.version == committed {
            source.move(to: next)
            for reader in tables.values
            where shards >> UInt32(FileTables.shard(of: reader.id)) & 1 != 0 {
                reader.state.pointee.advanceEpoch()
            }
            return left
        }
        // Another commit has followed already.
        follow(from: committed - 1, to: next)
        return left
    }

    /// Forgets everything that the write has done.
    package func cancelWrite() {
        guard let session = write else { return }
        source.write = nil
        let touched = session.overlays.values.map(\.reader)
        session.end()
        session.transaction.abort()
        source.definitions = session.definitionsBefore
        source.forgetPages()
        for reader in touched {
            reader.dropTail()
            reader.configure(
                source.definitions[reader.id] ?? TableDefinition(id: reader.id, columns: []))
            reader.refresh()
        }
    }
}
