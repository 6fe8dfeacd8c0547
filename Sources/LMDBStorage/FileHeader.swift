#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// LMDB's two meta pages, read before the file is mapped.
///
/// Access to a page beyond the end of a mapped file is a bus error and not an error code, so a truncated file must be
/// detected before LMDB opens it.
enum FileHeader {
    static let magic: UInt32 = 0xBEEF_C0DE
    static let formatVersion: UInt32 = 1
    static let pageHeaderSize = 16
    static let metaSize = 136

    /// Throws unless the file is empty or a complete LMDB file of a known version.
    static func check(_ descriptor: Int32, path: String) throws(StorageError) {
        // Other processes may write in the meantime: pages that are missing for one version may exist for the next.
        var attempts = 20
        while try !isWhole(descriptor, path, isLast: attempts == 0) { attempts -= 1 }
    }

    /// Returns whether the creation of a file did not finish: it is empty, all zeros, or has only LMDB's headers.
    static func isUnfinished(_ descriptor: Int32) -> Bool {
        // The size is negative if the system has none, as for files in /proc.
        let size = Int(lseek(descriptor, 0, SEEK_END))
        guard size >= 0 else { return false }
        if size == 0 { return true }
        let metas = [meta(descriptor, at: 0), meta(descriptor, at: 4096)]
        let known = metas.compactMap { $0 }.filter { $0.magic == magic }
        if known.contains(where: { $0.format != formatVersion || $0.roots != [.max, .max] }) {
            return false
        }
        if known.contains(where: { $0.version > 0 }) { return false }
        if known.count == 2 { return true }
        // One or both of the headers never reached the device.
        guard size <= largestUnfinished else { return false }
        var bytes = [UInt8](repeating: 0, count: size)
        guard pread(descriptor, &bytes, size, 0) == size else { return false }
        for (index, meta) in metas.enumerated() where meta?.magic == magic {
            for offset in index * 4096..<min(size, (index + 1) * 4096) { bytes[offset] = 0 }
        }
        return bytes.allSatisfy { $0 == 0 }
    }

    /// The maximum size of an unfinished file: the headers and the pages of the first commits.
    private static let largestUnfinished = 8 * 4096

    /// Throws `damaged` unless LMDB can safely read the pages of the newest version.
    ///
    /// All pages are verified if the file has at most ``largestAtOpening`` bytes, otherwise only the pages with the
    /// names of tables and the list of free pages. Takes a few milliseconds. Other processes may write in the meantime.
    /// Returns whether all pages were verified.
    static func checkPagesAtOpening(
        _ descriptor: Int32, path: String
    ) throws(StorageError) -> Bool {
        if let fault = HeaderVerifier.versionFault(descriptor) {
            throw StorageError(.damaged, call: fault, file: path)
        }
        let isSmall = lseek(descriptor, 0, SEEK_END) <= largestAtOpening
        try checkPages(descriptor, path: path, isSmall ? .all : .names)
        return isSmall
    }

    /// Throws `damaged` unless LMDB can safely read the pages of the newest version.
    ///
    /// Other processes may write in the meantime.
    static func checkPages(
        _ descriptor: Int32, path: String, _ scope: PageTree.Scope = .all,
        withLongValues: Bool = true
    ) throws(StorageError) {
        for _ in 0..<20 {
            guard let (meta, index) = newest(descriptor) else {
                throw StorageError(.damaged, call: "its header", file: path)
            }
            guard
                var tree = PageTree(
                    descriptor, meta, isSummed: false, scope, readsLongValues: withLongValues)
            else {
                throw StorageError(rawCode: ENOMEM, call: "mmap", file: path)
            }
            if tree.isSound(header: index) { return }
            // No writer overwrites the pages of the newest version.
            guard newest(descriptor)?.0.version != meta.version else {
                let page = tree.faultyPage.map { "page \($0)" } ?? "its page counts"
                throw StorageError(.damaged, call: page, file: path)
            }
        }
    }

    /// The maximum size of files whose pages are all verified on opening; larger files would take too long.
    static let largestAtOpening = 32 << 20

    /// Throws `severalNames` if a file has hard links, because each name would have its own lock file.
    static func requireOneName(_ status: stat, _ path: String) throws(StorageError) {
        if status.st_nlink > 1 {
            throw StorageError(.severalNames, call: "\(status.st_nlink)", file: path)
        }
    }

    /// Returns whether all pages of the newest version exist; false if the check must be repeated.
    private static func isWhole(
        _ descriptor: Int32, _ path: String, isLast: Bool
    ) throws(StorageError) -> Bool {
        if lseek(descriptor, 0, SEEK_END) == 0 { return true }
        guard let first = meta(descriptor, at: 0), first.magic == magic else {
            let call = isRealm(descriptor, path) ? StorageError.realm : "file header"
            throw StorageError(.notAStore, call: call, file: path)
        }
        guard first.format == formatVersion else {
            throw StorageError(.newerFormat, call: "file header", file: path)
        }
        let page = first.pageSize
        guard first.hasPageSize,
            let second = meta(descriptor, at: page), second.magic == magic,
            second.pageSize == page
        else { throw StorageError(.damaged, call: "file header", file: path) }
        guard first.isPlausible(at: 0), second.isPlausible(at: 1), first.isNeighbor(of: second)
        else {
            return try isRetried(
                [first, second], descriptor, path, isLast: isLast, fault: "its header")
        }
        let newest = second.version > first.version ? second : first
        // The size is read after the headers, because no file becomes shorter than the content that they describe.
        let size = Int(lseek(descriptor, 0, SEEK_END))
        if newest.lastPage >= UInt64(size / page) {
            // Pages that a transaction allocated and freed may be missing after the end of the file.
            let index = second.version > first.version ? 1 : 0
            guard var tree = PageTree(descriptor, newest, isSummed: false),
                tree.isSound(header: index), tree.hasAllPages
            else {
                return try isRetried(
                    [first, second], descriptor, path, isLast: isLast,
                    fault: "shorter than its header declares")
            }
        }
        return true
    }

    /// Returns whether a file begins with LMDB's first header.
    static func isStore(_ descriptor: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 24)
        guard pread(descriptor, &bytes, 24, 0) == 24 else { return false }
        return bytes.withUnsafeBytes { bytes in
            bytes.load(as: UInt64.self) == 0
                && bytes.load(fromByteOffset: 16, as: UInt32.self) == magic
                && bytes.load(fromByteOffset: 20, as: UInt32.self) == formatVersion
        }
    }

    /// Returns whether this is a Realm file: by its header, or by its name if it is encrypted.
    private static func isRealm(_ descriptor: Int32, _ path: String) -> Bool {
        var mark: UInt32 = 0
        let isRead = pread(descriptor, &mark, 4, 16) == 4
        return isRead && UInt32(littleEndian: mark) == 0x4244_2D54 || path.hasSuffix(".realm")
    }

    /// Returns false if another process has committed in the meantime; throws `damaged` otherwise.
    private static func isRetried(
        _ metas: [Meta], _ descriptor: Int32, _ path: String, isLast: Bool, fault what: String
    ) throws(StorageError) -> Bool {
        let versions = [0, metas[0].pageSize].map { meta(descriptor, at: $0)?.version }
        if !isLast, versions != metas.map(\.version) { return false }
        throw StorageError(.damaged, call: what, file: path)
    }

    /// Returns the maximum size that the last writer of the file allows; 0 for an empty file.
    static func mapSize(_ descriptor: Int32) -> Int {
        guard let first = meta(descriptor, at: 0) else { return 0 }
        let second = meta(descriptor, at: first.pageSize)
        return Int(clamping: max(first.mapSize, second?.mapSize ?? 0))
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
        var version: UInt64

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
            version = image.load(start + 128, UInt64.self)
        }

        /// Whether the page size is one that LMDB supports.
        var hasPageSize: Bool {
            pageSize >= 512 && pageSize <= 65536 && pageSize & (pageSize - 1) == 0
        }

        /// Returns whether LMDB can write this header to a page.
        func isPlausible(at index: UInt64) -> Bool {
            page == index && flags == PageImage.Flags.meta && format == formatVersion
                && version < 1 << 62 && lastPage > 0 && lastPage < 1 << 47
        }

        /// Returns whether two headers can belong to one file: each commit overwrites the older one with the next
        /// version.
        func isNeighbor(of other: Meta) -> Bool {
            max(version, other.version) - min(version, other.version) <= 1
        }
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
                bytes.storeBytes(of: number, toByteOffset: metaSize - 8, as: UInt64.self)
            }
            let offset = off_t(parity * pageSize + pageHeaderSize)
            guard pwrite(descriptor, content, metaSize, offset) == metaSize else { return false }
        }
        return true
    }

    static func meta(_ descriptor: Int32, at offset: Int) -> Meta? {
        var bytes = [UInt8](repeating: 0, count: pageHeaderSize + metaSize)
        let wanted = bytes.count
        guard pread(descriptor, &bytes, wanted, off_t(offset)) == wanted else { return nil }
        return bytes.withUnsafeBytes { Meta(PageImage($0)) }
    }
}
