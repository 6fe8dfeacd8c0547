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

    var owner: Int64 = -1
    var generation: UInt64 = 0
    /// The chunks from the first one on, in order.
    private(set) var chunks: [StoredChunk] = []
    /// The number of elements in `chunks`.
    private(set) var count = 0
    /// Whether `chunks` contains all chunks.
    var isWhole = false
    /// Some of the last chunks, the last one first.
    var lastChunks: [StoredChunk] = []

    /// Clears the directory for another list, or for this list at another version.
    func reset(_ owner: Int64, _ generation: UInt64) {
        self.owner = owner
        self.generation = generation
        chunks.removeAll(keepingCapacity: chunks.count < 64)
        lastChunks.removeAll(keepingCapacity: true)
        count = 0
        isWhole = false
    }

    func append(label: Int64, _ chunk: ListChunk) {
        chunks.append(StoredChunk(label: label, first: count, chunk: chunk))
        count += chunk.count
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
