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
    var prefix: Int
    var chunks: [Chunk]
    /// The number of all elements.
    var count: Int
    /// The labels of stored chunks that will be removed.
    var removedLabels: [Int64] = []
    /// The edits of the list since it was opened.
    var edits = CollectionEdits()

    init(prefix: Int, chunks: [Chunk], count: Int) {
        self.prefix = prefix
        self.chunks = chunks
        self.count = count
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
