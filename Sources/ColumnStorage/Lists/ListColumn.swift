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
