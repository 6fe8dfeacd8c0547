#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Verifies LMDB's two headers, which have no checksum.
///
/// Most fields have only one valid value. The versions must follow one another and agree with the lists of free pages:
/// each commit stores the pages that it has freed under its version. The trees of the newest version are verified
/// elsewhere, and determine the other fields of its header.
struct HeaderVerifier {
    private let descriptor: Int32
    private let pageSize: Int
    /// The first two pages of the file.
    private let pages: [[UInt8]]
    private let metas: [FileHeader.Meta]
    /// The index of the newest version's header.
    private let newest: Int

    private static let metaEnd = FileHeader.pageHeaderSize + FileHeader.metaSize
    private static let freeOffset = FileHeader.pageHeaderSize + 24
    private static let mainOffset = freeOffset + PageImage.tableSize
    /// The range of the fields that describe the content of a version.
    private static let content = FileHeader.pageHeaderSize + 16..<metaEnd - 8
    /// `MDB_INTEGERKEY`, because versions are the keys of the list of free pages, and `MDB_NOSUBDIR`, which LMDB stores
    /// in the same field.
    static let freeFlags: UInt16 = 0x4008
    /// The greatest address space of a process.
    private static let largestMap: UInt64 = 1 << 47

    /// Reads the headers of an open file; nil if it has no two headers.
    private init?(_ descriptor: Int32) {
        guard let first = FileHeader.meta(descriptor, at: 0), first.hasPageSize else { return nil }
        self.descriptor = descriptor
        pageSize = first.pageSize
        var pages: [[UInt8]] = []
        for index in 0..<2 {
            var bytes = [UInt8](repeating: 0, count: pageSize)
            guard pread(descriptor, &bytes, pageSize, off_t(index * pageSize)) == pageSize else {
                return nil
            }
            pages.append(bytes)
        }
        self.pages = pages
        metas = pages.map { $0.withUnsafeBytes { FileHeader.Meta(PageImage($0)) } }
        newest = metas[1].version > metas[0].version ? 1 : 0
    }

    /// Returns the errors in the headers of an open file.
    ///
    /// Another process may commit in the meantime.
    static func faults(_ descriptor: Int32) -> [String] {
        guard let constant = HeaderVerifier(descriptor)?.constantFaults() else { return [] }
        return constant + repeated(descriptor) { $0.newestFaults() + $0.olderFaults() }
    }

    /// Returns the error in the newest header's version; nil if it is valid.
    ///
    /// Takes a few reads. Another process may commit in the meantime.
    static func versionFault(_ descriptor: Int32) -> String? {
        repeated(descriptor) { $0.newestFaults() }.first
    }

    /// Returns the errors that a verification finds while no process commits and no header is half written.
    private static func repeated(
        _ descriptor: Int32, _ faults: (HeaderVerifier) -> [String]
    ) -> [String] {
        for attempt in 1...10 {
            guard let verifier = HeaderVerifier(descriptor) else { return [] }
            let found = faults(verifier)
            if found.isEmpty { return [] }
            if attempt == 10, verifier.isCurrent { return found }
            usleep(UInt32(attempt) * 1_000)
        }
        // If other processes commit this often without an error, the file is valid.
        return []
    }

    /// Whether no version was committed since the headers were read.
    private var isCurrent: Bool {
        HeaderVerifier(descriptor)?.metas.map(\.version) == metas.map(\.version)
    }

    /// Returns the errors in the parts that no commit changes.
    private func constantFaults() -> [String] {
        (0..<2).flatMap { index in
            pages[index].withUnsafeBytes { faults(of: index, PageImage($0)) }
        }
    }

    /// Returns the errors in the version of the newest header.
    private func newestFaults() -> [String] {
        for (index, meta) in metas.enumerated() where Int(meta.version & 1) != index {
            return [
                "header \(index) has version \(meta.version), which belongs to the other header"
            ]
        }
        let (one, other) = (metas[newest].version, metas[1 - newest].version)
        guard one == other + 1 else {
            return ["the versions of the headers, \(other) and \(one), do not follow one another"]
        }
        switch lastFreed(newest) {
        case .version(let version) where isNumbered ? version > one : version != one:
            return ["header \(newest) has version \(one), but its content has version \(version)"]
        // The first version has freed no pages.
        case .none where !isNumbered && one > 1:
            return ["header \(newest) has version \(one), but its content has another version"]
        default: return []
        }
    }

    /// Whether a copy or a recovery has written the same content with two versions.
    private var isNumbered: Bool { pages[0][Self.content] == pages[1][Self.content] }

    /// Returns the errors in the header of the older version, and of the newest one compared with it.
    ///
    /// A process that writes through the map writes the version of a header last. If the process is killed just before
    /// this, the header has an error, but no commit is lost.
    private func olderFaults() -> [String] {
        var faults: [String] = []
        let (one, other) = (metas[newest], metas[1 - newest])
        if one.mapSize < other.mapSize || one.mapSize > Self.largestMap {
            faults.append("header \(newest) has the impossible map size \(one.mapSize)")
        }
        if one.lastPage < other.lastPage {
            faults.append("header \(1 - newest) has the impossible last page \(other.lastPage)")
        }
        for index in 0..<2 {
            for offset in [Self.freeOffset, Self.mainOffset] {
                let head = pages[index].withUnsafeBytes { TreeHead(PageImage($0), at: offset) }
                guard !head.isPlausible(lastPage: metas[index].lastPage) else { continue }
                faults.append("header \(index) describes an impossible tree")
            }
        }
        if !isNumbered, case .version(let version) = lastFreed(1 - newest), version > other.version
        {
            faults.append(
                "header \(1 - newest) has version \(other.version), but its content has version "
                    + "\(version)")
        }
        return faults
    }

    private func faults(of index: Int, _ image: PageImage) -> [String] {
        var faults: [String] = []
        if image.number != UInt64(index) || image.flags != PageImage.Flags.meta
            || image.load(8, UInt16.self) != 0 || image.load(12, UInt32.self) != 0
        {
            faults.append("header \(index) has an invalid page header")
        }
        let free = TreeHead(image, at: Self.freeOffset)
        let main = TreeHead(image, at: Self.mainOffset)
        // No store uses a map at a fixed address.
        if free.flags != Self.freeFlags || main.flags != 0 || main.unused != 0
            || Int(free.unused) != pageSize
            || image.load(FileHeader.pageHeaderSize + 8, UInt64.self) != 0
        {
            faults.append("header \(index) has invalid flags")
        }
        if !hasEmptyRest(index) {
            faults.append("the unused part of header \(index) has changed since it was written")
        }
        return faults
    }

    /// Returns whether the bytes after a header are zeros, except the log's marker and the seal.
    private func hasEmptyRest(_ index: Int) -> Bool {
        var rest = pages[index][...]
        if index == 0 {
            for used in [(LogMarker.offset, LogMarker.size), (FileSeal.offset, FileSeal.size)] {
                for offset in used.0..<used.0 + used.1 { rest[offset] = 0 }
            }
        }
        return rest[Self.metaEnd...].allSatisfy { $0 == 0 }
    }

    /// The newest version that has freed pages.
    private enum LastFreed {
        case none
        case version(UInt64)
        /// The pages cannot be read. The pages of the older header may have been overwritten.
        case unknown
    }

    private func lastFreed(_ index: Int) -> LastFreed {
        let head = pages[index].withUnsafeBytes {
            TreeHead(PageImage($0), at: Self.freeOffset)
        }
        guard var number = head.root else { return .none }
        guard head.depth > 0, head.depth <= TreeHead.greatestDepth else { return .unknown }
        var page = [UInt8](repeating: 0, count: pageSize)
        for depth in 1...head.depth {
            guard number < 1 << 47,
                pread(descriptor, &page, pageSize, off_t(number) * off_t(pageSize)) == pageSize
            else { return .unknown }
            let isLeaf = depth == head.depth
            let last = page.withUnsafeBytes { bytes -> UInt64? in
                let image = PageImage(bytes)
                guard image.number == number,
                    image.flags == (isLeaf ? PageImage.Flags.leaf : PageImage.Flags.branch),
                    image.hasBounds, image.nodeCount > 0,
                    let node = image.node(image.nodeCount - 1, isLeaf: isLeaf)
                else { return nil }
                if !isLeaf { return node.child }
                return node.key.count == 8 ? node.key.loadUnaligned(as: UInt64.self) : nil
            }
            guard let last else { return .unknown }
            number = last
        }
        return .version(number)
    }
}
