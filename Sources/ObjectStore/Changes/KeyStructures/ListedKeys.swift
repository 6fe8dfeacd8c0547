import ColumnStorage

/// The keys of an observed list: a sequence in any order, in which a key may occur several times.
///
/// Keys are stored in chunks with a tree of counts over them. A filter finds the chunks that may contain a key, so that
/// looking up the key reads few other chunks. The filter takes two bytes for each key.
struct ListedKeys {
    private static let chunkLimit = 512

    private struct Chunk {
        var keys: [ObjectKey]
        /// The chunk's group in the filter.
        let group: Int
        /// The number of keys added to the group since it was cleared, including keys that were removed again.
        var recorded: Int
    }

    private var chunks: [Chunk] = []
    private var counts = FenwickTree()
    private var filter = KeyFilter(groups: 0)
    /// The index of the chunk of each group.
    private var chunkIndexes: [Int] = []
    private var freeGroups: [Int] = []

    var count: Int { counts.total }

    init(_ keys: [ObjectKey]) {
        let size = Self.chunkLimit / 2
        let number = (keys.count + size - 1) / size
        filter = KeyFilter(groups: number + number / 4)
        for start in stride(from: 0, to: keys.count, by: size) {
            let group = chunks.count
            chunks.append(
                Chunk(
                    keys: Array(keys[start..<min(start + size, keys.count)]), group: group,
                    recorded: 0
                )
            )
            record(chunks.count - 1)
        }
        order()
    }

    /// Adds all keys of a chunk to the filter; the chunk's group must be empty.
    private mutating func record(_ chunk: Int) {
        for key in chunks[chunk].keys { filter.add(key, to: chunks[chunk].group) }
        chunks[chunk].recorded = chunks[chunk].keys.count
    }

    private mutating func record(_ key: ObjectKey, in chunk: Int) {
        // Removed keys stay in the filter and make it less selective.
        if chunks[chunk].recorded >= 2 * Self.chunkLimit {
            filter.clear(chunks[chunk].group)
            record(chunk)
        } else {
            filter.add(key, to: chunks[chunk].group)
            chunks[chunk].recorded += 1
        }
    }

    /// Rebuilds the counts after a chunk was added or removed.
    private mutating func order() {
        counts = FenwickTree(chunks.map(\.keys.count))
        chunkIndexes = [Int](repeating: 0, count: filter.capacity)
        for (index, chunk) in chunks.enumerated() { chunkIndexes[chunk.group] = index }
        assert(chunks.allSatisfy { !$0.keys.isEmpty }, "no chunk is empty")
        assert(
            chunks.indices.allSatisfy { chunkIndexes[chunks[$0].group] == $0 },
            "no two chunks have the same group")
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
            record(newValue, in: chunk)
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
        if chunks[chunk].keys.count <= Self.chunkLimit {
            record(key, in: chunk)
            counts.add(1, to: chunk)
        } else {
            split(chunk)
        }
    }

    private mutating func split(_ chunk: Int) {
        guard
            let group = freeGroups.popLast()
                ?? (chunks.count < filter.capacity ? chunks.count : nil)
        else {
            // The new filter has space for a quarter more groups.
            self = ListedKeys(keys())
            return
        }
        let half = chunks[chunk].keys.count / 2
        let upper = Array(chunks[chunk].keys[half...])
        chunks[chunk].keys.removeSubrange(half...)
        filter.clear(chunks[chunk].group)
        record(chunk)
        chunks.insert(Chunk(keys: upper, group: group, recorded: 0), at: chunk + 1)
        record(chunk + 1)
        order()
    }

    mutating func remove(at position: Int) {
        let (chunk, offset) = counts.locate(position)
        chunks[chunk].keys.remove(at: offset)
        if chunks[chunk].keys.isEmpty {
            filter.clear(chunks[chunk].group)
            freeGroups.append(chunks[chunk].group)
            chunks.remove(at: chunk)
            order()
        } else {
            counts.add(-1, to: chunk)
        }
    }

    /// Applies the changes of the list.
    ///
    /// `key` reads one element of the new list; `all` reads all elements, which costs less after many changes. Returns
    /// false if an element cannot be read; the keys are then not valid.
    mutating func follow(
        _ changes: CollectionChangeSet, key: (Int) throws -> ObjectKey?,
        all: () throws -> [ObjectKey]
    ) throws -> Bool {
        if changes.insertions.count + changes.deletions.count > 64 + count / 8 {
            self = try ListedKeys(all())
            return true
        }
        for position in changes.deletions.reversed() { remove(at: position) }
        for position in changes.insertions {
            guard let key = try key(position) else { return false }
            insert(key, at: position)
        }
        for position in changes.modificationsNew {
            guard let key = try key(position) else { return false }
            self[position] = key
        }
        return true
    }

    /// Returns the positions of some keys, ascending, each with its key.
    func occurrences(of wanted: KeySet) -> [(position: Int, key: ObjectKey)] {
        guard !wanted.isEmpty, count > 0 else { return [] }
        var found: [(position: Int, key: ObjectKey)] = []
        // For many keys, a scan of all keys costs less than a search for each.
        if wanted.count > 256 {
            var start = 0
            for chunk in chunks {
                for (offset, key) in chunk.keys.enumerated() where wanted.contains(key) {
                    found.append((start + offset, key))
                }
                start += chunk.keys.count
            }
            return found
        }
        for key in wanted {
            for group in filter.groups(of: key) {
                let chunk = chunkIndexes[group]
                assert(chunks[chunk].group == group, "a free group has no keys in the filter")
                let keys = chunks[chunk].keys
                for offset in keys.indices where keys[offset] == key {
                    found.append((counts.sum(before: chunk) + offset, key))
                }
            }
        }
        return found.sorted { $0.position < $1.position }
    }

    /// Returns all keys in order.
    func keys() -> [ObjectKey] { chunks.flatMap(\.keys) }
}
