/// A pool of memory blocks for unpacked leaves, by width.
final class LeafPool {
    @exclusivity(unchecked) private var free: SortedMap<Int, [UnsafeMutableRawPointer]> =
        SortedMap()
    private static let keep = 64
    /// The size of the leaves in use, in bytes.
    @exclusivity(unchecked) private(set) var usedSize = 0

    deinit {
        for blocks in free.values { for block in blocks { block.deallocate() } }
    }

    /// Returns a leaf for values of this width; width 0 is a presence bitmap.
    ///
    /// The content of the leaf is undefined.
    func take(width: Int) -> UnpackedLeaf {
        usedSize += Self.size(width)
        let block =
            free[width, default: []].popLast()
            ?? .allocate(byteCount: Self.size(width), alignment: 16)
        return UnpackedLeaf(address: block + UnpackedLeaf.notes)
    }

    /// Releases a leaf.
    func release(_ leaf: UnpackedLeaf, width: Int) {
        usedSize -= Self.size(width)
        let block = leaf.address - UnpackedLeaf.notes
        if free[width, default: []].count < Self.keep {
            free[width, default: []].append(block)
        } else {
            block.deallocate()
        }
    }

    static func size(_ width: Int) -> Int {
        width == 0 ? UnpackedLeaf.notes + 64 : UnpackedLeaf.blockSize(width: width)
    }
}
