/// The addresses of the blocks of an index of bytes in the map, in order.
///
/// Valid as long as the transaction's pages are.
struct BytesDirectory {
    private(set) var keys: [BytesView] = []
    private(set) var blocks: [UnsafeRawBufferPointer] = []

    var count: Int { keys.count }

    mutating func append(_ key: UnsafeRawBufferPointer, _ block: UnsafeRawBufferPointer) {
        keys.append(
            BytesView(UnsafeRawBufferPointer(rebasing: key.dropFirst(IndexKey.prefixBytes))))
        blocks.append(block)
    }

    /// A block; nil when its bytes are damaged.
    func block(_ index: Int) -> BytesBlock? { BytesBlock(blocks[index]) }

    /// The last block whose separator is not above a position, or the first.
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
