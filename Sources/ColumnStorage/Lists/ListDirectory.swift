/// The addresses of one list's chunks in the map, as far as reads have needed them.
///
/// They are known from the first chunk forwards, and from the last one backwards.
final class ListDirectory {
    struct Place {
        var label: Int64
        /// The position of the chunk's first element.
        var first: Int
        var chunk: ListChunk
    }

    var owner: Int64 = -1
    var generation: UInt64 = 0
    /// The chunks from the first one on, in order.
    private(set) var places: [Place] = []
    /// The number of elements in `places`.
    private(set) var count = 0
    /// Whether `places` contains all chunks.
    var isWhole = false
    /// Some of the last chunks, the last one first.
    var lastPlaces: [Place] = []

    /// Clears the directory for another list, or for this list at another version.
    func reset(_ owner: Int64, _ generation: UInt64) {
        self.owner = owner
        self.generation = generation
        places.removeAll(keepingCapacity: places.count < 64)
        lastPlaces.removeAll(keepingCapacity: true)
        count = 0
        isWhole = false
    }

    func append(label: Int64, _ chunk: ListChunk) {
        places.append(Place(label: label, first: count, chunk: chunk))
        count += chunk.count
    }

    /// Returns the chunk with an element among those known from the first one on.
    func place(_ position: Int) -> Place? {
        guard position < count else { return nil }
        var low = 0
        var length = places.count
        while length > 1 {
            let half = length / 2
            if places[low + half].first <= position { low += half }
            length -= half
        }
        return places[low]
    }

    /// Returns the chunk with an element among the last chunks.
    func lastPlace(_ position: Int) -> Place? {
        guard let place = lastPlaces.first(where: { $0.first <= position }),
            position - place.first < place.chunk.count
        else { return nil }
        return place
    }
}
