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
