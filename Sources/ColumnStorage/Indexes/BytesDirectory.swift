/// The addresses of the blocks of an index of bytes in the map, in order.
///
/// They are valid as long as the transaction's pages.
struct BytesDirectory {
    private(set) var keys: [BytesView] = []
    private(set) var blocks: [UnsafeRawBufferPointer] = []

    var count: Int { keys.count }

    mutating func append(_ key: UnsafeRawBufferPointer, _ block: UnsafeRawBufferPointer) {
        keys.append(
            BytesView(UnsafeRawBufferPointer(rebasing: key.dropFirst(IndexKey.prefixBytes))))
        blocks.append(block)
    }

    /// Returns a block; nil if its bytes are damaged.
    func block(_ index: Int) -> BytesBlock? { BytesBlock(blocks[index]) }

    /// Returns the last block whose separator is at most a position, or the first block.
    func index(atOrBefore position: UnsafeRawBufferPointer) -> Int {
        let target = BytesView(
            UnsafeRawBufferPointer(rebasing: position.dropFirst(IndexKey.prefixBytes)))
        return keys.withUnsafeBufferPointer { keys in
            var low = 0
            var length = keys.count
            while length > 1 {
                let half = length &>> 1
                if keys[low &+ half].compare(target) <= 0 { low &+= half }
                length &-= half
            }
            return low
        }
    }
}
