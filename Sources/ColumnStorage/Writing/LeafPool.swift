/// Blocks for heap leaves, kept between uses by width.
final class LeafPool {
    @exclusivity(unchecked) private var free: SortedMap<Int, [UnsafeMutableRawPointer]> =
        SortedMap()
    private static let keep = 64

    deinit {
        for blocks in free.values { for block in blocks { block.deallocate() } }
    }

    /// A leaf for values of this width; 0 is a presence bitmap.
    ///
    /// Its content is undefined.
    func take(width: Int) -> HeapLeaf {
        let block =
            free[width, default: []].popLast()
            ?? .allocate(byteCount: Self.size(width), alignment: 16)
        return HeapLeaf(address: block + HeapLeaf.notes)
    }

    func give(_ leaf: HeapLeaf, width: Int) {
        let block = leaf.address - HeapLeaf.notes
        if free[width, default: []].count < Self.keep {
            free[width, default: []].append(block)
        } else {
            block.deallocate()
        }
    }

    static func size(_ width: Int) -> Int {
        width == 0 ? HeapLeaf.notes + 64 : HeapLeaf.blockSize(width: width)
    }
}
