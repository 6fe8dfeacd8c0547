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
