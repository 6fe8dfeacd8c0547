/// Memory blocks for unpacked leaves, kept between uses by width.
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
    func take(width: Int) -> UnpackedLeaf {
        let block =
            free[width, default: []].popLast()
            ?? .allocate(byteCount: Self.size(width), alignment: 16)
        return UnpackedLeaf(address: block + UnpackedLeaf.notes)
    }

    func give(_ leaf: UnpackedLeaf, width: Int) {
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
