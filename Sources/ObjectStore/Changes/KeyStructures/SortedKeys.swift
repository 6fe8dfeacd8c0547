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

/// Counts of consecutive buckets with prefix sums, updates and searches in logarithmic time.
///
/// In the key structures, each count is the size of one bucket of keys. Finding a rank or a position takes time in
/// proportion to the logarithm of the number of buckets, plus the work inside one bucket.
struct FenwickTree {
    /// `nodes[i]` (1-based) holds the sum of the `i & -i` counts that end at bucket `i - 1`.
    private var nodes: [Int] = [0]
    private(set) var total = 0

    var bucketCount: Int { nodes.count - 1 }

    init() {}

    /// Builds the tree in linear time.
    init(_ counts: some Sequence<Int>) {
        nodes.append(contentsOf: counts)
        total = nodes.reduce(0, +)
        for index in nodes.indices.dropFirst() {
            let parent = index + (index & -index)
            if parent < nodes.count { nodes[parent] += nodes[index] }
        }
    }

    /// Adds a bucket at the end.
    mutating func append(_ count: Int) {
        let index = nodes.count
        // The new node covers (index - lowbit, index]: all its buckets but the last one exist already.
        let covered = sum(before: index - 1) - sum(before: index - (index & -index))
        nodes.append(covered + count)
        total += count
    }

    mutating func add(_ difference: Int, to bucket: Int) {
        var index = bucket + 1
        while index < nodes.count {
            nodes[index] += difference
            index += index & -index
        }
        total += difference
    }

    /// Returns the sum of the counts of all buckets before `bucket`.
    func sum(before bucket: Int) -> Int {
        var sum = 0
        var index = bucket
        while index > 0 {
            sum += nodes[index]
            index -= index & -index
        }
        return sum
    }

    /// Returns the bucket that holds the element at `position`, and the element's offset in it.
    func locate(_ position: Int) -> (bucket: Int, offset: Int) {
        var bucket = 0
        var rest = position
        var step = bucketCount == 0 ? 0 : 1 << (Int.bitWidth - 1 - bucketCount.leadingZeroBitCount)
        while step > 0 {
            let next = bucket + step
            if next < nodes.count, nodes[next] <= rest {
                bucket = next
                rest -= nodes[next]
            }
            step >>= 1
        }
        return (bucket, rest)
    }
}

/// A key and its code, a number with the same order as the value by which the keys are sorted.
struct CodedKey {
    var code: UInt64
    var key: ObjectKey
}

/// A total order of keys: by code, then by a comparison of the keys with equal codes.
///
/// Comparing codes reads no values. A structure that stores the codes beside the keys reads only the values of the key
/// that it looks up and of the keys with equal codes. (PostgreSQL calls such codes abbreviated keys.)
struct CodedOrder {
    /// Returns the code of a key; the key with the smaller code comes first.
    let code: (ObjectKey) throws -> UInt64
    /// Whether one of two keys with equal codes precedes the other.
    let precedesAmongEqual: (ObjectKey, ObjectKey) throws -> Bool

    /// The ascending order of keys, from the oldest to the newest object.
    static var byKey: CodedOrder {
        CodedOrder(code: { SortCode.of($0.rawValue) }, precedesAmongEqual: { _, _ in false })
    }

    func coded(_ key: ObjectKey) throws -> CodedKey { try CodedKey(code: code(key), key: key) }

    /// Returns whether one key precedes another.
    func precedes(_ left: CodedKey, _ right: CodedKey) throws -> Bool {
        try left.code == right.code
            ? precedesAmongEqual(left.key, right.key) : left.code < right.code
    }

    /// Returns whether one key precedes another.
    func precedes(_ left: ObjectKey, _ right: ObjectKey) throws -> Bool {
        try precedes(coded(left), coded(right))
    }

    /// Sorts keys; each value is read once if no codes are equal.
    func sorted(_ keys: [ObjectKey]) throws -> [CodedKey] {
        try keys.map(coded).sorted(by: precedes)
    }
}
