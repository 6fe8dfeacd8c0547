#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads every page that a version of a file uses, by plain reads, without LMDB and without a map.
///
/// The walk is needed only for files that are shorter than their header states, to check whether missing pages are in
/// use.
struct PageWalk {
    let descriptor: Int32
    let pageSize: Int
    let pageCount: UInt64

    init(_ descriptor: Int32, pageSize: Int, pageCount: UInt64) {
        self.descriptor = descriptor
        self.pageSize = pageSize
        self.pageCount = pageCount
    }

    /// Returns whether every page that the trees at `roots` use is inside the file.
    func isWhole(roots: [UInt64]) -> Bool {
        var pending = roots.filter { $0 != UInt64.max }
        var visited: UInt64 = 0
        var page = [UInt8](repeating: 0, count: pageSize)
        while let number = pending.popLast() {
            visited += 1
            // A cycle in a damaged file must not cause an endless loop.
            guard number < pageCount, visited <= pageCount else { return false }
            let offset = off_t(number) * off_t(pageSize)
            guard pread(descriptor, &page, pageSize, offset) == pageSize else { return false }
            guard let next = page.withUnsafeBytes({ references(in: $0) }) else { return false }
            for reference in next {
                guard reference.first < pageCount, reference.count <= pageCount - reference.first
                else { return false }
                if reference.isTree { pending.append(reference.first) }
            }
        }
        return true
    }

    struct Reference {
        var first: UInt64
        var count: UInt64
        var isTree: Bool
    }

    private func references(in bytes: UnsafeRawBufferPointer) -> [Reference]? {
        let page = PageImage(bytes)
        let isLeaf = page.flags & PageImage.Flags.branch == 0
        guard !isLeaf || page.flags & PageImage.Flags.leaf != 0, page.hasBounds else { return nil }
        var references: [Reference] = []
        for index in 0..<page.nodeCount {
            guard let node = page.node(index, isLeaf: isLeaf) else { return nil }
            if !isLeaf {
                references.append(Reference(first: node.child, count: 1, isTree: true))
            } else if node.flags & PageImage.NodeFlags.big != 0 {
                let count = PageImage.pages(ofValue: node.dataSize, pageSize: pageSize)
                references.append(
                    Reference(
                        first: page.load(node.data, UInt64.self), count: UInt64(count),
                        isTree: false))
            } else if node.flags & PageImage.NodeFlags.table != 0 {
                guard node.dataSize >= PageImage.tableSize else { return nil }
                if let root = TreeHead(page, at: node.data).root {
                    references.append(Reference(first: root, count: 1, isTree: true))
                }
            }
        }
        return references
    }
}
