import ColumnStorage

/// The keys of an observed list: a sequence in any order, in which a key may stand several times.
///
/// Keys lie in chunks with a tree of counts over them. Each chunk knows roughly which keys it holds,
/// so that looking for a key passes over nearly all of the others; a byte for each key.
struct ListedKeys {
    private static let chunkLimit = 512
    private static let filterWords = 64

    private struct Chunk {
        var keys: [ObjectKey]
        /// Two bits are set for each key that is, or was, in the chunk.
        private var filter: [UInt64]

        init(_ keys: [ObjectKey]) {
            self.keys = keys
            filter = [UInt64](repeating: 0, count: filterWords)
            for key in keys { note(key) }
        }

        mutating func note(_ key: ObjectKey) {
            let (first, second) = Self.bits(key)
            filter[first >> 6] |= 1 << UInt64(first & 63)
            filter[second >> 6] |= 1 << UInt64(second & 63)
        }

        func mayContain(_ key: ObjectKey) -> Bool {
            let (first, second) = Self.bits(key)
            return filter[first >> 6] & 1 << UInt64(first & 63) != 0
                && filter[second >> 6] & 1 << UInt64(second & 63) != 0
        }

        private static func bits(_ key: ObjectKey) -> (Int, Int) {
            let mixed = UInt64(bitPattern: key.rawValue) &* 0x9E37_79B9_7F4A_7C15
            let mask = UInt64(filterWords * 64 - 1)
            return (Int(mixed >> 40 & mask), Int(mixed >> 20 & mask))
        }
    }

    private var chunks: [Chunk] = []
    private var counts = FenwickTree()

    var count: Int { counts.total }

    init(_ keys: [ObjectKey]) {
        let size = Self.chunkLimit / 2
        chunks = stride(from: 0, to: keys.count, by: size).map {
            Chunk(Array(keys[$0..<min($0 + size, keys.count)]))
        }
        counts = FenwickTree(chunks.map(\.keys.count))
    }

    /// The key at a position below `count`.
    subscript(position: Int) -> ObjectKey {
        get {
            let (chunk, offset) = counts.locate(position)
            return chunks[chunk].keys[offset]
        }
        set {
            let (chunk, offset) = counts.locate(position)
            chunks[chunk].keys[offset] = newValue
            chunks[chunk].note(newValue)
        }
    }

    mutating func insert(_ key: ObjectKey, at position: Int) {
        guard !chunks.isEmpty else {
            self = ListedKeys([key])
            return
        }
        let (chunk, offset): (Int, Int)
        if position == count {
            (chunk, offset) = (chunks.count - 1, chunks[chunks.count - 1].keys.count)
        } else {
            (chunk, offset) = counts.locate(position)
        }
        chunks[chunk].keys.insert(key, at: offset)
        chunks[chunk].note(key)
        if chunks[chunk].keys.count <= Self.chunkLimit {
            counts.add(1, to: chunk)
        } else {
            let keys = chunks[chunk].keys
            chunks[chunk] = Chunk(Array(keys[..<(keys.count / 2)]))
            chunks.insert(Chunk(Array(keys[(keys.count / 2)...])), at: chunk + 1)
            counts = FenwickTree(chunks.map(\.keys.count))
        }
    }

    mutating func remove(at position: Int) {
        let (chunk, offset) = counts.locate(position)
        chunks[chunk].keys.remove(at: offset)
        if chunks[chunk].keys.isEmpty {
            chunks.remove(at: chunk)
            counts = FenwickTree(chunks.map(\.keys.count))
        } else {
            counts.add(-1, to: chunk)
        }
    }

    /// Follows what has become of the list.
    ///
    /// `key` reads an element as it is now, `all` every one, where so much has changed that this costs less. False if an
    /// element cannot be read: the keys are of no use then.
    mutating func follow(
        _ changes: PositionChanges, key: (Int) -> ObjectKey?, all: () -> [ObjectKey]
    ) -> Bool {
        if changes.insertions.count + changes.deletions.count > 64 + count / 8 {
            self = ListedKeys(all())
            return true
        }
        for position in changes.deletions.reversed() { remove(at: position) }
        for position in changes.insertions {
            guard let key = key(position) else { return false }
            insert(key, at: position)
        }
        for position in changes.modificationsNew {
            guard let key = key(position) else { return false }
            self[position] = key
        }
        return true
    }

    /// Where some keys stand, ascending, with the key of each place.
    func places(of wanted: KeySet) -> [(position: Int, key: ObjectKey)] {
        guard !wanted.isEmpty, count > 0 else { return [] }
        // Looking for many keys costs more than looking at every key.
        let searches = wanted.count <= 256 ? Array(wanted) : nil
        var found: [(position: Int, key: ObjectKey)] = []
        var start = 0
        for chunk in chunks {
            if searches?.contains(where: chunk.mayContain) ?? true {
                for (offset, key) in chunk.keys.enumerated() where wanted.contains(key) {
                    found.append((start + offset, key))
                }
            }
            start += chunk.keys.count
        }
        return found
    }

    /// All keys in order.
    func keys() -> [ObjectKey] { chunks.flatMap(\.keys) }
}
