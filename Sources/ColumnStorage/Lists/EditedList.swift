/// A list that a write has touched: the chunks it has looked into, and how many elements lie before
/// them.
///
/// Appending needs only the last chunk, so a list starts with that one and a `prefix`; everything
/// else completes it first.
final class EditedList {
    struct Chunk {
        /// The stored chunk's label; nil for one that is new.
        var label: Int64?
        /// The number of elements while `content` is not loaded.
        var storedCount: Int
        var content: UnpackedChunk?
        var isDirty: Bool

        var count: Int { content?.count ?? storedCount }
    }

    /// Elements in stored chunks that are not in `chunks`.
    var prefix: Int
    var chunks: [Chunk]
    /// All elements.
    var count: Int
    /// Labels of stored chunks that are to go.
    var removedLabels: [Int64] = []
    /// The edits of the list since it was opened.
    var edits = CollectionEdits()

    init(prefix: Int, chunks: [Chunk], count: Int) {
        self.prefix = prefix
        self.chunks = chunks
        self.count = count
    }

    /// The chunk with an element, and the element's place in it.
    ///
    /// Only for complete lists. Nil where the list has fewer elements than the row says.
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
