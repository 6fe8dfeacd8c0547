/// The bytes of one of LMDB's pages, which may be damaged.
///
/// A page begins with its number (8 bytes), two unused bytes, its flags, and the bounds of its free space; the offsets of
/// its nodes follow. A node is two halves of a length or page number, flags, the length of its key, key and data.
struct PageImage {
    static let headerSize = 16
    static let nodeSize = 8
    /// LMDB's greatest key.
    static let longestKey = 511
    static let tableSize = 48

    enum Flags {
        static let branch: UInt16 = 1
        static let leaf: UInt16 = 2
        static let overflow: UInt16 = 4
        static let meta: UInt16 = 8
    }

    enum NodeFlags {
        /// The data is on pages of its own.
        static let big: UInt16 = 1
        /// The data is the head of another tree.
        static let table: UInt16 = 2
    }

    let bytes: UnsafeRawBufferPointer

    /// The bytes of a whole page.
    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    func load<T: BitwiseCopyable>(_ offset: Int, _: T.Type) -> T {
        bytes.loadUnaligned(fromByteOffset: offset, as: T.self)
    }

    var number: UInt64 { load(0, UInt64.self) }
    var flags: UInt16 { load(10, UInt16.self) }
    /// How many pages a long value has, on the first of them.
    var pages: UInt64 { UInt64(load(12, UInt32.self)) }
    private var lower: Int { Int(load(12, UInt16.self)) }
    private var upper: Int { Int(load(14, UInt16.self)) }

    /// Whether the bounds of the free space are possible.
    var hasBounds: Bool {
        lower >= Self.headerSize && lower % 2 == 0 && lower <= upper && upper <= bytes.count
    }

    /// How many nodes there are; only with sound bounds.
    var nodeCount: Int { (lower - Self.headerSize) / 2 }

    /// A node that is completely on its page.
    struct Node {
        let key: UnsafeRawBufferPointer
        let flags: UInt16
        /// The number of the page below, on a branch.
        let child: UInt64
        /// The length of the data, on a leaf.
        let dataSize: Int
        /// Where the data, or the number of its first page, begins.
        let data: Int
        /// The bytes that the node takes: an even number.
        let range: Range<Int>
    }

    /// Whether the nodes fill the page from the end of its free space to its own end, each byte once.
    ///
    /// LMDB moves nodes by their sizes when it adds or removes one: where nodes overlap, it would write beyond the page.
    func isPacked(isLeaf: Bool) -> Bool {
        let count = nodeCount
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: max(count, 1)) { ranges in
            for index in 0..<count {
                guard let range = node(index, isLeaf: isLeaf)?.range else { return false }
                // Both are at most 65,536, which no range begins with.
                ranges[index] = UInt32(range.lowerBound) << 16 | UInt32(range.count & 0xFFFF)
            }
            var nodes = UnsafeMutableBufferPointer(rebasing: ranges[..<count])
            nodes.sort()
            var end = upper
            for node in nodes {
                guard node >> 16 == UInt32(end) else { return false }
                end += Int(node & 0xFFFF)
            }
            return end == bytes.count
        }
    }

    /// A node; nil if it is not on the page.
    func node(_ index: Int, isLeaf: Bool) -> Node? {
        let place = Int(load(Self.headerSize + 2 * index, UInt16.self))
        guard place >= upper, place + Self.nodeSize <= bytes.count else { return nil }
        let low = UInt64(load(place, UInt16.self)) | UInt64(load(place + 2, UInt16.self)) << 16
        let flags = load(place + 4, UInt16.self)
        let keySize = Int(load(place + 6, UInt16.self))
        let data = place + Self.nodeSize + keySize
        guard keySize <= Self.longestKey, data <= bytes.count else { return nil }
        var end = data
        if isLeaf { end += flags & NodeFlags.big != 0 ? 8 : Int(low) }
        end += end & 1
        guard end <= bytes.count else { return nil }
        return Node(
            key: UnsafeRawBufferPointer(rebasing: bytes[place + Self.nodeSize..<data]),
            flags: flags, child: low | UInt64(flags) << 32, dataSize: Int(low), data: data,
            range: place..<end)
    }
}

/// The head of a tree: LMDB's record of a table.
struct TreeHead {
    let flags: UInt16
    let depth: Int
    let branchPages: UInt64
    let leafPages: UInt64
    let overflowPages: UInt64
    let entries: UInt64
    /// The root's page; nil for an empty tree.
    let root: UInt64?

    init(_ image: PageImage, at offset: Int) {
        flags = image.load(offset + 4, UInt16.self)
        depth = Int(image.load(offset + 6, UInt16.self))
        branchPages = image.load(offset + 8, UInt64.self)
        leafPages = image.load(offset + 16, UInt64.self)
        overflowPages = image.load(offset + 24, UInt64.self)
        entries = image.load(offset + 32, UInt64.self)
        let number = image.load(offset + 40, UInt64.self)
        root = number == .max ? nil : number
    }
}
