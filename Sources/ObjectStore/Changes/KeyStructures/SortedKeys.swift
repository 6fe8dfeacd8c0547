import ColumnStorage

/// The keys of a sorted observed query: a sequence in an order that each call passes as an argument.
///
/// The order is an argument because it reads values: rows that a commit has changed are found with the old version's
/// values and inserted with the new version's. Unchanged rows have the same order and the same codes in both versions,
/// so the codes are stored. Keys are stored in chunks with a tree of counts over them. Search, rank, insertion and
/// removal take time in proportion to the logarithm of the length; insertion and removal also move keys inside one
/// chunk. Each key takes 16 bytes.
struct SortedKeys {
    private static let chunkLimit = 512
    private var chunks: [[CodedKey]] = []
    private var counts = FenwickTree()

    var count: Int { counts.total }

    /// The first key; nil if the sequence is empty.
    var first: ObjectKey? { chunks.first?.first?.key }

    init() {}

    /// Creates a sequence from keys that are already sorted.
    init(inOrder keys: [CodedKey]) {
        let size = Self.chunkLimit / 2
        chunks = stride(from: 0, to: keys.count, by: size).map {
            Array(keys[$0..<min($0 + size, keys.count)])
        }
        counts = FenwickTree(chunks.map(\.count))
    }

    /// Returns the position of a member; nil if the key is not in the sequence.
    func position(of key: ObjectKey, by order: CodedOrder) throws -> Int? {
        let location = try location(of: order.coded(key), by: order)
        guard location.chunk < chunks.count, location.offset < chunks[location.chunk].count,
            chunks[location.chunk][location.offset].key == key
        else { return nil }
        return counts.sum(before: location.chunk) + location.offset
    }

    /// Returns the key at a position below `count`.
    func key(at position: Int) -> ObjectKey {
        let (chunk, offset) = counts.locate(position)
        return chunks[chunk][offset].key
    }

    /// Inserts a key, and returns its position.
    @discardableResult  // because: later insertions may change it
    mutating func insert(_ key: ObjectKey, by order: CodedOrder) throws -> Int {
        let key = try order.coded(key)
        guard !chunks.isEmpty else {
            chunks = [[key]]
            counts = FenwickTree([1])
            return 0
        }
        var location = try location(of: key, by: order)
        if location.chunk == chunks.count {
            location = (chunks.count - 1, chunks[chunks.count - 1].count)
        }
        let position = counts.sum(before: location.chunk) + location.offset
        chunks[location.chunk].insert(key, at: location.offset)
        if chunks[location.chunk].count <= Self.chunkLimit {
            counts.add(1, to: location.chunk)
        } else {
            let half = chunks[location.chunk].count / 2
            let upper = Array(chunks[location.chunk][half...])
            chunks[location.chunk].removeSubrange(half...)
            chunks.insert(upper, at: location.chunk + 1)
            counts = FenwickTree(chunks.map(\.count))
        }
        return position
    }

    mutating func remove(at position: Int) {
        let (chunk, offset) = counts.locate(position)
        chunks[chunk].remove(at: offset)
        if chunks[chunk].isEmpty {
            chunks.remove(at: chunk)
            counts = FenwickTree(chunks.map(\.count))
        } else {
            counts.add(-1, to: chunk)
        }
    }

    /// Returns all keys in order.
    func keys() -> [ObjectKey] { chunks.joined().map(\.key) }

    /// Returns the number of keys before a position.
    ///
    /// `precedes` is true for these keys, which are the first ones, and false for all others.
    func partitioningPosition(_ precedes: (ObjectKey) -> Bool) -> Int {
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if precedes(chunks[middle][chunks[middle].count - 1].key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < chunks.count else { return count }
        var first = 0
        var last = chunks[low].count
        while first < last {
            let middle = (first + last) / 2
            if precedes(chunks[low][middle].key) { first = middle + 1 } else { last = middle }
        }
        return counts.sum(before: low) + first
    }

    /// Returns the position of the first key that does not precede `key`.
    private func location(of key: CodedKey, by order: CodedOrder) throws -> (
        chunk: Int, offset: Int
    ) {
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if try order.precedes(chunks[middle][chunks[middle].count - 1], key) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < chunks.count else { return (low, 0) }
        var first = 0
        var last = chunks[low].count
        while first < last {
            let middle = (first + last) / 2
            if try order.precedes(chunks[low][middle], key) {
                first = middle + 1
            } else {
                last = middle
            }
        }
        return (low, first)
    }
}
