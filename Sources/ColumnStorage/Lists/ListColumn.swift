import LMDBStorage

/// All lists of one list column, as one snapshot sees them; also all sets of a set column, and the values
/// of all maps of a map column.
///
/// A set is a list whose owner keeps it in order. A map has its keys in a column of their own, ``keys``,
/// at the same positions as its values.
///
/// A list is a sequence of chunks in the file's list table, under (table, column, owner, label);
/// labels ascend with gaps, so that a chunk can be divided without touching the others. A list
/// without elements stores nothing.
///
/// Reads find chunks through directories. These are kept for the lists read last until the snapshot moves, and filled
/// as reads need them. A write holds the lists that it changes in memory; reads of the same snapshot see them there.
/// Call ``flush()`` before the commit, or ``cancel()`` to discard them. Not thread-safe; belongs to its snapshot.
package final class ListColumn {
    let pages: ListPages
    let prefix: UInt32
    let elementKind: ColumnKind
    let holdsWords: Bool
    /// The keys of maps, which go where the values go; nil for lists and sets.
    let keys: ListColumn?
    let scratchKey: IntIndexKey
    var edited: [Int64: EditedList] = [:]
    /// The edits of the lists that have been flushed, by owner.
    package private(set) var recordedEdits: [Int64: CollectionEdits] = [:]
    /// The memory of what has changed since the last flush.
    var pending = PendingMemory()
    /// How often changes were stored, after which the counts that writers were given may be out of date.
    var flushCount = 0
    private var directories: [ListDirectory]
    /// How long the list of an owner is, as the owner's column says it.
    private let length: ((ObjectKey) -> Int?)?

    /// So many chunks are looked at from the end before the list is walked from its start.
    private static let lastChunks = 16

    /// The lists of a column; reads near the end of a long list are faster where its length is known.
    package init(
        table: TableID, column: ColumnID, elementKind: ColumnKind, pages: ListPages,
        keys: ListColumn? = nil, length: ((ObjectKey) -> Int?)? = nil
    ) {
        self.length = length
        self.pages = pages
        self.keys = keys
        self.elementKind = elementKind
        holdsWords = elementKind.isStoredAsWord
        prefix = IndexKey.prefix(table, column)
        scratchKey = IntIndexKey(prefix: prefix)
        directories = (0..<8).map { _ in ListDirectory() }
    }

    deinit { scratchKey.deallocate() }

    /// Keeps the edits of a list that is flushed.
    func record(_ edits: CollectionEdits, _ owner: Int64) {
        guard !edits.isEmpty else { return }
        recordedEdits[owner, default: CollectionEdits()].append(later: edits)
    }

    func forgetEdits() { if !recordedEdits.isEmpty { recordedEdits = [:] } }

    func damaged(_ transaction: TransactionHandle) -> StorageError {
        StorageError(.damaged, call: "reading a list", file: transaction.file)
    }

    /// A list for reading: follows the snapshot, and sees what its write has done.
    package func reader(_ owner: ObjectKey) -> ListReader { ListReader(self, owner) }

    /// A list for writing.
    ///
    /// `count` is what the owner's column says, and saves a search.
    package func writer(_ owner: ObjectKey, count: Int? = nil) -> ListWriter {
        ListWriter(self, owner, count: count)
    }

    /// All stored chunks of a list.
    func directory(_ owner: Int64) throws(StorageError) -> ListDirectory {
        let directory = known(owner)
        try extend(directory, owner, past: .max)
        return directory
    }

    /// The stored chunk with an element; nil past the end.
    ///
    /// Costs a walk over the chunks before it, once in a version, unless it is one of the last.
    func place(_ owner: Int64, _ position: Int) throws(StorageError) -> ListDirectory.Place? {
        let directory = known(owner)
        if let place = directory.place(position) { return place }
        if directory.isWhole { return nil }
        if let place = try lastPlace(directory, owner, position) { return place }
        try extend(directory, owner, past: position)
        return directory.place(position)
    }

    /// The known addresses of the chunks of a list.
    func known(_ owner: Int64) -> ListDirectory {
        let directory = directories[Int(truncatingIfNeeded: owner) & 7]
        if directory.generation != pages.generation || directory.owner != owner {
            directory.reset(owner, pages.generation)
        }
        return directory
    }

    /// Makes the chunks up to a position known.
    private func extend(
        _ directory: ListDirectory, _ owner: Int64, past position: Int
    ) throws(StorageError) {
        guard !directory.isWhole, directory.count <= position else { return }
        let transaction = try pages.transaction()
        let cursor = try transaction.cursor(pages.table)
        let next = directory.places.last.map { $0.label &+ 1 } ?? .min
        var entry = try cursor.setRange(scratchKey.make(IntEntry(value: owner, key: next)))
        while let found = entry, let (label, chunk) = try chunk(found, owner, transaction) {
            directory.append(label: label, chunk)
            if directory.count > position { return }
            entry = try cursor.next()
        }
        directory.isWhole = true
    }

    /// The chunk with an element if it is one of the last, which are found from the end.
    private func lastPlace(
        _ directory: ListDirectory, _ owner: Int64, _ position: Int
    ) throws(StorageError) -> ListDirectory.Place? {
        if let known = directory.lastPlace(position) { return known }
        guard var first = length?(ObjectKey(rawValue: owner)), position < first else { return nil }
        let transaction = try pages.transaction()
        let cursor = try transaction.cursor(pages.table)
        let behind = scratchKey.make(IntEntry(value: owner, key: .max))
        var entry = try cursor.setRange(behind) == nil ? cursor.last() : cursor.previous()
        directory.lastPlaces.removeAll(keepingCapacity: true)
        while let found = entry, directory.lastPlaces.count < Self.lastChunks,
            let (label, chunk) = try chunk(found, owner, transaction)
        {
            first -= chunk.count
            directory.lastPlaces.append(.init(label: label, first: first, chunk: chunk))
            if first <= position { break }
            entry = try cursor.previous()
        }
        return directory.lastPlace(position)
    }

    /// The chunk of an entry; nil if it is not of this list.
    private func chunk(
        _ entry: Entry, _ owner: Int64, _ transaction: TransactionHandle
    ) throws(StorageError) -> (label: Int64, ListChunk)? {
        guard IndexKey.hasPrefix(entry.key, prefix) else { return nil }
        guard let place = IntIndexKey.entry(entry.key) else { throw damaged(transaction) }
        guard place.value == owner else { return nil }
        guard let chunk = ListChunk(entry.value, words: holdsWords) else {
            throw damaged(transaction)
        }
        return (place.key, chunk)
    }
}
