import LMDBStorage

/// All lists of one list column in one snapshot; also all sets of a set column, and the values of all maps of a map
/// column.
///
/// A set is a list that its owner keeps sorted. A map has its keys in a separate column, ``keys``, at the same
/// positions as its values.
///
/// A short list is one chunk in the row of its owner; see ``InlineLists``. A long list is a sequence of chunks in the
/// file's list table, under (table, column, owner, label); labels ascend with gaps, so a chunk can be divided without
/// changes to the others. A list that has become long stays so until all of its elements are removed.
///
/// Reads find the chunks of long lists through directories. The directories of the lists that were read last are kept
/// until the snapshot moves, and filled on demand. A write keeps changed long lists in memory, where reads of the same
/// snapshot see them. Call ``flush()`` before the commit, or ``cancel()`` to discard the changes. The object is not
/// thread-safe; it belongs to its snapshot.
package final class ListColumn {
    let pages: ListPages
    let prefix: UInt32
    let elementKind: ColumnKind
    let holdsWords: Bool
    /// The column of a map's keys, which are inserted and removed together with its values; nil for lists and sets.
    let keys: ListColumn?
    /// The lists in the rows of their owners; nil if all lists are in chunks.
    let inline: InlineLists?
    /// The reader of the owners, which has this column; nil for a column without a table.
    // because: each ListReader keeps it.
    unowned(unsafe) let owners: TableReader?
    /// The memory for the changes of a short list.
    var scratch: UnpackedChunk
    /// The memory for keys of chunks.
    private let key: IntIndexKey
    var edited: [Int64: EditedList] = [:]
    /// The edits of the flushed lists.
    var recordedEdits = RecordedEdits()
    /// The memory of the changes since the last flush, and the memory from which they are stored early.
    var pendingBytes = 0
    var bufferLimit = 0
    /// The number of flushes; after a flush, counts that were passed to writers may be out of date.
    var flushCount = 0
    private var directories: [ListDirectory]
    /// Returns the length of an owner's list according to the owner's column.
    private let length: ((ObjectKey) throws(StorageError) -> Int?)?

    /// The maximum number of chunks that a read searches from the end before it searches from the start.
    private static let lastChunkLimit = 16

    /// Creates the lists of a column; reads near the end of a long list are faster if its length is known.
    package init(
        table: TableID, column: ColumnID, elementKind: ColumnKind, pages: ListPages,
        keys: ListColumn? = nil, inline: InlineLists? = nil, owners: TableReader? = nil,
        length: ((ObjectKey) throws(StorageError) -> Int?)? = nil
    ) {
        self.length = length
        self.pages = pages
        self.keys = keys
        self.inline = inline
        self.owners = owners
        self.elementKind = elementKind
        holdsWords = elementKind.isStoredAsWord
        scratch = UnpackedChunk(words: holdsWords)
        prefix = IndexKey.prefix(table, column)
        key = IntIndexKey(prefix: prefix)
        directories = (0..<8).map { _ in ListDirectory() }
    }

    deinit { key.deallocate() }

    /// Returns the key of the chunk of an owner's list that has a label; valid until the next call.
    func chunkKey(_ owner: Int64, _ label: Int64) -> UnsafeRawBufferPointer {
        key.position(of: IntEntry(value: owner, key: label))
    }

    func damaged(_ transaction: TransactionHandle) -> StorageError {
        StorageError(.damaged, call: "reading a list", file: transaction.file)
    }

    /// Returns a list for reading, which follows the snapshot and includes the changes of its write.
    package func reader(_ owner: ObjectKey) -> ListReader { ListReader(self, owner) }

    /// Returns a list for writing.
    ///
    /// `count` is the count in the owner's column; passing it saves a search.
    package func writer(_ owner: ObjectKey, count: Int? = nil) -> ListWriter {
        ListWriter(self, owner, count: count)
    }

    /// Whether all elements of a list are in the row of its owner.
    func isInRow(_ owner: Int64) throws(StorageError) -> Bool {
        if case .chunks = try place(owner) { return false }
        return true
    }

    /// Returns where the elements of a list are stored.
    @inline(__always)
    func place(_ owner: Int64) throws(StorageError) -> InlineLists.Place {
        guard let inline else { return .chunks }
        return try inline.place(owner, words: holdsWords)
    }

    /// Returns the stored chunks of a list.
    func chunks(of owner: Int64) throws(StorageError) -> [ListDirectory.StoredChunk] {
        switch try place(owner) {
        case .nowhere: []
        case .row(let chunk): [ListDirectory.StoredChunk(label: 0, first: 0, chunk: chunk)]
        case .chunks: try directory(owner).chunks
        }
    }

    /// Returns the directory of all chunks of a long list.
    func directory(_ owner: Int64) throws(StorageError) -> ListDirectory {
        let directory = known(owner)
        try extend(directory, owner, past: .max)
        return directory
    }

    /// Returns the stored chunk with an element; nil past the end.
    ///
    /// Reads the chunks before it, once in a version, unless it is one of the last chunks.
    func chunk(
        _ owner: Int64, at position: Int
    ) throws(StorageError) -> ListDirectory.StoredChunk? {
        let directory = known(owner)
        if let found = directory.chunk(at: position) { return found }
        if directory.isComplete { return nil }
        if let found = try lastChunk(directory, owner, at: position) { return found }
        try extend(directory, owner, past: position)
        return directory.chunk(at: position)
    }

    /// Returns the directory of a list, with the chunk addresses known so far.
    func known(_ owner: Int64) -> ListDirectory {
        let directory = directories[Int(truncatingIfNeeded: owner) & 7]
        if directory.generation != pages.generation || directory.owner != owner {
            directory.reset(owner, pages.generation)
        }
        return directory
    }

    /// Adds the chunks up to a position to a directory.
    private func extend(
        _ directory: ListDirectory, _ owner: Int64, past position: Int
    ) throws(StorageError) {
        guard !directory.isComplete, directory.count <= position else { return }
        let transaction = try pages.transaction()
        let cursor = try transaction.cursor(pages.table)
        let next = directory.chunks.last.map { $0.label &+ 1 } ?? .min
        var entry = try cursor.setRange(chunkKey(owner, next))
        while let found = entry, let (label, chunk) = try chunk(found, owner, transaction) {
            directory.append(label: label, chunk)
            try Interruption.step(16)
            if directory.count > position { return }
            entry = try cursor.next()
        }
        directory.didReachEnd()
    }

    /// Returns the chunk with an element if it is one of the last chunks, which are found from the end.
    private func lastChunk(
        _ directory: ListDirectory, _ owner: Int64, at position: Int
    ) throws(StorageError) -> ListDirectory.StoredChunk? {
        if let known = directory.lastChunk(at: position) { return known }
        guard let length = try length?(ObjectKey(rawValue: owner)), position < length else {
            return nil
        }
        let transaction = try pages.transaction()
        let cursor = try transaction.cursor(pages.table)
        let behind = chunkKey(owner, .max)
        var entry = try cursor.before(cursor.setRange(behind))
        directory.restartFromEnd(length: length)
        while let found = entry, directory.lastChunks.count < Self.lastChunkLimit,
            let (label, chunk) = try chunk(found, owner, transaction)
        {
            directory.prepend(label: label, chunk)
            if directory.lastStart <= position { break }
            entry = try cursor.previous()
        }
        return directory.lastChunk(at: position)
    }

    /// Returns the chunk of an entry; nil if it does not belong to this list.
    private func chunk(
        _ entry: Entry, _ owner: Int64, _ transaction: TransactionHandle
    ) throws(StorageError) -> (label: Int64, ListChunk)? {
        guard IndexKey.hasPrefix(entry.key, prefix) else { return nil }
        guard let label = IntIndexKey.entry(entry.key) else { throw damaged(transaction) }
        guard label.value == owner else { return nil }
        guard let chunk = ListChunk(entry.value, words: holdsWords) else {
            throw damaged(transaction)
        }
        return (label.key, chunk)
    }
}

/// The addresses of one list's chunks in the map, as far as reads have needed them.
///
/// They are known from the first chunk forwards, and from the last one backwards.
final class ListDirectory {
    /// A chunk in the file.
    struct StoredChunk {
        var label: Int64
        /// The position of the chunk's first element.
        var first: Int
        var chunk: ListChunk
    }

    private(set) var owner: Int64 = -1
    private(set) var generation: UInt64 = 0
    /// The chunks from the first one on, in order.
    private(set) var chunks: [StoredChunk] = []
    /// The number of elements in `chunks`.
    private(set) var count = 0
    /// Whether `chunks` contains all chunks.
    private(set) var isComplete = false
    /// Some of the last chunks, the last one first.
    private(set) var lastChunks: [StoredChunk] = []
    /// The position of the first element that `lastChunks` contains.
    private(set) var lastStart = 0

    /// Clears the directory for another list, or for this list at another version.
    func reset(_ owner: Int64, _ generation: UInt64) {
        self.owner = owner
        self.generation = generation
        chunks.removeAll(keepingCapacity: chunks.count < 64)
        count = 0
        isComplete = false
        restartFromEnd(length: 0)
    }

    func append(label: Int64, _ chunk: ListChunk) {
        assert(!isComplete, "no chunk follows the last one")
        chunks.append(StoredChunk(label: label, first: count, chunk: chunk))
        count += chunk.count
    }

    /// Marks that no chunk follows the appended ones.
    func didReachEnd() { isComplete = true }

    /// Discards the last chunks; the next ones are read from the end of a list with this many elements.
    func restartFromEnd(length: Int) {
        lastChunks.removeAll(keepingCapacity: true)
        lastStart = length
    }

    /// Adds the chunk before the known last chunks.
    func prepend(label: Int64, _ chunk: ListChunk) {
        lastStart -= chunk.count
        lastChunks.append(StoredChunk(label: label, first: lastStart, chunk: chunk))
    }

    /// Returns the chunk with an element among those known from the first one on.
    func chunk(at position: Int) -> StoredChunk? {
        guard position < count else { return nil }
        var low = 0
        var length = chunks.count
        while length > 1 {
            let half = length / 2
            if chunks[low + half].first <= position { low += half }
            length -= half
        }
        return chunks[low]
    }

    /// Returns the chunk with an element among the last chunks.
    func lastChunk(at position: Int) -> StoredChunk? {
        guard let found = lastChunks.first(where: { $0.first <= position }),
            position - found.first < found.chunk.count
        else { return nil }
        return found
    }
}

/// One element of a list.
package enum ListElement: Hashable, Sendable {
    /// Null, in lists of optional elements.
    case null
    /// A bool (0 or 1), int, date, or the raw key of a linked row.
    case int(Int64)
    /// A single-precision number.
    case float(Float)
    /// A double-precision number.
    case double(Double)
    /// The bytes of a string, data, or a value of 12 or 16 bytes.
    case bytes([UInt8])
}

extension ListElement {
    /// Returns whether both elements are of the same kind and equal; numbers are compared by ``RealOrder``.
    package static func == (left: ListElement, right: ListElement) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.int(let left), .int(let right)): left == right
        case (.float(let left), .float(let right)): RealOrder.isEqual(Double(left), Double(right))
        case (.double(let left), .double(let right)): RealOrder.isEqual(left, right)
        case (.bytes(let left), .bytes(let right)): left == right
        default: false
        }
    }

    /// Hashes the element, with equal hashes for equal elements.
    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .int(let value):
            hasher.combine(1 as UInt8)
            hasher.combine(value)
        case .float(let value):
            hasher.combine(2 as UInt8)
            hasher.combine(RealOrder.canonical(Double(value)).bitPattern)
        case .double(let value):
            hasher.combine(3 as UInt8)
            hasher.combine(RealOrder.canonical(value).bitPattern)
        case .bytes(let value):
            hasher.combine(4 as UInt8)
            hasher.combine(value)
        }
    }
}

extension ColumnKind {
    /// Whether elements of this kind are stored as 64-bit words rather than as bytes.
    var isStoredAsWord: Bool {
        switch self {
        case .bool, .int, .float, .double, .link, .list: true
        case .string, .data, .bytes12, .bytes16: false
        }
    }

    func element(word: Int64) -> ListElement {
        switch self {
        case .float: .float(Float(bitPattern: UInt32(truncatingIfNeeded: word)))
        case .double: .double(Double(bitPattern: UInt64(bitPattern: word)))
        default: .int(word)
        }
    }
}

extension ListElement {
    /// The element as a word; nil for null and bytes.
    var word: Int64? {
        switch self {
        case .int(let value): value
        case .float(let value): Int64(value.bitPattern)
        case .double(let value): Int64(bitPattern: value.bitPattern)
        case .null, .bytes: nil
        }
    }
}

/// The LMDB table of all lists of one snapshot, the transaction to read it with, and whether the known addresses of its
/// pages are still valid.
///
/// Each snapshot has one such object, and calls ``move(to:)`` when it moves to another version.
package final class ListPages {
    let table: Table
    private let state: UnsafeMutablePointer<State>

    private struct State {
        var transaction: TransactionHandle?
        var generation: UInt64 = 1
    }

    /// Creates the pages of the table of list chunks, without a transaction to read them.
    package init(_ table: Table) {
        self.table = table
        state = .allocate(capacity: 1)
        state.initialize(to: State())
    }

    deinit {
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Sets the transaction for reads, and invalidates all known addresses.
    ///
    /// Called when a snapshot begins, advances, and begins or ends a write; called with nil when the snapshot closes.
    package func move(to transaction: TransactionHandle?) {
        state.pointee.transaction = transaction
        state.pointee.generation &+= 1
    }

    /// Discards the addresses of chunks, after a write to the table.
    func invalidate() { state.pointee.generation &+= 1 }

    @inline(__always) var generation: UInt64 { state.pointee.generation }

    func transaction() throws(StorageError) -> TransactionHandle {
        guard let transaction = state.pointee.transaction else {
            throw StorageError(.closed, call: "reading a list", file: "")
        }
        return transaction
    }
}
