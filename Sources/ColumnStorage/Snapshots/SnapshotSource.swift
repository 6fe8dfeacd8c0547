import LMDBStorage

/// The shared state of one snapshot's table readers: the transaction that they read, and the open write, if any.
///
/// Table readers reference this object instead of the snapshot, so their data exists as long as they do.
package final class SnapshotSource {
    package let file: ColumnFile
    /// The transaction of the version for reads; nil after the snapshot was closed.
    @exclusivity(unchecked) package private(set) var reader: ReadTransaction? {
        didSet { uncountedReader = reader.map { .passUnretained($0) } }
    }
    /// Whether a frozen snapshot reads through the same transaction, which must then stay at its version.
    @exclusivity(unchecked) private(set) var isReaderShared = false
    /// The open write of this snapshot.
    @exclusivity(unchecked) package private(set) var write: WriteSession? {
        didSet { uncountedWrite = write.map { .passUnretained($0.transaction) } }
    }
    // The same two objects without reference counting, because every index lookup uses them.
    @exclusivity(unchecked) private var uncountedReader: Unmanaged<ReadTransaction>?
    @exclusivity(unchecked) private var uncountedWrite: Unmanaged<WriteTransaction>?
    /// The definitions of the tables.
    @exclusivity(unchecked) private(set) var definitions: [TableID: TableDefinition]
    @exclusivity(unchecked) private var cachedListPages: ListPages?
    @exclusivity(unchecked) private var cachedKeyPages: ListPages?
    /// The delta buffer of this version; nil until it is used.
    @exclusivity(unchecked) private var knownRecent: DeltaBuffer?
    /// The identity of the version's commit, its place in the map and the version's layout, for ``isUnchanged``; nil if it
    /// is not watched.
    @exclusivity(unchecked) private var watched:
        (place: UnsafeRawPointer, identity: CommitIdentity, layout: MappedHeaders.Layout?)?
    /// The index pages by shard; empty until one is used.
    @exclusivity(unchecked) private var indexPages: [IndexPages?] = []
    /// The buffers of this snapshot's writes, kept between them.
    var workspace: WriteWorkspace {
        if let cachedWorkspace { return cachedWorkspace }
        let created = WriteWorkspace()
        cachedWorkspace = created
        return created
    }
    @exclusivity(unchecked) private var cachedWorkspace: WriteWorkspace?
    /// The snapshots of this version for other threads.
    @exclusivity(unchecked) var companions: [Snapshot] = []

    init(
        _ file: ColumnFile, _ reader: ReadTransaction,
        definitions: [TableID: TableDefinition] = [:]
    ) {
        self.file = file
        self.definitions = definitions
        self.reader = reader
        uncountedReader = .passUnretained(reader)
    }

    var version: UInt64 { reader?.version ?? 0 }

    /// Changes the definition of one table.
    func define(_ table: TableDefinition) { definitions[table.id] = table }

    /// Restores the definitions after a write was rolled back.
    func restore(_ definitions: [TableID: TableDefinition]) { self.definitions = definitions }

    /// The transaction for reads of indexes and lists: that of the open write, or of the version.
    var handle: TransactionHandle? {
        if let write = uncountedWrite,
            let handle = write._withUnsafeGuaranteedRef({ $0.isOpen ? $0.handle : nil })
        {
            return handle
        }
        return uncountedReader?._withUnsafeGuaranteedRef { $0.handle }
    }

    /// The chunks of all lists.
    ///
    /// They are created when a table with lists is read, because most snapshots are created by commits and never read.
    var listPages: ListPages {
        if let cachedListPages { return cachedListPages }
        let pages = ListPages(file.tables.lists)
        pages.move(to: handle)
        cachedListPages = pages
        return pages
    }

    /// The chunks of the keys of all maps, created when a table with maps is read.
    var keyPages: ListPages {
        if let cachedKeyPages { return cachedKeyPages }
        let pages = ListPages(file.tables.mapKeys)
        pages.move(to: handle)
        cachedKeyPages = pages
        return pages
    }

    /// Returns the blocks of a level of a table's indexes.
    func indexPages(of table: TableID, _ level: IndexLevel) -> IndexPages {
        let shard = FileTables.shard(of: table, level)
        if indexPages.isEmpty { indexPages = Array(repeating: nil, count: FileTables.shards) }
        if let known = indexPages[shard] { return known }
        let pages = IndexPages(file.tables.indexes(of: table, level))
        indexPages[shard] = pages
        return pages
    }

    /// Invalidates the addresses of index blocks and list chunks, because the transaction or its content has changed.
    func forgetPages() {
        cachedListPages?.move(to: handle)
        cachedKeyPages?.move(to: handle)
        for pages in indexPages { pages?.invalidate() }
    }

    /// Moves reads to another version.
    ///
    /// The old version remains as long as another owner references it.
    func move(to next: ReadTransaction) {
        assert(write == nil, "a source with an open write stays at its version")
        companions = []
        reader = next
        isReaderShared = false
        knownRecent = nil
        watched = nil
        forgetPages()
    }

    /// Takes over a version that another source is about to leave, initially or after ``close()``.
    func takeOver(
        _ left: ReadTransaction, from other: SnapshotSource,
        definitions: [TableID: TableDefinition]
    ) {
        self.definitions = definitions
        move(to: left)
        // The nodes are in pages of the version, which remain valid while the version is pinned.
        knownRecent = other.knownRecent
    }

    /// Returns the transaction of the version for a frozen snapshot, which keeps it at this version.
    func shareReader() throws(StorageError) -> ReadTransaction {
        let shared = try openReader()
        isReaderShared = true
        return shared
    }

    /// Returns the transaction of the version; throws `closed` if there is none.
    func openReader() throws(StorageError) -> ReadTransaction {
        guard let reader else {
            throw StorageError(.closed, call: "read", file: file.path)
        }
        return reader
    }

    /// Moves reads to the transaction of a write.
    func beginWrite(_ session: WriteSession) {
        assert(write == nil, "a snapshot has one open write")
        write = session
        forgetPages()
    }

    /// Moves reads back to the version, after the write was committed or rolled back.
    ///
    /// The caller then invalidates the pages: it moves to the new version or restores the definitions.
    func endWrite() {
        assert(write != nil, "a write ends once")
        write = nil
    }

    func close() {
        companions = []
        reader = nil
        knownRecent = nil
        watched = nil
        forgetPages()
    }

    /// The delta buffer of the committed version.
    var recent: DeltaBuffer {
        get throws(StorageError) {
            if let knownRecent { return knownRecent }
            guard let reader else { return .none }
            let nodes = try DeltaBuffer.read(reader.handle)
            knownRecent = nodes
            return nodes
        }
    }

    /// Returns the changes since an earlier version; unreadable parts count as changed.
    func traces(since version: UInt64) -> HistoryLog.Traces {
        guard let reader else { return .all }
        do throws(StorageError) {
            return try HistoryLog.traces(
                after: version, through: reader.version, in: file.tables.history, recent,
                reader.handle)
        } catch {
            return .all
        }
    }

    /// Returns the history's entry of a version up to the committed one; nil if it is no longer kept.
    func historyEntry(_ version: UInt64) throws(StorageError) -> UnsafeRawBufferPointer? {
        guard let reader else { return nil }
        return try HistoryLog.find(version, in: file.tables.history, recent, reader.handle)
    }

    // MARK: Changes by other programs

    /// Records where the map has the identity of the version, which is `committed` if this process has just committed it.
    func watch(_ committed: CommitIdentity? = nil) {
        // A second opening of a file pins no version, and copies in memory cannot change.
        guard file.options.keepsHistory else { return }
        do throws(StorageError) {
            guard let reader, reader.environment.pinsVersions,
                let entry = try historyEntry(version),
                let place = HistoryLog.identityPlace(entry)
            else { return }
            watched = (
                place, committed ?? CommitIdentity(at: place),
                reader.environment.layout(of: version)
            )
        } catch {
            // because: the next read of the damaged entry throws the error.
        }
    }

    /// Whether the file still contains the version.
    ///
    /// Another program may have overwritten the file, also with a file whose newest version has the same number. Takes some
    /// loads from the map.
    @inline(__always)
    var isUnchanged: Bool {
        guard let watched, let reader else { return true }
        return CommitIdentity(at: watched.place) == watched.identity
            && reader.environment.contains(version, watched.layout)
    }

    /// Throws `replaced` unless the file still contains the version.
    func requireUnchanged() throws(StorageError) {
        if !isUnchanged || reader?.environment.isReplaced == true { throw replaced }
    }

    /// Throws `replaced` unless the file still contains the version, and a newer version continues it.
    ///
    /// If the newer version has trimmed the entry, the page with the identity is the proof: this transaction pins it, so
    /// only a file that has had this commit can have it in the same place.
    func requireSuccessor(_ next: ReadTransaction) throws(StorageError) {
        guard isUnchanged, next.version > version else { throw replaced }
        guard let watched,
            let entry = try HistoryLog.find(
                version, in: file.tables.history, DeltaBuffer.read(next.handle), next.handle)
        else { return }
        guard HistoryLog.identity(entry) == watched.identity else { throw replaced }
    }

    private var replaced: StorageError {
        reader?.environment.replaced() ?? StorageError(.closed, call: "read", file: file.path)
    }

    /// Returns a node of the tail in the committed version.
    func tailNode(_ key: UInt64) throws(StorageError) -> UnsafeRawBufferPointer? {
        if let node = try recent.find(.tail, key) { return node }
        return try get(file.tables.tail, key)
    }

    /// Reads a value of the committed version; nil if it is missing, or the source is closed.
    func get(_ table: Table, _ key: UInt64) throws(StorageError) -> UnsafeRawBufferPointer? {
        guard let reader else { return nil }
        return try reader.handle.get(table, key)
    }

    /// Returns the error for damaged content of the file.
    func damaged(_ what: String) -> StorageError {
        if let environment = reader?.environment, environment.isReplaced {
            return environment.replaced()
        }
        return StorageError(.damaged, call: what, file: file.path)
    }
}

/// Keeps a file open in this process, including a file in memory without any other handle.
package struct FileHold: Sendable {
    private let file: ColumnFile
    private let lease: EnvironmentLease

    /// The identity of the file, as in ``ColumnFile/identity``.
    package var identity: ObjectIdentifier { file.identity }

    init(_ file: ColumnFile) throws(StorageError) {
        self.file = file
        lease = try file.lease()
    }
}

extension ColumnFile {
    /// Returns an object that keeps the file open as long as it exists.
    ///
    /// Throws `closed`.
    package func hold() throws(StorageError) -> FileHold { try FileHold(self) }
}

/// One pinned version of a file, of which every thread can create its own snapshot.
package final class SharedVersion: @unchecked Sendable {
    // Unchecked because: the properties are constant, and LMDB only reads in this transaction. The transaction is never
    // renewed, and does not end while this object references it. The only state that reading would change (the
    // transaction's record of a table on its first read) was set up for all tables when this object was created.
    private let reader: ReadTransaction
    private let definitions: [TableID: TableDefinition]
    private let identity: ObjectIdentifier

    /// The version number.
    package let version: UInt64

    fileprivate init(
        _ file: ColumnFile, _ reader: ReadTransaction, _ definitions: [TableID: TableDefinition]
    ) throws(StorageError) {
        self.reader = reader
        self.definitions = definitions
        identity = file.identity
        version = reader.version
        for table in reader.environment.tables { _ = try reader.handle.statistics(table) }
    }

    /// Returns a snapshot for the calling thread, which has the file open as `file`; nil if that is another file.
    package func snapshot(of file: ColumnFile) -> Snapshot? {
        file.identity == identity ? Snapshot(file, reader, definitions) : nil
    }
}

extension Snapshot {
    /// Returns the version of a frozen snapshot for use on other threads.
    ///
    /// Reads the roots of the file's few tables. Throws `closed`.
    package func shared() throws(StorageError) -> SharedVersion {
        precondition(isFrozen, "only a frozen snapshot stays at its version")
        guard let reader = source.reader else {
            throw StorageError(.closed, call: "share", file: file.path)
        }
        return try SharedVersion(file, reader, source.definitions)
    }
}

/// The table readers of a version that was released, for reuse by the next version that is released.
///
/// A live snapshot leaves its version whenever it moves to another one. Observers read a few values of the old version
/// before it is released, and creating its readers each time would cost more than the reads. Between versions the
/// readers keep no pages. The object belongs to the thread of the snapshots.
final class SpareReaders {
    private var source: SnapshotSource?
    private var hasEnded = false
    @exclusivity(unchecked) private var tables: SortedMap<TableID, TableReader> = SortedMap()

    /// Removes and returns the kept readers, which are closed and share the source.
    func take() -> (source: SnapshotSource, tables: SortedMap<TableID, TableReader>)? {
        guard let kept = source else { return nil }
        defer {
            source = nil
            tables = SortedMap()
        }
        return (kept, tables)
    }

    /// Keeps closed readers, unless another owner uses one of them, which must remain closed.
    func keep(_ source: SnapshotSource, _ readers: inout SortedMap<TableID, TableReader>) {
        assert(
            source.reader == nil && readers.values.allSatisfy { $0.isClosed },
            "spare readers are closed")
        if hasEnded { return }
        for index in readers.elements.indices
        where !isKnownUniquelyReferenced(&readers.elements[index].value) {
            return
        }
        self.source = source
        tables = readers
    }

    /// Releases the readers permanently, because a source keeps its file open.
    func end() {
        hasEnded = true
        source = nil
        tables = SortedMap()
    }
}
