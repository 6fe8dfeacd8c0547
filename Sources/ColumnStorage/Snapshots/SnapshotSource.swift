import LMDBStorage

/// The shared state of the table readers of one snapshot: the transaction that they read and the write, if one is open.
///
/// Table readers outlive nothing they need by holding this instead of the snapshot.
package final class SnapshotSource {
    package let file: ColumnFile
    /// The version that is read; nil once closed.
    @exclusivity(unchecked) package private(set) var reader: ReadTransaction? {
        didSet { uncountedReader = reader.map { .passUnretained($0) } }
    }
    /// Whether a frozen snapshot reads through the same transaction, which must then stay where it is.
    @exclusivity(unchecked) var isReaderShared = false
    /// The write that this snapshot has open.
    @exclusivity(unchecked) package var write: WriteSession? {
        didSet { uncountedWrite = write.map { .passUnretained($0.transaction) } }
    }
    // The same again: what an index is read with is used at every look-up, which then counts no references.
    @exclusivity(unchecked) private var uncountedReader: Unmanaged<ReadTransaction>?
    @exclusivity(unchecked) private var uncountedWrite: Unmanaged<WriteTransaction>?
    /// The definitions of the tables.
    @exclusivity(unchecked) var definitions: [TableID: TableDefinition] = [:]
    /// The first thing in the file that made no sense.
    @exclusivity(unchecked) var damage: StorageError?
    @exclusivity(unchecked) private var madeListPages: ListPages?
    @exclusivity(unchecked) private var madeKeyPages: ListPages?
    /// Nil until they are used at this version.
    @exclusivity(unchecked) private var knownRecent: DeltaBuffer?
    /// By shard; empty until one is used.
    @exclusivity(unchecked) private var indexPages: [IndexPages?] = []
    /// The buffers of this snapshot's writes, kept between them.
    private(set) lazy var workspace = WriteWorkspace()

    init(_ file: ColumnFile, _ reader: ReadTransaction) {
        self.file = file
        self.reader = reader
        uncountedReader = .passUnretained(reader)
    }

    var version: UInt64 { reader?.version ?? 0 }

    /// The transaction for reads of indexes and lists: the open write, or the version.
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
    /// Made when a table with lists is read: most snapshots are made by commits and never looked
    /// at.
    var listPages: ListPages {
        if let madeListPages { return madeListPages }
        let pages = ListPages(file.tables.lists)
        pages.move(to: handle)
        madeListPages = pages
        return pages
    }

    /// The chunks of the keys of all maps, made when a table with maps is read.
    var keyPages: ListPages {
        if let madeKeyPages { return madeKeyPages }
        let pages = ListPages(file.tables.mapKeys)
        pages.move(to: handle)
        madeKeyPages = pages
        return pages
    }

    /// The index blocks of a table's shard.
    func indexPages(of table: TableID) -> IndexPages {
        let shard = FileTables.shard(of: table)
        if indexPages.isEmpty { indexPages = Array(repeating: nil, count: FileTables.shards) }
        if let known = indexPages[shard] { return known }
        let pages = IndexPages(file.tables.indexes(of: table))
        indexPages[shard] = pages
        return pages
    }

    /// Forgets the addresses of index blocks and list chunks: the transaction or its content is another one.
    func forgetPages() {
        madeListPages?.move(to: handle)
        madeKeyPages?.move(to: handle)
        for pages in indexPages { pages?.invalidate() }
    }

    /// Reads another version from now on.
    ///
    /// The old one lives as long as another owner holds it.
    func move(to next: ReadTransaction) {
        reader = next
        isReaderShared = false
        knownRecent = nil
        forgetPages()
    }

    /// Reads a version that another source is about to leave, the first time or after ``close()``.
    func takeOver(_ left: ReadTransaction, from other: SnapshotSource) {
        damage = nil
        move(to: left)
        // They are in pages of the version, which stay as long as it is held.
        knownRecent = other.knownRecent
    }

    func close() {
        reader = nil
        knownRecent = nil
        forgetPages()
    }

    /// The recent nodes of the committed version.
    var recent: DeltaBuffer {
        if let knownRecent { return knownRecent }
        guard let reader else { return .none }
        do throws(StorageError) {
            let nodes = try DeltaBuffer.read(reader.handle)
            knownRecent = nodes
            return nodes
        } catch {
            note(error)
            return .none
        }
    }

    /// The changes since an earlier version; unreadable parts count as changed.
    func traces(since version: UInt64) -> HistoryLog.Traces {
        guard let reader else { return .all }
        do throws(StorageError) {
            return try HistoryLog.traces(
                after: version, through: reader.version, in: file.tables.history, recent,
                reader.handle)
        } catch {
            note(error)
            return .all
        }
    }

    /// A node of the tail as of the committed version.
    func tailNode(_ key: UInt64) -> UnsafeRawBufferPointer? {
        recent.find(.tail, key) ?? get(file.tables.tail, key)
    }

    /// Reads the committed version; nil when absent, damaged or closed.
    func get(_ table: Table, _ key: UInt64) -> UnsafeRawBufferPointer? {
        guard let reader else { return nil }
        do throws(StorageError) {
            return try reader.handle.get(table, key)
        } catch {
            note(error)
            return nil
        }
    }

    func note(_ error: StorageError) { if damage == nil { damage = error } }

    /// Throws if something in the file made no sense.
    func requireSound() throws(StorageError) { if let damage { throw damage } }

    func noteDamage(_ what: String) {
        note(StorageError(.damaged, call: what, file: file.path))
    }
}
