#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reads every page that a version of a file uses, by plain reads, without LMDB and without a map.
///
/// It is needed only for files that are shorter than their header states, to check whether missing pages are in use.
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

    private func references(in page: UnsafeRawBufferPointer) -> [Reference]? {
        func load<T: BitwiseCopyable>(_ offset: Int, _: T.Type) -> T {
            page.loadUnaligned(fromByteOffset: offset, as: T.self)
        }
        let flags = load(10, UInt16.self)
        let isBranch = flags & 1 != 0
        guard isBranch || flags & 2 != 0 else { return nil }
        let lower = Int(load(12, UInt16.self))
        guard lower >= 16, lower <= pageSize else { return nil }
        var references: [Reference] = []
        for index in 0..<(lower - 16) / 2 {
            let node = Int(load(16 + 2 * index, UInt16.self))
            guard node >= 16, node + 8 <= pageSize else { return nil }
            let low = UInt64(load(node, UInt16.self)) | UInt64(load(node + 2, UInt16.self)) << 16
            let nodeFlags = load(node + 4, UInt16.self)
            let data = node + 8 + Int(load(node + 6, UInt16.self))
            if isBranch {
                references.append(
                    Reference(first: low | UInt64(nodeFlags) << 32, count: 1, isTree: true))
            } else if nodeFlags & 1 != 0 {
                guard data + 8 <= pageSize else { return nil }
                let pages = (low + 15) / UInt64(pageSize) + 1
                references.append(
                    Reference(first: load(data, UInt64.self), count: pages, isTree: false))
            } else if nodeFlags & 2 != 0 {
                guard data + 48 <= pageSize else { return nil }
                let root = load(data + 40, UInt64.self)
                if root != UInt64.max {
                    references.append(Reference(first: root, count: 1, isTree: true))
                }
            }
        }
        return references
    }
}
