/// The addresses of the blocks of an integer index in the map, in order, so that a lookup searches an array instead of
/// a tree.
///
/// They are valid as long as the transaction's pages.
struct IntDirectory {
    private let bounds: UnsafeMutablePointer<Int64>
    private let blocks: UnsafeMutablePointer<UnsafeRawBufferPointer>
    let count: Int

    /// The minimum number of lookups at one version for which a directory is worthwhile.
    static let leastLookups = 6

    init(_ bounds: [Int64], _ blocks: [UnsafeRawBufferPointer]) {
        count = bounds.count
        self.bounds = .allocate(capacity: count)
        self.blocks = .allocate(capacity: count)
        for index in 0..<count {
            self.bounds[index] = bounds[index]
            self.blocks[index] = blocks[index]
        }
    }

    func deallocate() {
        bounds.deallocate()
        blocks.deallocate()
    }

    /// Returns a block; nil if its bytes are damaged.
    @inline(__always)
    func block(_ index: Int) -> IntBlock? { IntBlock(blocks[index]) }

    /// Returns the last block that begins below `value`, or the first: entries of the value begin in it or in the next
    /// one.
    @inline(__always)
    func index(before value: Int64, hint: Int) -> Int {
        // Consecutive lookups mostly use the same block or the next one.
        if hint < count, bounds[hint] < value {
            if hint &+ 1 == count || bounds[hint &+ 1] >= value { return hint }
            if hint &+ 2 == count || bounds[hint &+ 2] >= value { return hint &+ 1 }
        }
        var low = 0
        var length = count
        while length > 1 {
            let half = length &>> 1
            low = bounds[low &+ half] < value ? low &+ half : low
            length &-= half
        }
        return low
    }
}
