import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

// All that Moonpool knows about the bytes of LMDB's data file: the headers on its first two pages, and the form of the
// other pages. The redo log copies and restores the headers, and PageVerifier verifies the pages before LMDB, which
// trusts them, reads them.
//
// The layout is that of data format 1, which all releases of LMDB 0.9 write. ``LMDBFormat/isKnown(_:)`` compares the
// headers of each file that is opened with the results of LMDB's public functions. If the library or the file has another
// layout, the file is used without a redo log.

/// Whether the loaded LMDB writes the layout that this file describes.
enum LMDBFormat {
    /// Whether LMDB is a release with data format 1 with which Moonpool was tested.
    static var isKnownRelease: Bool {
        var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
        mdb_version(&major, &minor, &patch)
        // The patches from 70 on are a different branch.
        return major == 0 && minor == 9 && patch >= 24 && patch < 70
    }

    /// Returns whether the headers of an open file have the layout of ``FileHeader``.
    static func isKnown(_ environment: OpaquePointer) throws(StorageError) -> Bool {
        guard isKnownRelease else { return false }
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        for _ in 0..<100 {
            var info = MDB_envinfo()
            mdb_env_info(environment, &info)
            guard let (newest, _) = try FileHeader.newest(descriptor) else { return false }
            var after = MDB_envinfo()
            mdb_env_info(environment, &after)
            // Other processes may commit in the meantime.
            guard info.me_last_txnid == after.me_last_txnid else { continue }
            return newest.number == UInt64(info.me_last_txnid)
                && newest.lastPage == UInt64(info.me_last_pgno)
                && newest.pageSize == Int(statistics.ms_psize)
                && newest.magic == FileHeader.magic
        }
        return false
    }
}

/// The versions of a store, which are derived from the numbers of LMDB's transactions.
///
/// A commit returns free pages that it has not used to LMDB's list, as records with the numbers of earlier transactions.
/// With many free pages and few earlier transactions, each record takes many pages. Each later commit then searches the
/// whole list for consecutive pages, and writes it again: several megabytes, after the first 100 transactions have
/// inserted 100 million objects. The transactions of new files and of copies therefore begin with a great number, so that
/// each record takes one page. Other files, of earlier builds, begin with 1.
enum FileVersion {
    /// The number that is added to the versions of a file; even, because the parity of a version selects its header.
    static let offset: UInt64 = 1 << 40

    /// Returns the version of a transaction's number.
    @inline(__always)
    static func of(number: UInt64) -> UInt64 { number & (offset - 1) }

    /// Returns the version that a transaction reads or creates.
    @inline(__always)
    static func of(_ transaction: OpaquePointer?) -> UInt64 {
        of(number: UInt64(mdb_txn_id(transaction)))
    }

    /// Returns the newest version in an open data file.
    @inline(__always)
    static func newest(_ environment: OpaquePointer) -> UInt64 {
        of(number: newestNumber(environment))
    }

    /// Returns the number of the newest transaction in an open data file.
    @inline(__always)
    static func newestNumber(_ environment: OpaquePointer) -> UInt64 {
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        return UInt64(info.me_last_txnid)
    }
}

/// LMDB's two headers, each on one of the first two pages.
///
/// The header with the greater version describes the newest version; each commit overwrites the older one.
enum FileHeader {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let formatVersion: UInt32 = 1
    static let pageHeaderSize = 16
    static let metaSize = 136
    /// The offsets of the tree of free pages and of the tree of names on a header page.
    static let freeOffset = pageHeaderSize + 24
    static let namesOffset = freeOffset + PageImage.tableSize
    /// `MDB_INTEGERKEY`, because versions are the keys of the list of free pages, and `MDB_NOSUBDIR`, which LMDB stores
    /// in the same field.
    static let freeFlags: UInt16 = 0x4008

    /// Returns whether a number is a page size that LMDB supports.
    static func isPageSize(_ size: Int) -> Bool {
        size >= 512 && size <= 65536 && size & (size - 1) == 0
    }

    struct Meta {
        /// The number and the kind of the page.
        var page: UInt64
        var flags: UInt16
        var magic: UInt32
        var format: UInt32
        var mapSize: UInt64
        var pageSize: Int
        var roots: [UInt64]
        var lastPage: UInt64
        /// The number of the transaction.
        var number: UInt64
        var version: UInt64 { FileVersion.of(number: number) }

        /// Decodes the header on a page; the rest of the page may be missing.
        init(_ image: PageImage) {
            let start = pageHeaderSize
            page = image.number
            flags = image.flags
            magic = image.load(start, UInt32.self)
            format = image.load(start + 4, UInt32.self)
            mapSize = image.load(start + 16, UInt64.self)
            pageSize = Int(image.load(start + 24, UInt32.self))
            roots = [24, 72].map { image.load(start + $0 + 40, UInt64.self) }
            lastPage = image.load(start + 120, UInt64.self)
            number = image.load(start + 128, UInt64.self)
        }

        /// Whether the page size is one that LMDB supports.
        var hasPageSize: Bool { FileHeader.isPageSize(pageSize) }

        /// Returns whether LMDB can write this header to a page.
        func isPlausible(at index: UInt64) -> Bool {
            page == index && flags == PageImage.Flags.meta && format == formatVersion
                && number < 2 * FileVersion.offset && lastPage > 0 && lastPage < 1 << 47
        }

        /// Returns whether two headers can belong to one file: each commit overwrites the older one with the next
        /// version.
        func isNeighbor(of other: Meta) -> Bool {
            max(number, other.number) - min(number, other.number) <= 1
        }
    }

    /// Reads one of the headers; nil if the file is too short.
    static func meta(_ descriptor: Int32, at offset: Int) throws(StorageError) -> Meta? {
        let bytes = try Platform.read(descriptor, pageHeaderSize + metaSize, at: offset)
        return bytes?.withUnsafeBytes { Meta(PageImage($0)) }
    }

    /// Returns the header of the newest version, and its index.
    static func newest(_ descriptor: Int32) throws(StorageError) -> (Meta, Int)? {
        guard let first = try meta(descriptor, at: 0), first.hasPageSize,
            let second = try meta(descriptor, at: first.pageSize), second.pageSize == first.pageSize
        else { return nil }
        return second.number > first.number ? (second, 1) : (first, 0)
    }

    /// Returns whether a file begins with LMDB's first header.
    static func isStore(_ descriptor: Int32) throws(StorageError) -> Bool {
        guard let bytes = try Platform.read(descriptor, 24, at: 0) else { return false }
        return bytes.withUnsafeBytes { bytes in
            bytes.load(as: UInt64.self) == 0
                && bytes.load(fromByteOffset: 16, as: UInt32.self) == magic
                && bytes.load(fromByteOffset: 20, as: UInt32.self) == formatVersion
        }
    }

    /// Returns whether a file has no bytes, so that it can become a new store.
    ///
    /// Zeros are not a new store: something may have overwritten another one with them.
    static func isEmpty(_ descriptor: Int32) -> Bool { lseek(descriptor, 0, SEEK_END) == 0 }

    /// Reads the current two headers of LMDB in an open data file, without their page headers.
    static func metas(_ descriptor: Int32, pageSize: Int) throws(StorageError) -> [[UInt8]]? {
        var metas: [[UInt8]] = []
        for index in 0..<2 {
            let offset = index * pageSize + pageHeaderSize
            guard let bytes = try Platform.read(descriptor, metaSize, at: offset) else {
                return nil
            }
            metas.append(bytes)
        }
        return metas
    }

    /// Writes LMDB's headers back to an open data file.
    static func restore(_ metas: [[UInt8]], _ descriptor: Int32, pageSize: Int) -> Bool {
        for (index, bytes) in metas.enumerated() {
            let offset = off_t(index * pageSize + pageHeaderSize)
            guard bytes.count == metaSize, pwrite(descriptor, bytes, metaSize, offset) == metaSize
            else { return false }
        }
        return true
    }

    /// Assigns a version to the content of one of the headers.
    ///
    /// The header for the version's parity then describes this content, and the other header describes the previous
    /// version with the same content. Returns false if the file cannot be written.
    static func number(_ descriptor: Int32, pageSize: Int, from index: Int, as version: UInt64)
        -> Bool
    {
        var content = [UInt8](repeating: 0, count: metaSize)
        let offset = off_t(index * pageSize + pageHeaderSize)
        guard pread(descriptor, &content, metaSize, offset) == metaSize else { return false }
        for parity in 0...1 {
            let number = version & 1 == UInt64(parity) ? version : version - 1
            content.withUnsafeMutableBytes { bytes in
                bytes.storeBytes(
                    of: number | FileVersion.offset, toByteOffset: metaSize - 8, as: UInt64.self)
            }
            let offset = off_t(parity * pageSize + pageHeaderSize)
            guard pwrite(descriptor, content, metaSize, offset) == metaSize else { return false }
        }
        return true
    }
}

/// LMDB's headers in the map of an open file.
package struct MappedHeaders {
    private let base: UnsafeRawPointer
    private let pageSize: Int

    /// Where a version is in its file: a compact copy of the same version has another place.
    package struct Layout: Equatable {
        fileprivate let root: UInt64
        fileprivate let lastPage: UInt64
    }

    init(_ base: UnsafeRawPointer, pageSize: Int) {
        self.base = base
        self.pageSize = pageSize
    }

    @inline(__always)
    private func load(_ index: UInt64, _ offset: Int) -> UInt64 {
        (base + Int(index) * pageSize + FileHeader.pageHeaderSize).loadUnaligned(
            fromByteOffset: offset, as: UInt64.self)
    }

    /// Copies the fields of a header.
    @inline(__always)
    func copy(_ index: UInt64, to target: UnsafeMutableRawPointer) {
        let header = base + Int(index) * pageSize + FileHeader.pageHeaderSize
        target.copyMemory(from: header, byteCount: FileHeader.metaSize)
    }

    /// Whether both pages are headers.
    @inline(__always)
    var arePresent: Bool {
        let mark = UInt64(FileHeader.formatVersion) << 32 | UInt64(FileHeader.magic)
        return load(0, 0) == mark && load(1, 0) == mark
    }

    /// Returns the layout of a version; nil if it is not the newest one.
    ///
    /// The next commit but one overwrites the header of the version, but only after the next commit is visible in the
    /// other header. So the header of the newest version is complete.
    @inline(__always)
    func layout(of version: UInt64) -> Layout? {
        let index = version & 1
        guard FileVersion.of(number: load(index, 128)) == version else { return nil }
        let layout = Layout(root: load(index, 112), lastPage: load(index, 120))
        atomicMemoryFence(ordering: .acquiring)
        return FileVersion.of(number: load(index ^ 1, 128)) < version ? layout : nil
    }
}

/// The bytes of one of LMDB's pages, which may be damaged.
///
/// Another process may overwrite them at any time, because a walk does not keep the pages of its version. So each field
/// that determines what is read is read only once.
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
        /// The additional flag of a page that the open write has created in the map.
        static let dirty: UInt16 = 0x10
    }

    enum NodeFlags {
        /// The flag of data that is on its own pages.
        static let big: UInt16 = 1
        /// The flag of data that is the head of another tree.
        static let table: UInt16 = 2
    }

    let bytes: UnsafeRawBufferPointer
    /// The bounds of the free space.
    private let lower: Int
    private let upper: Int

    /// Creates an image of the bytes of a whole page.
    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        lower = Int(bytes.loadUnaligned(fromByteOffset: 12, as: UInt16.self))
        upper = Int(bytes.loadUnaligned(fromByteOffset: 14, as: UInt16.self))
    }

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

    /// Whether the bounds of the free space are valid.
    var hasBounds: Bool {
        lower >= Self.headerSize && lower % 2 == 0 && lower <= upper && upper <= bytes.count
    }

    /// The number of nodes; meaningful only with valid bounds.
    var nodeCount: Int { max(0, (lower - Self.headerSize) / 2) }

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
        // The lengths of the nodes by their offsets; both are even, so they are halved.
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: bytes.count / 2) { lengths in
            lengths.initialize(repeating: 0)
            for index in 0..<nodeCount {
                guard let range = node(index, isLeaf: isLeaf)?.range,
                    range.lowerBound.isMultiple(of: 2)
                else { return false }
                lengths[range.lowerBound / 2] = UInt16(range.count / 2)
            }
            var end = upper
            var found = 0
            while end < bytes.count, end.isMultiple(of: 2), lengths[end / 2] > 0 {
                end += 2 * Int(lengths[end / 2])
                found += 1
            }
            return end == bytes.count && found == nodeCount
        }
    }

    /// Returns a node; nil if it is not completely on the page.
    func node(_ index: Int, isLeaf: Bool) -> Node? {
        let offset = Self.headerSize + 2 * index
        guard offset + 2 <= bytes.count else { return nil }
        let start = Int(load(offset, UInt16.self))
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
    static let maxDepth = 32

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
        return depth > 0 && depth <= Self.maxDepth && root >= 2 && root <= lastPage
    }
}
