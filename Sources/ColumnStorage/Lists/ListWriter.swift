import LMDBStorage

/// A writer of a list property of one row.
///
/// Positions must be in range: callers check them, and the writer traps.
///
/// A short list is changed in the row of its owner. The changes of a long list are collected in memory and stored once,
/// at the commit. Appending touches only the last chunk, independent of the length; a change in the middle takes time
/// for the chunk and for a pass over the list of chunks. Insertions return the new number of elements, which the caller stores in the owner's column; replacements and removals return
/// the old element for the caller's link index.
package struct ListWriter {
    let column: ListColumn
    let owner: Int64
    private let knownCount: Int?
    private let flushCount: Int

    init(_ column: ListColumn, _ owner: ObjectKey, count: Int?) {
        self.column = column
        self.owner = owner.rawValue
        knownCount = count
        flushCount = column.flushCount
    }

    private var list: EditedList {
        get throws(StorageError) {
            // The column may have stored a part of the list in the meantime: the values of maps store their keys too.
            try column.edit(owner, count: column.flushCount == flushCount ? knownCount : nil)
        }
    }

    /// A reader of the list in its current state.
    package var reader: ListReader { ListReader(column, ObjectKey(rawValue: owner)) }

    /// Stores earlier changes if they take too much memory; call it before a change begins.
    func makeSpace() throws(StorageError) { try column.makeSpace(keeping: owner) }

    /// The number of elements.
    package var count: Int {
        get throws(StorageError) {
            if column.edited[owner] == nil {
                switch try column.place(owner) {
                case .nowhere: return 0
                case .row(let chunk): return chunk.count
                case .chunks: break
                }
            }
            return try list.count
        }
    }

    /// Adds an element at the end.
    @discardableResult  // because: callers that add many elements read the count once
    package func append(_ element: ListElement) throws(StorageError) -> Int {
        let inline = try column.changeInline(owner) { content in
            content.append(element)
            return (content.count, CollectionEdits.Edit.insert(at: content.count - 1, count: 1))
        }
        if let inline { return inline }
        let list = try list
        let last = lastChunkWithSpace(list)
        if let word = element.word {
            list.chunks[last].content!.append(word: word)  // because: chunks with space are loaded
        } else {
            let end = list.chunks[last].count
            list.chunks[last].content!.insert(element, at: end)  // because: loaded too
        }
        list.didInsert(at: list.count)
        column.pendingBytes += element.pendingBytes
        return list.count
    }

    /// Adds elements at the end.
    @discardableResult  // because: callers may not need the count
    package func append(contentsOf elements: some Sequence<ListElement>) throws(StorageError) -> Int
    {
        var iterator = elements.makeIterator()
        var next = iterator.next()
        var count = try column.changeInline(owner) { content in
            let start = content.count
            while let element = next, content.fitsIntoChunk {
                content.append(element)
                next = iterator.next()
            }
            let edit = CollectionEdits.Edit.insert(at: start, count: content.count - start)
            return (content.count, edit)
        }
        while let element = next {
            count = try append(element)
            next = iterator.next()
        }
        if let count { return count }
        return try self.count
    }

    /// Adds words, such as links, at the end.
    func append(words: some Collection<Int64>) throws(StorageError) -> Int {
        guard !words.isEmpty else { return try count }
        var rest = words[...]
        let inline = try column.changeInline(owner) { content in
            let start = content.count
            // One element more than a chunk contains moves the list to chunks.
            let fitting = rest.prefix(ListChunk.maximumElements + 1 - start)
            content.append(words: fitting)
            rest = rest.dropFirst(fitting.count)
            let edit = CollectionEdits.Edit.insert(at: start, count: fitting.count)
            return (content.count, edit)
        }
        if let inline, rest.isEmpty { return inline }
        let list = try list
        let added = rest.count
        while !rest.isEmpty {
            let last = lastChunkWithSpace(list)
            let free = ListChunk.maximumElements - list.chunks[last].count
            // because: the last chunk was loaded when it was found to have space
            list.chunks[last].content!.append(words: rest.prefix(free))
            rest = rest.dropFirst(free)
        }
        list.didInsert(added, at: list.count)
        column.pendingBytes += added * 16
        return list.count
    }

    private func lastChunkWithSpace(_ list: EditedList) -> Int {
        if let last = list.chunks.last, last.content != nil,
            last.count < ListChunk.maximumElements
        {
            list.chunks[list.chunks.count - 1].isDirty = true
        } else if let last = list.chunks.last, last.content == nil,
            last.count < ListChunk.maximumElements / 2,
            (try? column.load(list, owner, list.chunks.count - 1)) != nil
        {
            list.chunks[list.chunks.count - 1].isDirty = true
        } else {
            list.chunks.append(
                EditedList.Chunk(
                    label: nil, storedCount: 0, content: UnpackedChunk(words: column.holdsWords),
                    isDirty: true))
        }
        return list.chunks.count - 1
    }

    /// Inserts an element before the one at a position, or at the end.
    @discardableResult  // because: callers may not need the count
    package func insert(_ element: ListElement, at position: Int) throws(StorageError) -> Int {
        let inline = try column.changeInline(owner) { (content) throws(StorageError) in
            try require(position >= 0 && position <= content.count)
            content.insert(element, at: position)
            return (content.count, CollectionEdits.Edit.insert(at: position, count: 1))
        }
        if let inline { return inline }
        let list = try list
        try require(position >= 0 && position <= list.count)
        if position == list.count { return try append(element) }
        let (chunk, offset) = try open(list, position)
        list.chunks[chunk].content!.insert(element, at: offset)  // because: the chunk was loaded
        if list.chunks[chunk].count > ListColumn.divisionLimit {
            let middle = list.chunks[chunk].count / 2
            let rest = list.chunks[chunk].content!.split(at: middle)  // because: it was loaded
            list.chunks.insert(
                EditedList.Chunk(label: nil, storedCount: 0, content: rest, isDirty: true),
                at: chunk + 1)
        }
        list.didInsert(at: position)
        column.pendingBytes += element.pendingBytes
        return list.count
    }

    /// Replaces an element and returns the old one.
    @discardableResult  // because: only link indexes need it
    package func set(_ element: ListElement, at position: Int) throws(StorageError) -> ListElement {
        let inline = try column.changeInline(owner) { (content) throws(StorageError) in
            try require(position >= 0 && position < content.count)
            let old = content.element(position, column.elementKind)
            content.set(element, at: position)
            return (old, CollectionEdits.Edit.set(at: position))
        }
        if let inline { return inline }
        let list = try list
        try require(position >= 0 && position < list.count)
        let (chunk, offset) = try open(list, position)
        // because: the chunk was loaded, here and below.
        let old = list.chunks[chunk].content!.element(offset, column.elementKind)
        list.chunks[chunk].content!.set(element, at: offset)
        column.pendingBytes += element.pendingBytes
        list.didSet(at: position)
        return old
    }

    /// Removes an element and returns it.
    @discardableResult  // because: only link indexes need it
    package func remove(at position: Int) throws(StorageError) -> ListElement {
        let inline = try column.changeInline(owner) { (content) throws(StorageError) in
            try require(position >= 0 && position < content.count)
            let old = content.element(position, column.elementKind)
            content.remove(at: position)
            return (old, CollectionEdits.Edit.remove(at: position, count: 1))
        }
        if let inline { return inline }
        let list = try list
        try require(position >= 0 && position < list.count)
        let (chunk, offset) = try open(list, position)
        // because: the chunk was loaded, here and below.
        let old = list.chunks[chunk].content!.element(offset, column.elementKind)
        list.chunks[chunk].content!.remove(at: offset)
        if list.chunks[chunk].count == 0 {
            // The label of a new chunk depends on the previous chunk, which must be known when this one is removed.
            let known = list.chunks.count
            if chunk == 0 { try column.complete(list, owner) }
            let index = chunk + list.chunks.count - known
            list.removeChunk(at: index)
        }
        list.didRemove(at: position)
        return old
    }

    /// Returns the positions, ascending, of a word that occurs `number` times.
    ///
    /// The search begins in the chunks around the last change, because a write often removes the elements of a list in
    /// their order.
    func positions(of word: Int64, number: Int) throws(StorageError) -> [Int] {
        guard case .chunks = try column.place(owner) else {
            let elements = try reader.elements()
            return elements.indices.filter { elements[$0].word == word }
        }
        let list = try list
        try column.complete(list, owner)
        let nearest = list.locate(list.lastChange - 1)?.chunk ?? 0
        let around = max(0, nearest - 1)..<min(nearest + 2, list.chunks.count)
        let found = try positions(of: word, in: around, of: list)
        if found.count >= number { return found }
        return try positions(of: word, in: list.chunks.indices, of: list)
    }

    private func positions(
        of word: Int64, in chunks: Range<Int>, of list: EditedList
    ) throws(StorageError) -> [Int] {
        var found: [Int] = []
        var start = list.chunks[..<chunks.lowerBound].reduce(0) { $0 + $1.count }
        for index in chunks {
            let content = try column.content(list, owner, index)
            for offset in content.words.indices
            where content.words[offset] == word && !content.isNull(offset) {
                found.append(start + offset)
            }
            start += content.count
        }
        return found
    }

    /// Moves an element so that it is at `target` afterward.
    package func move(from position: Int, to target: Int) throws(StorageError) {
        let count = try count
        try require(position >= 0 && position < count && target >= 0 && target < count)
        if position == target { return }
        let inline: Void? = try column.changeInline(owner) { content in
            let element = content.element(position, column.elementKind)
            content.remove(at: position)
            content.insert(element, at: target)
            return ((), CollectionEdits.Edit.move(from: position, to: target))
        }
        if inline != nil { return }
        let list = try list
        let before = list.edits
        try insert(try remove(at: position), at: target)
        list.didMove(since: before, [(position, target)])
    }

    /// Exchanges two elements.
    package func swap(_ first: Int, _ second: Int) throws(StorageError) {
        if first == second { return }
        let (low, high) = (min(first, second), max(first, second))
        if case .row = try column.place(owner) {
            try move(from: low, to: high)
            if high - low > 1 { try move(from: high - 1, to: low) }
            return
        }
        guard let other = try reader.element(at: second) else {
            throw column.damaged(try column.pages.transaction())
        }
        let list = try list
        let before = list.edits
        try set(try set(other, at: first), at: second)
        list.didMove(since: before, [(low, high)] + (high - low > 1 ? [(high - 1, low)] : []))
    }

    /// Removes all elements.
    package func removeAll() throws(StorageError) {
        if case .chunks = try column.place(owner) {
            let list = try list
            if list.count > 0 { list.didRemove(list.count, at: 0) }
        }
        try column.removeAll(ObjectKey(rawValue: owner))
    }

    /// Throws `damaged` unless a position is in range.
    ///
    /// Callers check positions against the count in the row, so a position out of range means that the count is
    /// damaged.
    private func require(_ isInRange: Bool) throws(StorageError) {
        if !isInRange { throw column.damaged(try column.pages.transaction()) }
    }

    private func open(
        _ list: EditedList, _ position: Int
    ) throws(StorageError) -> (chunk: Int, offset: Int) {
        if position < list.prefix { try column.complete(list, owner) }
        guard let (chunk, offset) = list.locate(position - list.prefix) else {
            throw column.damaged(try column.pages.transaction())
        }
        try column.load(list, owner, chunk)
        list.chunks[chunk].isDirty = true
        return (chunk, offset)
    }
}

/// A list that a write has touched: the loaded chunks, and the number of elements before them.
///
/// Appending needs only the last chunk, so a list begins with that chunk and a `prefix`; all other changes first load
/// the list of all chunks.
final class EditedList {
    struct Chunk {
        /// The label of the stored chunk; nil for a new one.
        var label: Int64?
        /// The number of elements while `content` is not loaded.
        var storedCount: Int
        var content: UnpackedChunk?
        var isDirty: Bool

        var count: Int { content?.count ?? storedCount }
    }

    /// The number of elements in stored chunks that are not in `chunks`.
    private(set) var prefix: Int
    var chunks: [Chunk]
    /// The number of all elements.
    private(set) var count: Int
    /// The position of the element that was removed or replaced last.
    private(set) var lastChange = 0
    /// The labels of stored chunks that will be removed.
    private(set) var removedLabels: [Int64] = []
    /// The edits of the list since it was opened.
    private(set) var edits: CollectionEdits

    /// Creates a complete list.
    init(_ chunks: [Chunk], edits: CollectionEdits = CollectionEdits()) {
        prefix = 0
        self.chunks = chunks
        count = chunks.reduce(0) { $0 + $1.count }
        self.edits = edits
    }

    /// Creates a list of which only the last chunk is loaded.
    init(last: Chunk, count: Int) {
        prefix = count - last.count
        chunks = [last]
        self.count = count
        edits = CollectionEdits()
    }

    /// Adds the stored chunks before the loaded ones, which makes the list complete.
    func prepend(_ stored: [Chunk]) {
        assert(
            stored.reduce(0) { $0 + $1.count } == prefix,
            "the chunks before the loaded ones have the other elements")
        chunks.insert(contentsOf: stored, at: 0)
        prefix = 0
    }

    /// Removes an empty chunk.
    func removeChunk(at index: Int) {
        assert(chunks[index].count == 0, "a removed chunk is empty")
        if let label = chunks[index].label { removedLabels.append(label) }
        chunks.remove(at: index)
    }

    /// Returns the position of the first chunk with a label at or after a position.
    func endOfNewChunks(from position: Int) -> Int {
        chunks[position...].firstIndex { $0.label != nil } ?? chunks.count
    }

    // MARK: Edits of the chunks that have been made

    /// Records elements that were inserted into the chunks.
    func didInsert(_ inserted: Int = 1, at position: Int) {
        edits.append(.insert(at: position, count: inserted))
        count += inserted
    }

    /// Records elements that were removed from the chunks.
    func didRemove(_ removed: Int = 1, at position: Int) {
        assert(removed > 0 && removed <= count, "a list has the removed elements")
        edits.append(.remove(at: position, count: removed))
        count -= removed
        lastChange = position
    }

    /// Records an element that was replaced.
    func didSet(at position: Int) {
        edits.append(.set(at: position))
        lastChange = position
    }

    /// Records moves instead of the edits after `before`, which have the same result.
    func didMove(since before: CollectionEdits, _ moves: [(from: Int, to: Int)]) {
        edits = before
        for move in moves { edits.append(.move(from: move.from, to: move.to)) }
    }

    /// Returns the chunk with an element, and the element's offset in it.
    ///
    /// The list must be complete. Returns nil if the list has fewer elements than the row's count.
    func locate(_ position: Int) -> (chunk: Int, offset: Int)? {
        guard position >= 0 else { return nil }
        var rest = position
        for (index, chunk) in chunks.enumerated() {
            if rest < chunk.count { return (index, rest) }
            rest -= chunk.count
        }
        return nil
    }
}

/// The edits of the lists that a write has stored, by owner.
///
/// The edits of an owner without an entry are unknown. All edits become unknown if they take too much memory, as those of
/// very many short lists do, or if the write restores a row that it has deleted.
struct RecordedEdits: ~Copyable {
    private(set) var byOwner = JournaledMap<Int64, CollectionEdits>()
    private var bytes = 0
    private var isDropped = false

    /// The size in bytes of an entry without its edits, in a table that has just grown.
    private static let entryBytes = 160

    /// Adds the edits of a list that is stored, unless all edits then take more than `limit` bytes.
    mutating func record(_ edits: CollectionEdits, of owner: Int64, limit: Int) {
        guard !edits.isEmpty, !isDropped else { return }
        byOwner[owner, default: CollectionEdits()].append(later: edits)
        bytes += Self.entryBytes + edits.edits.count * MemoryLayout<CollectionEdits.Edit>.stride
        if bytes > limit { drop() }
    }

    /// Makes all edits of the write unknown.
    mutating func drop() {
        self = RecordedEdits()
        isDropped = true
    }

    /// Returns a mark of the present edits.
    mutating func mark() -> Int { byOwner.mark() }

    /// Reverts the edits after a mark.
    mutating func rollBack(to mark: Int) { if !isDropped { byOwner.rollBack(to: mark) } }

    /// Keeps the edits since the oldest mark.
    mutating func endMarks() { byOwner.endMarks() }

    /// Removes all edits after the write.
    mutating func removeAll() {
        if !byOwner.isEmpty || isDropped { self = RecordedEdits() }
    }
}
