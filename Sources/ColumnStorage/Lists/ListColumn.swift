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
/// Reads find chunks through small directories, kept for the lists read last until the snapshot
/// moves. A write holds the lists that it touches in memory; reads of the same snapshot see them
/// there. Before the commit: ``flush()``; to forget them: ``cancel()``. Not thread-safe; belongs to
/// its snapshot.
package final class ListColumn {
    let pages: ListPages
    let prefix: UInt32
    let elementKind: ColumnKind
    let holdsWords: Bool
    /// The keys of maps, which go where the values go; nil for lists and sets.
    let keys: ListColumn?
    let scratchKey: IntIndexKey
    var edited: [Int64: EditedList] = [:]
    /// What was done to the lists that have been put away, by owner.
    package private(set) var recordedEdits: [Int64: CollectionEdits] = [:]
    /// Elements added since the last flush, to bound memory.
    var pendingElements = 0
    private var directories: [ListDirectory]

    /// The lists of a column.
    package init(
        table: TableID, column: ColumnID, elementKind: ColumnKind, pages: ListPages,
        keys: ListColumn? = nil
    ) {
        self.pages = pages
        self.keys = keys
        self.elementKind = elementKind
        holdsWords = elementKind.isStoredAsWord
        prefix = IndexKey.prefix(table, column)
        scratchKey = IntIndexKey(prefix: prefix)
        directories = (0..<8).map { _ in ListDirectory() }
    }

    deinit { scratchKey.deallocate() }

    /// Keeps what was done to a list that is put away.
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

    /// The stored chunks of a list.
    func directory(_ owner: Int64) throws(StorageError) -> ListDirectory {
        let directory = directories[Int(truncatingIfNeeded: owner) & 7]
        if directory.generation == pages.generation, directory.owner == owner { return directory }
        try fill(directory, owner)
        return directory
    }

    private func fill(_ directory: ListDirectory, _ owner: Int64) throws(StorageError) {
        let transaction = try pages.transaction()
        directory.reset()
        let cursor = try transaction.cursor(pages.table)
        var entry = try cursor.setRange(scratchKey.make(IntEntry(value: owner, key: .min)))
        while let found = entry, IndexKey.hasPrefix(found.key, prefix) {
            guard let place = IntIndexKey.entry(found.key) else { throw damaged(transaction) }
            guard place.value == owner else { break }
            guard let chunk = ListChunk(found.value, words: holdsWords) else {
                throw damaged(transaction)
            }
            directory.append(label: place.key, chunk)
            entry = try cursor.next()
        }
        directory.owner = owner
        directory.generation = pages.generation
    }
}

/// Where the chunks of one list lie in the map.
final class ListDirectory {
    struct Place {
        var label: Int64
        var first: Int
        var chunk: ListChunk
    }

    var owner: Int64 = -1
    var generation: UInt64 = 0
    private(set) var places: [Place] = []
    private(set) var count = 0

    func reset() {
        generation = 0
        places.removeAll(keepingCapacity: places.count < 64)
        count = 0
    }

    func append(label: Int64, _ chunk: ListChunk) {
        places.append(Place(label: label, first: count, chunk: chunk))
        count += chunk.count
    }

    /// The chunk with an element, which must exist.
    func locate(_ position: Int) -> Int {
        var low = 0
        var length = places.count
        while length > 1 {
            let half = length / 2
            if places[low + half].first <= position { low += half }
            length -= half
        }
        return low
    }
}
