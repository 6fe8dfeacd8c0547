/// The addresses of the blocks of an index in the map, in order, so that a lookup searches an array instead of a tree.
///
/// They are valid as long as the transaction's pages.
struct IndexDirectory<Value: IndexedValue> {
    private var bounds = GrowableBuffer<Value>()
    private var blocks = GrowableBuffer<UnsafeRawBufferPointer>()

    var count: Int {
        @inline(__always) get { bounds.count }
    }

    func deallocate() {
        bounds.deallocate()
        blocks.deallocate()
    }

    mutating func append(_ bound: Value, _ block: UnsafeRawBufferPointer) {
        bounds.append(bound)
        blocks.append(block)
    }

    /// Returns a block; nil if its bytes are damaged.
    @inline(__always)
    func block(_ index: Int) -> Value.Block? { Value.Block(blocks[index]) }

    /// Returns the last block that begins at or before a target, or the first block: the entries of the value begin in
    /// it or in the next one.
    @inline(__always)
    func index(for target: Value, hint: Int) -> Int {
        // Consecutive lookups mostly use the same block or the next one.
        if hint < count, isAtOrBefore(hint, target) {
            if hint &+ 1 == count || !isAtOrBefore(hint &+ 1, target) { return hint }
            if hint &+ 2 == count || !isAtOrBefore(hint &+ 2, target) { return hint &+ 1 }
        }
        var low = 0
        var length = count
        while length > 1 {
            let half = length &>> 1
            low = isAtOrBefore(low &+ half, target) ? low &+ half : low
            length &-= half
        }
        return low
    }

    @inline(__always)
    private func isAtOrBefore(_ index: Int, _ target: Value) -> Bool {
        Value.BlockKey.isAtOrBefore(bounds[index], target)
    }
}
