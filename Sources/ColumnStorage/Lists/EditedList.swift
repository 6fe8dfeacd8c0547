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
        chunks.insert(contentsOf: stored, at: 0)
        prefix = 0
    }

    /// Removes an empty chunk.
    func removeChunk(at index: Int) {
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
        edits.append(.remove(at: position, count: removed))
        count -= removed
    }

    /// Records an element that was replaced.
    func didSet(at position: Int) { edits.append(.set(at: position)) }

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
