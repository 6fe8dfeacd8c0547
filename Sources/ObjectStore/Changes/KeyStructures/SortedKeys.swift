import ColumnStorage

/// The keys of a sorted observed query: a sequence in an order that each call passes as an argument.
///
/// The order is an argument because it reads values: rows that a commit has changed are found with the old version's
/// values and inserted with the new version's. Unchanged rows have the same order and the same codes in both versions,
/// so the codes are stored. Each key takes 16 bytes.
struct SortedKeys {
    private var keysInOrder: ChunkedArray<CodedKey>

    var count: Int { keysInOrder.count }

    /// The first key; nil if the sequence is empty.
    var first: ObjectKey? { keysInOrder.chunks.first?.first?.key }

    init() { keysInOrder = ChunkedArray([]) }

    /// Creates a sequence from keys that are already sorted.
    init(inOrder keys: [CodedKey]) { keysInOrder = ChunkedArray(keys) }

    /// Returns the position of a member; nil if the key is not in the sequence.
    func position(of key: ObjectKey, by order: CodedOrder) throws -> Int? {
        let location = try location(of: order.coded(key), by: order)
        guard keysInOrder.element(at: location)?.key == key else { return nil }
        return keysInOrder.position(of: location)
    }

    /// Returns the key at a position below `count`.
    func key(at position: Int) -> ObjectKey {
        let (chunk, offset) = keysInOrder.location(of: position)
        return keysInOrder.chunks[chunk][offset].key
    }

    /// Inserts a key, and returns its position.
    @discardableResult  // because: later insertions may change it
    mutating func insert(_ key: ObjectKey, by order: CodedOrder) throws -> Int {
        let key = try order.coded(key)
        let location = try location(of: key, by: order)
        let position = keysInOrder.position(of: location)
        _ = keysInOrder.insert(key, at: location)
        return position
    }

    mutating func remove(at position: Int) {
        _ = keysInOrder.remove(at: keysInOrder.location(of: position))
    }

    /// Returns all keys in order.
    func keys() -> [ObjectKey] { keysInOrder.chunks.joined().map(\.key) }

    /// Returns the number of keys before a position.
    ///
    /// `precedes` is true for these keys, which are the first ones, and false for all others.
    func partitioningPosition(_ precedes: (ObjectKey) -> Bool) -> Int {
        keysInOrder.position(of: keysInOrder.partition { precedes($0.key) })
    }

    /// Returns the location of the first key that does not precede `key`.
    private func location(
        of key: CodedKey, by order: CodedOrder
    ) throws -> ChunkedArray<CodedKey>.Location {
        try keysInOrder.partition { try order.precedes($0, key) }
    }
}

/// A sequence in chunks of at most eight kilobytes, with a tree of the sizes of the chunks.
///
/// No chunk is empty. Finding an element by its position or by a search, inserting and removing take time in proportion
/// to the logarithm of the length, and insertion and removal also move elements inside one chunk. A copy shares all
/// unchanged chunks.
struct ChunkedArray<Element> {
    /// The location of an element; the chunk after the last one for the end of the sequence.
    typealias Location = (chunk: Int, offset: Int)

    private(set) var chunks: [[Element]]
    private var counts: FenwickTree

    private static var limit: Int { 8_192 / MemoryLayout<Element>.stride }

    var count: Int { counts.total }

    init(_ elements: [Element]) {
        let size = Self.limit / 2
        chunks = stride(from: 0, to: elements.count, by: size).map {
            Array(elements[$0..<min($0 + size, elements.count)])
        }
        counts = FenwickTree(chunks.map(\.count))
    }

    /// Returns the element at a location; nil at the end of the sequence.
    func element(at location: Location) -> Element? {
        location.chunk < chunks.count ? chunks[location.chunk][location.offset] : nil
    }

    func position(of location: Location) -> Int {
        counts.sum(before: location.chunk) + location.offset
    }

    /// Returns the location of a position below `count`.
    func location(of position: Int) -> Location {
        let (chunk, offset) = counts.locate(position)
        return (chunk, offset)
    }

    /// Returns the location of the first element that does not precede a searched one.
    ///
    /// `precedes` is true for the elements before the location and false for all others.
    @inline(__always)
    func partition(_ precedes: (Element) throws -> Bool) rethrows -> Location {
        let chunk = try chunks.indices.partition { index in
            try precedes(chunks[index][chunks[index].count - 1])
        }
        guard chunk < chunks.count else { return (chunk, 0) }
        return try (chunk, chunks[chunk].indices.partition { try precedes(chunks[chunk][$0]) })
    }

    /// Inserts an element, and returns its chunk; nil if other chunks have changed.
    mutating func insert(_ element: Element, at location: Location) -> Int? {
        assert(counts.bucketCount == chunks.count, "each chunk has a count")
        guard !chunks.isEmpty else {
            self = ChunkedArray([element])
            return nil
        }
        let isEnd = location.chunk == chunks.count
        let chunk = isEnd ? location.chunk - 1 : location.chunk
        chunks[chunk].insert(element, at: isEnd ? chunks[chunk].count : location.offset)
        guard chunks[chunk].count > Self.limit else {
            counts.add(1, to: chunk)
            return chunk
        }
        let half = chunks[chunk].count / 2
        let upper = Array(chunks[chunk][half...])
        chunks[chunk].removeSubrange(half...)
        chunks.insert(upper, at: chunk + 1)
        counts = FenwickTree(chunks.map(\.count))
        return nil
    }

    /// Removes an element, and returns its chunk; nil if other chunks have changed.
    mutating func remove(at location: Location) -> Int? {
        assert(counts.bucketCount == chunks.count, "each chunk has a count")
        let chunk = location.chunk
        chunks[chunk].remove(at: location.offset)
        guard chunks[chunk].isEmpty else {
            counts.add(-1, to: chunk)
            return chunk
        }
        chunks.remove(at: chunk)
        counts = FenwickTree(chunks.map(\.count))
        return nil
    }

    /// Changes the element at a location in place.
    mutating func change(at location: Location, _ body: (inout Element) -> Void) {
        body(&chunks[location.chunk][location.offset])
    }
}

extension Range<Int> {
    /// Returns the first number for which a condition does not hold, by binary search; the upper bound if there is none.
    ///
    /// The condition holds for all numbers before the result and for none after it.
    @inline(__always)
    func partition(_ holds: (Int) throws -> Bool) rethrows -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = low + (high - low) / 2
            if try holds(middle) { low = middle + 1 } else { high = middle }
        }
        return low
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
        assert(bucket >= 0 && bucket < bucketCount, "the tree has the bucket")
        var index = bucket + 1
        while index < nodes.count {
            nodes[index] += difference
            index += index & -index
        }
        total += difference
        assert(total >= 0, "no bucket has a negative count")
    }

    /// Returns the sum of the counts of all buckets before `bucket`.
    func sum(before bucket: Int) -> Int {
        assert(bucket >= 0 && bucket <= bucketCount, "the tree has the bucket")
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
        assert(position >= 0 && position < total, "an element has the position")
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
