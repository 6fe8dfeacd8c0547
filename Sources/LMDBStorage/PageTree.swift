import CXXHash
import MemoryAccounts

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Verifies every page that a version of a file uses.
///
/// LMDB trusts the pages that it maps: a damaged page ends the process by a signal or an assertion, or causes an
/// endless loop. So the pages are verified before LMDB reads them. The verification can also compute a checksum of all
/// pages.
struct PageTree: ~Copyable {
    private let base: UnsafeMutableRawPointer
    private let length: Int
    private let pageSize: Int
    private let pageCount: UInt64
    private let lastPage: UInt64
    private let isSummed: Bool
    private let scope: Scope
    private let readsLongValues: Bool
    private let verifiesValues: Bool
    private let pages: PageSet
    /// The number of bytes that were mapped since memory was last released.
    private var mappedBytes = 0
    private static let mappedLimit = 2 << 20
    /// The windows that were mapped since then.
    private var mapped: ClosedRange<UInt64>?
    /// The last window that was counted.
    ///
    /// The system maps a whole window when one of its pages is read.
    private var lastWindow: UInt64?
    private static let windowSize: UInt64 = 64 << 10
    /// The sum of the checksums of all pages that the version uses, except LMDB's headers.
    private(set) var sum: UInt64 = 0
    /// The page with the first error.
    private(set) var faultyPage: UInt64?

    /// The pages that are verified.
    enum Scope {
        case all
        /// The names of the tables, and the list of free pages.
        case names
        /// The pages of one table.
        case table(String)
    }

    /// Maps an open file; nil if the system call fails.
    ///
    /// Without `readsLongValues`, the pages of long values are only checked to be inside the file. With
    /// `verifiesValues`, a value that does not match its checksum is an error.
    init?(
        _ descriptor: Int32, _ meta: FileHeader.Meta, isSummed: Bool, _ scope: Scope = .all,
        readsLongValues: Bool = true, verifiesValues: Bool = false
    ) {
        self.scope = scope
        self.verifiesValues = verifiesValues
        self.readsLongValues = readsLongValues
        let size = Int(lseek(descriptor, 0, SEEK_END))
        let present = UInt64(max(0, size)) / UInt64(meta.pageSize)
        pageSize = meta.pageSize
        lastPage = meta.lastPage
        pageCount = meta.lastPage < present ? meta.lastPage + 1 : present
        length = Int(pageCount) * meta.pageSize
        self.isSummed = isSummed
        guard pageCount >= 2, let mapped = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0),
            mapped != MAP_FAILED
        else { return nil }
        base = mapped
        pages = PageSet(pageCount: pageCount, lastPage: lastPage)
    }

    deinit { munmap(base, length) }

    /// The pages of a tree, and their number.
    private struct Tree {
        let head: TreeHead
        let isIntegers: Bool
        var hasTables = false
        var hasFreePages = false
        /// The seed of the table in the checksums of its values; 0 if they are not verified.
        var seed: UInt64 = 0
        var branchPages: UInt64 = 0
        var leafPages: UInt64 = 0
        var overflowPages: UInt64 = 0
        var entries: UInt64 = 0
        /// The key of the last entry.
        var lastKey: UnsafeRawBufferPointer?
        /// The key of a branch, which is a lower bound of the next entry.
        var floor: UnsafeRawBufferPointer?

        /// Returns whether one key precedes another, in the order of native integers or of bytes.
        func isAscending(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
            if isIntegers {
                return a.loadUnaligned(as: UInt64.self) < b.loadUnaligned(as: UInt64.self)
            }
            guard let first = a.baseAddress, let second = b.baseAddress else {
                return a.count < b.count
            }
            let order = memcmp(first, second, min(a.count, b.count))
            return order == 0 ? a.count < b.count : order < 0
        }

        /// Records the key of the next entry; returns false if it is not greater than all previous keys.
        ///
        /// A search for a key in the wrong position may never end, or may change another entry.
        mutating func advance(to key: UnsafeRawBufferPointer) -> Bool {
            if let lastKey, !isAscending(lastKey, key) { return false }
            if let floor, isAscending(key, floor) { return false }
            lastKey = key
            floor = nil
            return true
        }

        /// Records the key of a branch, which must be greater than all entries before it.
        mutating func advance(toBranch key: UnsafeRawBufferPointer) -> Bool {
            if let lastKey, !isAscending(lastKey, key) { return false }
            floor = key
            return true
        }
    }

    /// Returns whether LMDB can safely read every page of the version that a header describes; its index is 0 or 1.
    mutating func isSound(header index: Int) -> Bool {
        let image = page(UInt64(index))
        let heads = PageImage.headerSize + 24
        let free = TreeHead(image, at: heads)
        let main = TreeHead(image, at: heads + PageImage.tableSize)
        guard image.flags == PageImage.Flags.meta, free.flags == HeaderVerifier.freeFlags,
            main.flags == 0
        else {
            faultyPage = UInt64(index)
            return false
        }
        var names = Tree(head: main, isIntegers: false, hasTables: true)
        if verifiesValues { names.seed = ValueSeal.seed("names") }
        var list = Tree(head: free, isIntegers: true, hasFreePages: true)
        guard follow(&names) else { return false }
        if case .table = scope { return true }
        return follow(&list)
    }

    /// Whether every page of the file is used or free; only after all pages were found to be sound.
    var hasAllPages: Bool { pages.missingCount() == 0 }

    private mutating func follow(_ tree: inout Tree) -> Bool {
        let head = tree.head
        guard head.depth <= TreeHead.greatestDepth, (head.depth == 0) == (head.root == nil) else {
            return false
        }
        if let root = head.root, !visit(root, 1, &tree) {
            if faultyPage == nil { faultyPage = root }
            return false
        }
        return tree.entries == head.entries && tree.branchPages == head.branchPages
            && tree.leafPages == head.leafPages
            && (tree.overflowPages == head.overflowPages || !readsLongValues)
    }

    private func page(_ number: UInt64, _ count: Int = 1) -> PageImage {
        PageImage(
            UnsafeRawBufferPointer(
                start: base + Int(number) * pageSize, count: count * pageSize))
    }

    /// Marks pages as used; returns false if they are not in the file, or are already used.
    private func take(_ first: UInt64, _ count: UInt64) -> Bool {
        guard pages.contains(first, count) else { return false }
        for number in first..<first + count where !pages.insert(number) { return false }
        return true
    }

    private mutating func add(_ image: PageImage, _ number: UInt64) {
        if isSummed { sum &+= PageTree.sum(image.bytes, number) }
        let start = number * UInt64(pageSize)
        let first = start / Self.windowSize
        let last = isSummed ? (start + UInt64(image.bytes.count) - 1) / Self.windowSize : first
        guard first != lastWindow || last != first else { return }
        lastWindow = last
        let all = min(first, mapped?.lowerBound ?? first)...max(last, mapped?.upperBound ?? last)
        mapped = all
        mappedBytes += Int((last - first + 1) * Self.windowSize)
        if mappedBytes > Self.mappedLimit { release(all) }
    }

    /// Releases visited pages, which would otherwise count as memory of the process until the end.
    private mutating func release(_ windows: ClosedRange<UInt64>) {
        mappedBytes = 0
        mapped = nil
        let start = Int(windows.lowerBound * Self.windowSize)
        let end = min(length, Int((windows.upperBound + 1) * Self.windowSize))
        madvise(base + start, end - start, MADV_DONTNEED)
        MemoryAccount.current?.measureIfDue()
    }

    static func sum(_ bytes: UnsafeRawBufferPointer, _ number: UInt64) -> UInt64 {
        let mixed = (ValueSeal.hash(bytes) ^ number) &* 0x9E37_79B9_7F4A_7C15
        return mixed ^ mixed &>> 29
    }

    private mutating func visit(_ number: UInt64, _ depth: Int, _ tree: inout Tree) -> Bool {
        guard take(number, 1) else { return false }
        let image = page(number)
        let isLeaf = depth == tree.head.depth
        guard image.number == number,
            image.flags == (isLeaf ? PageImage.Flags.leaf : PageImage.Flags.branch),
            image.hasBounds, image.nodeCount >= (isLeaf ? 1 : 2), image.isPacked(isLeaf: isLeaf)
        else {
            faultyPage = number
            return false
        }
        add(image, number)
        if isLeaf { tree.leafPages += 1 } else { tree.branchPages += 1 }
        for index in 0..<image.nodeCount {
            guard let node = image.node(index, isLeaf: isLeaf) else {
                faultyPage = number
                return false
            }
            if isLeaf {
                tree.entries += 1
                guard !node.key.isEmpty, !tree.isIntegers || node.key.count == 8,
                    // LMDB would use the pages that version 0 has freed several times.
                    !tree.hasFreePages || node.key.contains(where: { $0 != 0 }),
                    tree.advance(to: node.key), visitValue(node, image, &tree)
                else {
                    if faultyPage == nil { faultyPage = number }
                    return false
                }
            } else {
                guard
                    index == 0
                        || (!tree.isIntegers || node.key.count == 8)
                            && tree.advance(toBranch: node.key)
                else {
                    faultyPage = number
                    return false
                }
                guard visit(node.child, depth + 1, &tree) else {
                    if faultyPage == nil { faultyPage = number }
                    return false
                }
            }
        }
        return true
    }

    private mutating func visitValue(
        _ node: PageImage.Node, _ image: PageImage, _ tree: inout Tree
    ) -> Bool {
        switch node.flags {
        case PageImage.NodeFlags.big:
            let first = image.load(node.data, UInt64.self)
            let needed = PageImage.pages(ofValue: node.dataSize, pageSize: pageSize)
            guard pages.contains(first, 1) else { return false }
            guard readsLongValues || tree.hasFreePages else {
                return take(first, UInt64(needed))
            }
            let value = page(first)
            guard value.number == first, value.flags == PageImage.Flags.overflow,
                value.pages >= UInt64(needed), take(first, value.pages)
            else { return false }
            tree.overflowPages += value.pages
            let run = page(first, Int(value.pages))
            let start = PageImage.headerSize
            let isSound = isSound(
                UnsafeRawBufferPointer(rebasing: run.bytes[start..<start + node.dataSize]),
                of: node,
                tree)
            // The memory of the pages may be released afterward.
            add(run, first)
            return isSound
        case PageImage.NodeFlags.table where tree.hasTables:
            guard node.dataSize == PageImage.tableSize else { return false }
            let head = TreeHead(image, at: node.data)
            guard head.flags & ~8 == 0 else { return false }
            switch scope {
            case .all: break
            case .names: return true
            case .table(let name):
                guard node.key.elementsEqual(name.utf8) else { return true }
            }
            var table = Tree(head: head, isIntegers: head.flags == 8)
            if verifiesValues { table.seed = ValueSeal.hash(node.key) | 1 }
            return follow(&table)
        case 0:
            let end = node.data + node.dataSize
            return isSound(
                UnsafeRawBufferPointer(rebasing: image.bytes[node.data..<end]), of: node, tree)
        default: return false
        }
    }

    private func isSound(
        _ value: UnsafeRawBufferPointer, of node: PageImage.Node, _ tree: Tree
    ) -> Bool {
        if tree.hasFreePages { return pages.insertFreePages(value) == nil }
        return tree.seed == 0
            || ValueSeal.isRight(value, ValueSeal.hash(key: node.key), tree.seed)
    }
}
