/// The bytes of one of LMDB's pages, which may be damaged.
///
/// A page begins with its number (8 bytes), two unused bytes, its flags, and the bounds of its free space; the offsets
/// of its nodes follow. A node consists of two halves of a length or page number, flags, the length of its key, the key
/// and the data.
struct PageImage {
    static let headerSize = 16
    static let nodeSize = 8
    /// The maximum length of a key in LMDB.
    static let longestKey = 511
    static let tableSize = 48

    enum Flags {
        static let branch: UInt16 = 1
        static let leaf: UInt16 = 2
        static let overflow: UInt16 = 4
        static let meta: UInt16 = 8
    }

    enum NodeFlags {
        /// The flag of data that is on its own pages.
        static let big: UInt16 = 1
        /// The flag of data that is the head of another tree.
        static let table: UInt16 = 2
    }

    let bytes: UnsafeRawBufferPointer

    /// Creates an image of the bytes of a whole page.
    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Returns a number in the machine's byte order; the caller has verified that it is inside of the page.
    func load<T: BitwiseCopyable>(_ offset: Int, _: T.Type) -> T {
        bytes.loadUnaligned(fromByteOffset: offset, as: T.self)
    }

    var number: UInt64 { load(0, UInt64.self) }
    var flags: UInt16 { load(10, UInt16.self) }
    /// The number of pages of a long value, on the first of them.
    var pages: UInt64 { UInt64(load(12, UInt32.self)) }

    /// Returns the number of pages that a value with its own pages needs.
    static func pages(ofValue size: Int, pageSize: Int) -> Int {
        (headerSize + size - 1) / pageSize + 1
    }

    private var lower: Int { Int(load(12, UInt16.self)) }
    private var upper: Int { Int(load(14, UInt16.self)) }

    /// Whether the bounds of the free space are valid.
    var hasBounds: Bool {
        lower >= Self.headerSize && lower % 2 == 0 && lower <= upper && upper <= bytes.count
    }

    /// The number of nodes; meaningful only with valid bounds.
    var nodeCount: Int { (lower - Self.headerSize) / 2 }

    /// A node that is completely on its page.
    struct Node {
        let key: UnsafeRawBufferPointer
        let flags: UInt16
        /// The number of the child page, on a branch.
        let child: UInt64
        /// The length of the data, on a leaf.
        let dataSize: Int
        /// The offset of the data, or of the number of its first page.
        let data: Int
        /// The range of the node's bytes, whose length is even.
        let range: Range<Int>
    }

    /// Returns whether the nodes fill the page without gaps or overlaps, from the end of its free space to its own end.
    ///
    /// LMDB moves nodes by their sizes when it adds or removes one: if nodes overlap, it would write beyond the page.
    func isPacked(isLeaf: Bool) -> Bool {
        let count = nodeCount
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: max(count, 1)) { ranges in
            for index in 0..<count {
                guard let range = node(index, isLeaf: isLeaf)?.range else { return false }
                // Both numbers are at most 65,536, and no range begins at 65,536.
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

    /// Returns a node; nil if it is not completely on the page.
    func node(_ index: Int, isLeaf: Bool) -> Node? {
        let start = Int(load(Self.headerSize + 2 * index, UInt16.self))
        guard start >= upper, start + Self.nodeSize <= bytes.count else { return nil }
        let low = UInt64(load(start, UInt16.self)) | UInt64(load(start + 2, UInt16.self)) << 16
        let flags = load(start + 4, UInt16.self)
        let keySize = Int(load(start + 6, UInt16.self))
        let data = start + Self.nodeSize + keySize
        guard keySize <= Self.longestKey, data <= bytes.count else { return nil }
        var end = data
        if isLeaf { end += flags & NodeFlags.big != 0 ? 8 : Int(low) }
        end += end & 1
        guard end <= bytes.count else { return nil }
        return Node(
            key: UnsafeRawBufferPointer(rebasing: bytes[start + Self.nodeSize..<data]),
            flags: flags, child: low | UInt64(flags) << 32, dataSize: Int(low), data: data,
            range: start..<end)
    }
}

/// LMDB's list of pages that one transaction has freed: the count, then the numbers of the pages, the greatest first.
///
/// There may be unused space after the numbers.
struct FreePages: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    /// Returns nil if the bytes are not a list.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 8, bytes.count % 8 == 0 else { return nil }
        let count = bytes.loadUnaligned(as: UInt64.self)
        guard count < UInt64(bytes.count / 8) else { return nil }
        rest = UnsafeRawBufferPointer(rebasing: bytes[8..<8 * (1 + Int(count))])
    }

    mutating func next() -> UInt64? {
        guard !rest.isEmpty else { return nil }
        defer { rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(8)) }
        return rest.loadUnaligned(as: UInt64.self)
    }
}

/// The head of a tree: LMDB's record of a table.
struct TreeHead {
    /// The greatest depth of a tree.
    static let greatestDepth = 32

    /// The page size in the head of the list of free pages; 0 in all other heads.
    let unused: UInt32
    let flags: UInt16
    let depth: Int
    let branchPages: UInt64
    let leafPages: UInt64
    let overflowPages: UInt64
    let entries: UInt64
    /// The root page; nil for an empty tree.
    let root: UInt64?

    init(_ image: PageImage, at offset: Int) {
        unused = image.load(offset, UInt32.self)
        flags = image.load(offset + 4, UInt16.self)
        depth = Int(image.load(offset + 6, UInt16.self))
        branchPages = image.load(offset + 8, UInt64.self)
        leafPages = image.load(offset + 16, UInt64.self)
        overflowPages = image.load(offset + 24, UInt64.self)
        entries = image.load(offset + 32, UInt64.self)
        let number = image.load(offset + 40, UInt64.self)
        root = number == .max ? nil : number
    }

    /// Whether a tree can have these numbers; an empty tree must have no depth, because LMDB increments it.
    func isPlausible(lastPage: UInt64) -> Bool {
        guard let root else {
            return depth == 0 && entries == 0
                && [branchPages, leafPages, overflowPages].allSatisfy { $0 == 0 }
        }
        return depth > 0 && depth <= Self.greatestDepth && root >= 2 && root <= lastPage
    }
}
