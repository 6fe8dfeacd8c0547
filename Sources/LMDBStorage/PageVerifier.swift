#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Verifies every page that the newest version of a file uses, by plain reads.
///
/// LMDB trusts the pages that it maps: a damaged page ends the process by a signal or an assertion. A verification must
/// therefore check the pages before LMDB reads them.
package struct PageVerifier {
    /// The expected form of a tree, and the description of its location.
    private struct Tree {
        let name: String
        let head: TreeHead
        let isIntegers: Bool
        /// Whether the values are the heads of other trees.
        var hasTables = false
        /// Whether the values are lists of free pages.
        var hasFreePages = false
        /// The seed of the table in the checksums of its values; nil if they have none.
        var seed: UInt64?
    }

    /// The pages and entries of a tree that were counted so far.
    private struct Count {
        var branchPages: UInt64 = 0
        var leafPages: UInt64 = 0
        var overflowPages: UInt64 = 0
        var entries: UInt64 = 0
        var lastKey: [UInt8]?
        /// The lower bound of the keys in the next leaf.
        var floor: [UInt8]?
    }

    private let descriptor: Int32
    private let pageSize: Int
    private let pageCount: UInt64
    private let limit: Int
    /// The tables that the file must have.
    private let tables: [TableName]
    private var foundTables: Set<String> = []
    private let pages: PageSet
    private var faults: [String] = []
    /// The values with wrong checksums, which do not end the verification of the pages.
    private var changed: [String] = []
    private var isOlder = false

    /// Returns descriptions of the errors in a file's pages; none for a valid or an empty file.
    ///
    /// Reads every used page once. Other processes may write in the meantime. At most `limit` errors are listed. Throws
    /// `notAStore`, `newerFormat`, `notFound`, `permission`, and `damaged` if the file's header is damaged. A file that
    /// was being written when the machine stopped is recovered first; throws `needsRecovery` if it may not be written.
    /// `tables` are the tables that the file must have.
    package static func faults(
        path: String, atMost limit: Int, tables: [TableName] = []
    ) throws(StorageError) -> [String] {
        let location = try FileLocation(path)
        do throws(StorageError) {
            return try faultsOnceComplete(location.path, limit, tables)
        } catch {
            throw error.named(location)
        }
    }

    private static func faultsOnceComplete(
        _ path: String, _ limit: Int, _ tables: [TableName]
    ) throws(StorageError) -> [String] {
        let isWritable = access(path, W_OK) == 0 && access(Platform.folder(of: path), W_OK) == 0
        do throws(StorageError) {
            try EnvironmentRegistry.excluding(path) { () throws(StorageError) in
                try LogRecovery.prepare(path, isWritable: isWritable)
            }
        } catch {
            // If this process has the file open, it is already recovered.
            guard error.code == .inUse, error.call == EnvironmentRegistry.thisProcess else {
                throw error
            }
        }
        return try faultsAsItIs(path: path, atMost: limit, tables: tables)
    }

    /// Returns the errors of a file without recovering it.
    static func faultsAsItIs(
        path: String, atMost limit: Int, tables: [TableName] = []
    ) throws(StorageError) -> [String] {
        let descriptor = Platform.openDescriptor(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw StorageError(rawCode: errno, call: "open", file: path) }
        defer { close(descriptor) }
        if FileHeader.isUnfinished(descriptor) {
            throw StorageError(.empty, call: "open", file: path)
        }
        return try faults(of: descriptor, path: path, atMost: limit, tables: tables)
    }

    /// Returns the errors of an open file; `path` is its name in errors.
    static func faults(
        of descriptor: Int32, path: String, atMost limit: Int, tables: [TableName] = []
    ) throws(StorageError) -> [String] {
        try FileHeader.check(descriptor, path: path)
        let headers = HeaderVerifier.faults(descriptor)
        // Writers do not overwrite pages of the newest version. If it is no longer the newest one, the verification may
        // have read a mixture.
        var attempts = 20
        while true {
            guard let before = Self.newest(descriptor) else { return [] }
            var verifier = PageVerifier(descriptor, before.meta, limit, tables)
            verifier.verify(before.image, before.index)
            if verifier.isOlder { throw StorageError(.olderFormat, call: "check", file: path) }
            verifier.verifySeal(before.meta.version)
            let after = Self.newest(descriptor)?.meta.version ?? before.meta.version
            attempts -= 1
            let found = headers + verifier.faults + verifier.changed
            let faults = Array(found.prefix(limit))
            if faults.isEmpty || after == before.meta.version {
                return faults
            }
            // If another process commits this often without an error, the pages are valid.
            if attempts == 0 { return headers }
        }
    }

    private static func newest(
        _ descriptor: Int32
    ) -> (meta: FileHeader.Meta, index: Int, image: [UInt8])? {
        guard let first = FileHeader.meta(descriptor, at: 0),
            first.hasPageSize,
            let second = FileHeader.meta(descriptor, at: first.pageSize),
            second.pageSize == first.pageSize
        else { return nil }
        let index = second.version > first.version ? 1 : 0
        var image = [UInt8](repeating: 0, count: first.pageSize)
        let offset = off_t(index * first.pageSize)
        guard pread(descriptor, &image, image.count, offset) == image.count else { return nil }
        return (index == 1 ? second : first, index, image)
    }

    private init(
        _ descriptor: Int32, _ meta: FileHeader.Meta, _ limit: Int, _ tables: [TableName]
    ) {
        self.descriptor = descriptor
        self.limit = limit
        self.tables = tables
        pageSize = meta.pageSize
        let size = lseek(descriptor, 0, SEEK_END)
        let present = UInt64(max(0, Int(size))) / UInt64(meta.pageSize)
        pageCount = meta.lastPage < present ? meta.lastPage + 1 : present
        pages = PageSet(pageCount: pageCount, lastPage: meta.lastPage)
    }

    private mutating func add(_ fault: String) { if faults.count < limit { faults.append(fault) } }

    // MARK: Trees

    private mutating func verify(_ header: [UInt8], _ index: Int) {
        header.withUnsafeBytes { bytes in
            let image = PageImage(bytes)
            let base = PageImage.headerSize
            let free = TreeHead(image, at: base + 24)
            let main = TreeHead(image, at: base + 24 + PageImage.tableSize)
            verify(Tree(name: "the list of tables", head: main, isIntegers: false, hasTables: true))
            for table in tables where faults.isEmpty && !foundTables.contains(table.name) {
                add("table '\(table.name)' is missing")
            }
            verify(
                Tree(
                    name: "the list of free pages", head: free, isIntegers: true,
                    hasFreePages: true))
            guard faults.isEmpty else { return }
            let missing = pages.missingCount()
            if missing != 0 {
                let count = missing.map { "\($0) page\($0 == 1 ? "" : "s")" } ?? "pages"
                add("\(count) of the file are neither used nor free")
            }
        }
    }

    private mutating func verify(_ tree: Tree) {
        var count = Count()
        let head = tree.head
        guard head.depth <= TreeHead.greatestDepth, (head.depth == 0) == (head.root == nil) else {
            return add("the header of \(tree.name) has the invalid depth \(head.depth)")
        }
        if let root = head.root {
            visit(root, depth: 1, tree: tree, count: &count)
        }
        // The page was already reported as missing.
        guard faults.isEmpty else { return }
        if count.entries != head.entries {
            add("\(tree.name) has \(count.entries) entries; its header states \(head.entries)")
        }
        let pages = [count.branchPages, count.leafPages, count.overflowPages]
        if pages != [head.branchPages, head.leafPages, head.overflowPages] {
            add("\(tree.name) has a different number of pages than its header states")
        }
    }

    /// Marks pages as used; reports an error and returns false if they do not exist or were already used.
    private mutating func take(_ first: UInt64, _ count: UInt64, _ tree: Tree) -> Bool {
        guard pages.contains(first, count) else {
            add("\(tree.name) refers to page \(first), which the file does not contain")
            return false
        }
        for number in first..<first + count where !pages.insert(number) {
            add("page \(number) of \(tree.name) is used twice")
            return false
        }
        return true
    }

    private mutating func visit(
        _ number: UInt64, depth: Int, tree: Tree, count: inout Count
    ) {
        guard faults.count < limit, take(number, 1, tree) else { return }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 8)
        defer { bytes.deallocate() }
        guard read(number, into: bytes) else {
            return add("page \(number) of \(tree.name) cannot be read")
        }
        let image = PageImage(UnsafeRawBufferPointer(bytes))
        guard image.number == number else {
            return add("page \(number) of \(tree.name) has the number \(image.number)")
        }
        let isLeaf = depth == tree.head.depth
        guard image.flags == (isLeaf ? PageImage.Flags.leaf : PageImage.Flags.branch) else {
            return add("page \(number) of \(tree.name) is not a \(isLeaf ? "leaf" : "branch")")
        }
        guard image.hasBounds, image.nodeCount >= (isLeaf ? 1 : 2) else {
            return add("page \(number) of \(tree.name) has invalid bounds")
        }
        if isLeaf { count.leafPages += 1 } else { count.branchPages += 1 }
        if !image.isPacked(isLeaf: isLeaf) {
            add("the entries of page \(number) of \(tree.name) overlap, or leave a gap")
        }
        for index in 0..<image.nodeCount {
            guard let node = image.node(index, isLeaf: isLeaf) else {
                return add(
                    "entry \(index) of page \(number) of \(tree.name) is outside of the page")
            }
            let location = "entry \(index) of page \(number) of \(tree.name)"
            if isLeaf {
                guard verifyKey(node.key, of: tree, count: &count, at: location) else { return }
                verifyValue(of: node, image: image, tree: tree, count: &count, at: location)
            } else {
                if index > 0 {
                    let key = [UInt8](node.key)
                    if tree.isIntegers && key.count != 8 {
                        add("\(location) has a key of \(key.count) bytes")
                    }
                    if let last = count.lastKey, !Self.isAscending(last, key, tree) {
                        add("\(location) is in the wrong order")
                    }
                    count.floor = key
                }
                visit(node.child, depth: depth + 1, tree: tree, count: &count)
            }
        }
    }

    private mutating func verifyKey(
        _ key: UnsafeRawBufferPointer, of tree: Tree, count: inout Count, at location: String
    ) -> Bool {
        guard !key.isEmpty, !tree.isIntegers || key.count == 8 else {
            add("\(location) has a key of \(key.count) bytes")
            return false
        }
        let bytes = [UInt8](key)
        let isAfterLast = count.lastKey.map { Self.isAscending($0, bytes, tree) } ?? true
        let isAboveFloor = count.floor.map { !Self.isAscending(bytes, $0, tree) } ?? true
        if !isAfterLast || !isAboveFloor { add("\(location) is in the wrong order") }
        count.lastKey = bytes
        count.floor = nil
        count.entries += 1
        return true
    }

    private static func isAscending(_ one: [UInt8], _ other: [UInt8], _ tree: Tree) -> Bool {
        guard tree.isIntegers, one.count == 8, other.count == 8 else {
            return one.lexicographicallyPrecedes(other)
        }
        func number(_ bytes: [UInt8]) -> UInt64 {
            bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        }
        return number(one) < number(other)
    }

    // MARK: Values

    private mutating func verifyValue(
        of node: PageImage.Node, image: PageImage, tree: Tree, count: inout Count,
        at location: String
    ) {
        switch node.flags {
        case PageImage.NodeFlags.big:
            verifyLongValue(of: node, image: image, tree: tree, count: &count, at: location)
        case PageImage.NodeFlags.table where tree.hasTables:
            guard node.dataSize == PageImage.tableSize else {
                return add("\(location) is not a table")
            }
            let head = TreeHead(image, at: node.data)
            // Of LMDB's kinds of tables, stores only have those with plain keys and those with integer keys.
            let name = String(decoding: node.key, as: UTF8.self)
            let known = tables.first { $0.name == name }
            let isKnownKind = known.map { ($0.order == .integers) == (head.flags == 8) } ?? true
            guard head.flags & ~8 == 0, head.unused == 0, isKnownKind else {
                return add("\(location) is a table of a kind that no store has")
            }
            foundTables.insert(name)
            verify(
                Tree(
                    name: "table '\(name)'", head: head, isIntegers: head.flags == 8,
                    seed: ValueSeal.seed(name)))
        case 0:
            let value = UnsafeRawBufferPointer(
                rebasing: image.bytes[node.data..<node.data + node.dataSize])
            if tree.hasFreePages { verifyFreePages(value, of: node, location) }
            verifyChecksum(of: value, node: node, tree: tree, at: location)
        default: add("\(location) has flags that no store has")
        }
    }

    /// Verifies a value with its own pages.
    private mutating func verifyLongValue(
        of node: PageImage.Node, image: PageImage, tree: Tree, count: inout Count,
        at location: String
    ) {
        let first = image.load(node.data, UInt64.self)
        let needed = PageImage.pages(ofValue: node.dataSize, pageSize: pageSize)
        guard first >= 2, first < pageCount else {
            return add("\(tree.name) refers to page \(first), which the file does not contain")
        }
        // A value that was replaced by a shorter one may keep its pages.
        guard let pages = longValuePages(first), pages >= needed else {
            return add("page \(first), the value of \(location), is not a long value of its length")
        }
        guard take(first, UInt64(pages), tree) else { return }
        count.overflowPages += UInt64(pages)
        let bytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: needed * pageSize, alignment: 8)
        defer { bytes.deallocate() }
        guard read(first, into: bytes) else {
            return add("page \(first) of \(tree.name) cannot be read")
        }
        let end = PageImage.headerSize + node.dataSize
        let value = UnsafeRawBufferPointer(
            rebasing: UnsafeRawBufferPointer(bytes)[PageImage.headerSize..<end])
        if tree.hasFreePages { verifyFreePages(value, of: node, location) }
        verifyChecksum(of: value, node: node, tree: tree, at: location)
    }

    private mutating func verifyChecksum(
        of value: UnsafeRawBufferPointer, node: PageImage.Node, tree: Tree, at location: String
    ) {
        guard let seed = tree.hasTables ? ValueSeal.seed("names") : tree.seed else { return }
        if ValueSeal.isRight(value, ValueSeal.hash(key: node.key), seed) { return }
        // Files of earlier builds have no checksums; their format entry has eight bytes.
        if value.count == 8, node.key.elementsEqual("format".utf8) { isOlder = true }
        if changed.count < limit { changed.append("\(location) has changed since it was written") }
    }

    /// Compares the checksum of all pages, if the file has one for this version.
    private mutating func verifySeal(_ version: UInt64) {
        guard faults.isEmpty, changed.isEmpty else { return }
        verifyMarker()
        switch FileSeal.read(descriptor) {
        case .none: break
        case .damaged: add("the checksum of the file is damaged")
        case .seal(let seal):
            if seal.version > version {
                guard seal.boot != 0, seal.boot != BootIdentity.present.low | 1 else {
                    return add("the header of version \(seal.version) is damaged")
                }
            }
            guard seal.version == version else { return }
            guard let now = FileSeal.compute(descriptor, isFlushed: true) else {
                return add("the pages cannot be read")
            }
            if now.version == version, now.pages != seal.pages {
                add("the unused part of a page has changed since it was written")
            }
            if now.version == version, now.headers != seal.headers {
                add("a header has changed since it was written")
            }
        }
    }

    /// Verifies that the first page contains a valid marker or zeros.
    private mutating func verifyMarker() {
        var bytes = [UInt8](repeating: 0, count: LogMarker.size)
        guard
            pread(descriptor, &bytes, bytes.count, off_t(LogMarker.offset)) == bytes.count,
            bytes.contains(where: { $0 != 0 }), LogMarker.read(descriptor).id == 0
        else { return }
        add("the marker of the log is damaged")
    }

    /// Returns the number of pages of a long value that begins with this page; nil if it is not a first page.
    private func longValuePages(_ first: UInt64) -> Int? {
        guard first < pageCount else { return nil }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 8)
        defer { bytes.deallocate() }
        guard read(first, into: bytes) else { return nil }
        let image = PageImage(UnsafeRawBufferPointer(bytes))
        guard image.number == first, image.flags == PageImage.Flags.overflow else { return nil }
        return Int(clamping: image.pages)
    }

    private mutating func verifyFreePages(
        _ list: UnsafeRawBufferPointer, of node: PageImage.Node, _ location: String
    ) {
        if node.key.allSatisfy({ $0 == 0 }) {
            add("\(location) has the impossible version 0")
        }
        switch pages.insertFreePages(list) {
        case .notAList: add("\(location) is not a list of pages")
        case .impossible(let number): add("\(location) contains the impossible page \(number)")
        case .used(let number): add("\(location) contains page \(number), which is in use")
        case nil: break
        }
    }

    private func read(_ number: UInt64, into bytes: UnsafeMutableRawBufferPointer) -> Bool {
        let offset = off_t(number) * off_t(pageSize)
        return pread(descriptor, bytes.baseAddress, bytes.count, offset) == bytes.count
    }
}
