#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A walk over the pages that one version of a file uses, which verifies them.
///
/// LMDB trusts the pages that it maps: a damaged page ends the process by a signal or an assertion, or causes an endless
/// loop. In a valid file, each page after the headers is on exactly one path from a root, or in one list of free pages;
/// a page that occurs twice would be overwritten while it is in use. The nodes of a page fill it without gaps, because
/// LMDB moves nodes by their sizes, and the keys ascend, because a search in another order may never end.
///
/// The pages are mapped, and errors are described only when they occur, so that walking 32 MiB takes a few milliseconds.
struct PageWalk: ~Copyable {
    /// The pages that a walk visits.
    enum Scope {
        case all
        /// The names of the tables, and the list of free pages.
        case names
        /// The pages of one table.
        case table(String)
    }

    /// A position in a table.
    enum Position {
        case first
        case last
        /// The position of a key, whether or not the table contains it.
        case key(UnsafeRawBufferPointer)
    }

    /// The extent of a walk.
    struct Options {
        var scope = Scope.all
        /// The number of errors after which the walk ends.
        var limit = 1
        /// Whether the pages of long values are read, and not only checked to be inside the file.
        var readsLongValues = true
        /// Whether the checksums of the values are compared.
        var verifiesValues = false
        /// Whether the walk computes the checksum of all pages.
        var isSummed = false
        /// Whether a page that occurs twice is an error.
        var countsPages = true
        /// The tables that the file must have.
        var tables: [TableName] = []
    }

    private let options: Options
    private let base: UnsafeMutableRawPointer
    /// The number of bytes that the walk has mapped itself.
    private let mappedLength: Int
    private let pageSize: Int
    private let pages: PageSet
    private var foundTables: Set<String> = []
    /// The errors in the pages, and the first page that has one; nil if the error is in the counts of a header.
    private(set) var faults: [String] = []
    private(set) var faultyPage: UInt64?
    /// The values with wrong checksums, which do not end the walk.
    private(set) var changedValues: [String] = []
    /// Whether an earlier build, whose values have no checksums, has written the file.
    private(set) var isOlder = false
    /// The sum of the checksums of all visited pages.
    private(set) var sum: UInt64 = 0
    /// The pages that earlier walks to positions have verified, which are not verified again; nil for other walks.
    var known: KnownPages?

    /// Prepares a walk over an open file, which `map` contains or which is mapped until the end of the walk.
    ///
    /// Throws the system's error if the file cannot be mapped.
    init(
        _ descriptor: Int32, _ meta: FileHeader.Meta, _ options: Options,
        map: UnsafeMutableRawBufferPointer? = nil
    ) throws(StorageError) {
        self.options = options
        pageSize = meta.pageSize
        let present = UInt64(max(0, Int(lseek(descriptor, 0, SEEK_END)))) / UInt64(meta.pageSize)
        let pageCount = meta.lastPage < present ? meta.lastPage + 1 : present
        let length = Int(pageCount) * meta.pageSize
        guard pageCount >= 2 else {
            throw StorageError(
                .damaged, call: "shorter than its header declares",
                file: Platform.path(of: descriptor))
        }
        if let map, map.count >= length, let start = map.baseAddress {
            (base, mappedLength) = (start, 0)
        } else {
            guard let mapped = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0),
                mapped != MAP_FAILED
            else {
                let code = errno
                throw StorageError(
                    rawCode: code, call: "mmap", file: Platform.path(of: descriptor))
            }
            (base, mappedLength) = (mapped, length)
        }
        pages = PageSet(
            pageCount: pageCount, lastPage: meta.lastPage, isCounted: options.countsPages)
    }

    deinit { if mappedLength > 0 { munmap(base, mappedLength) } }

    /// Whether LMDB can safely read every visited page.
    var isSound: Bool { faults.isEmpty && changedValues.isEmpty }

    /// Whether every page of the file is used or free; only after a complete walk without errors.
    var hasAllPages: Bool { pages.missingCount() == 0 }

    private mutating func fail(_ page: UInt64?, _ fault: @autoclosure () -> String) {
        if faults.isEmpty { faultyPage = page }
        if faults.count < options.limit { faults.append(fault()) }
    }

    private var isOver: Bool { faults.count >= options.limit }

    // MARK: Trees

    /// A tree, and the pages and entries that were counted in it so far.
    private struct Tree {
        let name: String
        let head: TreeHead
        let isIntegers: Bool
        /// Whether the values are the heads of other trees, or lists of free pages.
        var hasTables = false
        var hasFreePages = false
        /// The position to which the walk leads; nil for a walk over all pages.
        var target: Position?
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

        init(_ name: String, _ head: TreeHead, isIntegers: Bool) {
            self.name = name
            self.head = head
            self.isIntegers = isIntegers
        }

        /// Returns whether one key precedes another, in the order of native integers or of bytes.
        private func isAscending(
            _ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer
        ) -> Bool {
            if isIntegers {
                return one.loadUnaligned(as: UInt64.self) < other.loadUnaligned(as: UInt64.self)
            }
            guard let first = one.baseAddress, let second = other.baseAddress else {
                return one.count < other.count
            }
            let order = memcmp(first, second, min(one.count, other.count))
            return order == 0 ? one.count < other.count : order < 0
        }

        /// Records the key of the next entry; returns false if it is not greater than all previous keys.
        mutating func advance(to key: UnsafeRawBufferPointer) -> Bool {
            let isOrdered =
                lastKey.map { isAscending($0, key) } ?? true
                && floor.map { !isAscending(key, $0) } ?? true
            lastKey = key
            floor = nil
            return isOrdered
        }

        /// Records the key of a branch, which must be greater than all entries before it.
        mutating func advance(toBranch key: UnsafeRawBufferPointer) -> Bool {
            floor = key
            return lastKey.map { isAscending($0, key) } ?? true
        }

        /// Records that the pages below a branch are not visited; its key is a lower bound of their entries.
        mutating func skip() {
            lastKey = floor ?? lastKey
            floor = nil
        }

        /// Returns the index of the branch that leads to the target.
        func branch(of image: PageImage) -> Int {
            switch target {
            case .first, nil: return 0
            case .last: return image.nodeCount - 1
            case .key(let wanted):
                // The order of the keys of a page that was not verified before is compared later.
                var (low, high) = (0, image.nodeCount)
                while high - low > 1 {
                    let middle = (low + high) / 2
                    let isBefore =
                        image.node(middle, isLeaf: false).map {
                            (!isIntegers || $0.key.count == 8 && wanted.count == 8)
                                && !isAscending(wanted, $0.key)
                        } ?? false
                    if isBefore { low = middle } else { high = middle }
                }
                return low
            }
        }
    }

    /// Walks the trees of the version that the header with an index describes.
    mutating func run(header index: Int) {
        let image = page(UInt64(index))
        let free = TreeHead(image, at: FileHeader.freeOffset)
        let main = TreeHead(image, at: FileHeader.namesOffset)
        guard image.flags == PageImage.Flags.meta, free.flags == FileHeader.freeFlags,
            main.flags == 0
        else { return fail(UInt64(index), "header \(index) has invalid flags") }
        var names = Tree("the list of tables", main, isIntegers: false)
        names.hasTables = true
        if options.verifiesValues { names.seed = ValueSeal.seed("names") }
        follow(&names)
        for table in options.tables where faults.isEmpty && !foundTables.contains(table.name) {
            fail(nil, "table '\(table.name)' is missing")
        }
        if case .table = options.scope { return }
        var list = Tree("the list of free pages", free, isIntegers: true)
        list.hasFreePages = true
        if !isOver { follow(&list) }
    }

    /// Walks from the root of a table to a position in it, and to the entries before and after that position.
    ///
    /// Returns the number of visited pages with nodes.
    mutating func run(_ name: String, _ head: TreeHead, to target: Position) -> UInt64 {
        var table = Tree("table '\(name)'", head, isIntegers: head.flags == 8)
        table.target = target
        follow(&table)
        return table.branchPages + table.leafPages
    }

    /// Reports the pages that are neither used nor free, after a complete walk.
    mutating func requireAllPages() {
        guard faults.isEmpty else { return }
        let missing = pages.missingCount()
        guard missing != 0 else { return }
        let count = missing.map { "\($0) page\($0 == 1 ? "" : "s")" } ?? "pages"
        fail(nil, "\(count) of the file are neither used nor free")
    }

    private mutating func follow(_ tree: inout Tree) {
        let head = tree.head
        guard head.depth <= TreeHead.maxDepth, (head.depth == 0) == (head.root == nil) else {
            return fail(nil, "the header of \(tree.name) has the invalid depth \(head.depth)")
        }
        if let root = head.root { visit(root, from: root, at: 0, depth: 1, &tree) }
        // The counts of a damaged tree differ in any case.
        guard faults.isEmpty, tree.target == nil else { return }
        if tree.entries != head.entries {
            fail(nil, "\(tree.name) has \(tree.entries) entries; its header states \(head.entries)")
        }
        if tree.branchPages != head.branchPages || tree.leafPages != head.leafPages
            || tree.overflowPages != head.overflowPages && options.readsLongValues
        {
            fail(nil, "\(tree.name) has a different number of pages than its header states")
        }
    }

    /// Marks pages as used; reports an error and returns false if they do not exist or were already used.
    private mutating func take(
        _ first: UInt64, _ count: UInt64, from parent: UInt64, _ tree: Tree
    ) -> Bool {
        guard pages.contains(first, count) else {
            fail(parent, "\(tree.name) refers to page \(first), which the file does not contain")
            return false
        }
        for number in first..<first + count where !pages.insert(number) {
            fail(parent, "page \(number) of \(tree.name) is used twice")
            return false
        }
        return true
    }

    private mutating func visit(
        _ number: UInt64, from parent: UInt64, at index: Int, depth: Int, _ tree: inout Tree
    ) {
        guard !isOver, take(number, 1, from: parent, tree) else { return }
        let image = page(number)
        assert(depth <= tree.head.depth, "a walk ends at the leaves")
        let isLeaf = depth == tree.head.depth
        let place = KnownPages.Place(parent, index)
        let isKnown = known?.contains(number) == true
        if isLeaf, isKnown, known?.contains(number, at: place) == true { return tree.skip() }
        guard image.number == number else {
            return fail(number, "page \(number) of \(tree.name) has the number \(image.number)")
        }
        guard image.flags == (isLeaf ? PageImage.Flags.leaf : PageImage.Flags.branch) else {
            return fail(
                number, "page \(number) of \(tree.name) is not a \(isLeaf ? "leaf" : "branch")")
        }
        guard image.hasBounds, image.nodeCount >= (isLeaf ? 1 : 2) else {
            return fail(number, "page \(number) of \(tree.name) has invalid bounds")
        }
        if !isKnown, !image.isPacked(isLeaf: isLeaf) {
            fail(number, "the entries of page \(number) of \(tree.name) overlap, or leave a gap")
        }
        if !isKnown { add(image, number) }
        if isLeaf {
            if !isKnown { tree.leafPages += 1 }
            // A leaf that is known elsewhere is only compared with the branch that leads to it, by its first and last key.
            let step = isKnown ? max(1, image.nodeCount - 1) : 1
            for index in stride(from: 0, to: image.nodeCount, by: step) where !isOver {
                let entry = Entry(index: index, page: number)
                guard let node = image.node(index, isLeaf: true) else {
                    return fail(number, "\(entry) of \(tree.name) is outside of the page")
                }
                guard visitKey(node.key, of: entry, &tree) else { return }
                if !isKnown { visitValue(node, image, of: entry, &tree) }
            }
        } else {
            if !isKnown { tree.branchPages += 1 }
            visitBranches(number, image, depth: depth, isKnown: isKnown, &tree)
        }
        if isSound { known?.insert(number, at: place) }
    }

    /// Visits the pages below a branch page, or those that lead to the target and to its neighbors.
    ///
    /// The order of the keys of a known page was verified, and only the nodes of the visited pages are read again, and
    /// the key that bounds the last of them: a search of a large file takes this way for every leaf that it reads first.
    private mutating func visitBranches(
        _ number: UInt64, _ image: PageImage, depth: Int, isKnown: Bool, _ tree: inout Tree
    ) {
        let target = tree.target
        let chosen = target == nil ? 0 : tree.branch(of: image)
        let indices =
            isKnown && target != nil
            ? max(0, chosen - 1)..<min(image.nodeCount, chosen + 3) : 0..<image.nodeCount
        for index in indices where !isOver {
            let entry = Entry(index: index, page: number)
            guard let node = image.node(index, isLeaf: false) else {
                return fail(number, "\(entry) of \(tree.name) is outside of the page")
            }
            if index > 0 { visitBranchKey(node.key, of: entry, &tree) }
            if let target {
                // LMDB moves from the target to the neighboring pages.
                switch (target, index - chosen) {
                case (_, 0): tree.target = target
                case (.key, -1): tree.target = .last
                case (.key, 1): tree.target = .first
                default:
                    tree.skip()
                    continue
                }
            }
            visit(node.child, from: number, at: index, depth: depth + 1, &tree)
            tree.target = target
        }
    }

    /// The location of an entry, for descriptions of errors.
    private struct Entry: CustomStringConvertible {
        let index: Int
        let page: UInt64
        var description: String { "entry \(index) of page \(page)" }
    }

    private mutating func visitBranchKey(
        _ key: UnsafeRawBufferPointer, of entry: Entry, _ tree: inout Tree
    ) {
        guard !tree.isIntegers || key.count == 8 else {
            return fail(entry.page, "\(entry) of \(tree.name) has a key of \(key.count) bytes")
        }
        if !tree.advance(toBranch: key) {
            fail(entry.page, "\(entry) of \(tree.name) is in the wrong order")
        }
    }

    /// Verifies the key of an entry in a leaf; returns false if its value cannot be verified.
    private mutating func visitKey(
        _ key: UnsafeRawBufferPointer, of entry: Entry, _ tree: inout Tree
    ) -> Bool {
        guard !key.isEmpty, !tree.isIntegers || key.count == 8 else {
            fail(entry.page, "\(entry) of \(tree.name) has a key of \(key.count) bytes")
            return false
        }
        if !tree.advance(to: key) {
            fail(entry.page, "\(entry) of \(tree.name) is in the wrong order")
        }
        // LMDB would use the pages that version 0 has freed several times.
        if tree.hasFreePages, key.allSatisfy({ $0 == 0 }) {
            fail(entry.page, "\(entry) of \(tree.name) has the impossible version 0")
        }
        tree.entries += 1
        return true
    }

    // MARK: Values

    private mutating func visitValue(
        _ node: PageImage.Node, _ image: PageImage, of entry: Entry, _ tree: inout Tree
    ) {
        switch node.flags {
        case PageImage.NodeFlags.big: visitLongValue(node, image, of: entry, &tree)
        case PageImage.NodeFlags.table where tree.hasTables:
            guard node.dataSize == PageImage.tableSize else {
                return fail(entry.page, "\(entry) of \(tree.name) is not a table")
            }
            visitTable(node, TreeHead(image, at: node.data), of: entry, tree.name)
        case 0:
            let end = node.data + node.dataSize
            visit(
                UnsafeRawBufferPointer(rebasing: image.bytes[node.data..<end]), node, of: entry,
                tree)
        default:
            fail(entry.page, "\(entry) of \(tree.name) has flags that no store has")
        }
    }

    private mutating func visitTable(
        _ node: PageImage.Node, _ head: TreeHead, of entry: Entry, _ parent: String
    ) {
        let name = String(decoding: node.key, as: UTF8.self)
        let known = options.tables.first { $0.name == name }
        let isKnownKind = known.map { ($0.order == .integers) == (head.flags == 8) } ?? true
        // Of LMDB's kinds of tables, stores only have those with plain keys and those with integer keys.
        guard head.flags & ~8 == 0, head.unused == 0, isKnownKind else {
            return fail(entry.page, "\(entry) of \(parent) is a table of a kind that no store has")
        }
        foundTables.insert(name)
        switch options.scope {
        case .all: break
        case .names: return
        case .table(let wanted): if name != wanted { return }
        }
        var table = Tree("table '\(name)'", head, isIntegers: head.flags == 8)
        if options.verifiesValues { table.seed = ValueSeal.seed(name) }
        follow(&table)
    }

    /// Verifies a value with its own pages.
    private mutating func visitLongValue(
        _ node: PageImage.Node, _ image: PageImage, of entry: Entry, _ tree: inout Tree
    ) {
        let first = image.load(node.data, UInt64.self)
        let needed = UInt64(PageImage.pages(ofValue: node.dataSize, pageSize: pageSize))
        guard options.readsLongValues || tree.hasFreePages else {
            _ = take(first, needed, from: entry.page, tree)
            return
        }
        guard pages.contains(first, 1) else {
            return fail(
                entry.page, "\(tree.name) refers to page \(first), which the file does not contain")
        }
        let head = page(first)
        let count = head.pages
        // A value that was replaced by a shorter one may keep its pages.
        guard head.number == first, head.flags == PageImage.Flags.overflow, count >= needed
        else {
            return fail(
                entry.page,
                "page \(first), the value of \(entry) of \(tree.name), is not a long value of its length"
            )
        }
        guard take(first, count, from: entry.page, tree) else { return }
        tree.overflowPages += count
        let run = page(first, Int(count))
        let start = PageImage.headerSize
        let value = UnsafeRawBufferPointer(rebasing: run.bytes[start..<start + node.dataSize])
        visit(value, node, of: entry, tree)
        add(run, first)
    }

    private mutating func visit(
        _ value: UnsafeRawBufferPointer, _ node: PageImage.Node, of entry: Entry, _ tree: Tree
    ) {
        if tree.hasFreePages {
            switch pages.insertFreePages(value) {
            case .notAList: fail(entry.page, "\(entry) of \(tree.name) is not a list of pages")
            case .impossible(let number):
                fail(entry.page, "\(entry) of \(tree.name) contains the impossible page \(number)")
            case .used(let number):
                fail(
                    entry.page,
                    "\(entry) of \(tree.name) contains page \(number), which is in use")
            case nil: break
            }
            return
        }
        if tree.seed == 0 || ValueSeal.isRight(value, ValueSeal.hash(key: node.key), tree.seed) {
            return
        }
        // Files of earlier builds have no checksums; their format entry has eight bytes.
        if value.count == 8, node.key.elementsEqual("format".utf8) { isOlder = true }
        guard changedValues.count < options.limit else { return }
        changedValues.append("\(entry) of \(tree.name) has changed since it was written")
    }

    // MARK: Mapped pages

    private func page(_ number: UInt64, _ count: Int = 1) -> PageImage {
        PageImage(
            UnsafeRawBufferPointer(
                start: base + Int(number) * pageSize, count: count * pageSize))
    }

    private mutating func add(_ image: PageImage, _ number: UInt64) {
        if options.isSummed { sum &+= FileSeal.sum(image.bytes, number) }
    }
}

/// The pages that searches have verified, with the place of each.
///
/// A damaged branch can lead to a valid page of another place, whose keys are then in the wrong order. So a page is
/// compared with the branches again at another place.
struct KnownPages {
    /// The branch page that leads to a page, and the index of its node there, as a number that is not zero.
    ///
    /// Two places have the same number with a probability of 2⁻³¹.
    struct Place {
        fileprivate let number: UInt32

        init(_ parent: UInt64, _ index: Int) {
            let mixed = (parent << 16 ^ UInt64(index)) &* 0x9E37_79B9_7F4A_7C15
            number = UInt32(truncatingIfNeeded: mixed >> 32) | 1
        }
    }

    /// For each page of the file up to the last known one, the number of its place; 0 for other pages.
    private var places: [UInt32] = []

    func contains(_ page: UInt64) -> Bool { page < places.count && places[Int(page)] != 0 }

    func contains(_ page: UInt64, at place: Place) -> Bool {
        page < places.count && places[Int(page)] == place.number
    }

    mutating func insert(_ page: UInt64, at place: Place) {
        if page >= places.count {
            places.append(contentsOf: repeatElement(0, count: Int(page) + 1 - places.count))
        }
        places[Int(page)] = place.number
    }
}

/// The pages of a file that trees and lists of free pages contain.
///
/// In a valid file, each page from the headers to the last page occurs exactly once. A page that occurs twice would be
/// overwritten while it is in use, and LMDB refuses to copy a file in which a page does not occur.
final class PageSet {
    /// The number of pages that exist in the file and that the version can use.
    let pageCount: UInt64
    private let lastPage: UInt64
    private let words: UnsafeMutablePointer<UInt64>?
    private var count: UInt64 = 0
    /// The free pages after the end of the file.
    ///
    /// One transaction has allocated and freed them, so they were never written.
    private var beyond: [UInt64] = []

    /// Creates a set with the two headers; the caller has compared the header with the file's size.
    ///
    /// Without counting, the set accepts duplicate pages.
    init(pageCount: UInt64, lastPage: UInt64, isCounted: Bool) {
        self.pageCount = pageCount
        self.lastPage = lastPage
        guard isCounted else {
            words = nil
            return
        }
        let size = Int(pageCount / 64) + 1
        let words = UnsafeMutablePointer<UInt64>.allocate(capacity: size)
        words.initialize(repeating: 0, count: size)
        self.words = words
        for header in 0..<min(2, pageCount) { _ = insert(header) }
    }

    deinit { words?.deallocate() }

    /// Adds a page that exists; returns false if it is already in the set.
    @inline(__always)
    func insert(_ number: UInt64) -> Bool {
        guard let words else { return true }
        assert(number < pageCount, "only pages of the file are in the set")
        let index = Int(number >> 6)
        let bit: UInt64 = 1 << (number & 63)
        guard words[index] & bit == 0 else { return false }
        words[index] |= bit
        count += 1
        return true
    }

    /// Whether a range of pages is in the file, after the headers.
    @inline(__always)
    func contains(_ first: UInt64, _ count: UInt64) -> Bool {
        first >= 2 && first < pageCount && count <= pageCount - first
    }

    /// The result of adding a list of free pages.
    enum ListFault {
        case notAList
        /// The list contains a page that does not exist, or its order is wrong.
        case impossible(UInt64)
        case used(UInt64)
    }

    /// Adds the pages of a list of free pages; returns the first error.
    func insertFreePages(_ list: UnsafeRawBufferPointer) -> ListFault? {
        guard let pages = FreePages(list) else { return .notAList }
        var before = lastPage &+ 1
        for number in pages {
            guard number >= 2, number < before else { return .impossible(number) }
            before = number
            if number >= pageCount {
                beyond.append(number)
            } else if !insert(number) {
                return .used(number)
            }
        }
        return nil
    }

    /// Returns the number of pages that are not in the set; nil if a page after the end of the file occurs twice.
    func missingCount() -> UInt64? {
        beyond.sort()
        for (index, number) in beyond.enumerated() where index > 0 && beyond[index - 1] == number {
            return nil
        }
        return lastPage &+ 1 &- count &- UInt64(beyond.count)
    }
}
