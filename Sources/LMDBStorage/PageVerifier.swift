import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Verifies a data file: its headers, the pages and values of its newest version, and its seal.
///
/// The same checks serve three purposes, which differ in their extent. A file is verified before LMDB reads it, because
/// LMDB trusts what it maps; a small file completely when it is opened, others as they are used (PageGuard). A file is
/// verified before it is copied or recovered. And ``faults(path:atMost:tables:)`` lists everything that is wrong with a file.
///
/// Other processes may write in the meantime. They do not overwrite the pages of the newest version, so an error counts
/// only if the version that was verified is still the newest one.
package enum PageVerifier {
    /// The maximum size of files whose pages are all verified on opening.
    static let largestAtOpening = 1 << 20
    /// The maximum size of files whose pages are all verified before the first change, which takes a few milliseconds.
    static let largestAtChange = 32 << 20
    /// The number of attempts to verify a file to which other processes write.
    private static let attempts = 20

    // MARK: The whole file

    /// Returns descriptions of the errors in a file; none for a valid or an empty file.
    ///
    /// Reads every used page once. At most `limit` errors are listed. `tables` are the tables that the file must have.
    /// Throws `notAStore`, `newerFormat`, `notFound`, `permission`, and `damaged` if the file's header is damaged. A file
    /// that was being written when the machine stopped is recovered first; throws `needsRecovery` if it may not be
    /// written.
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
        if FileHeader.isEmpty(descriptor) {
            throw StorageError(.empty, call: "open", file: path)
        }
        return try faults(of: descriptor, path: path, atMost: limit, tables: tables)
    }

    /// Returns the errors of an open file; `path` is its name in errors.
    static func faults(
        of descriptor: Int32, path: String, atMost limit: Int, tables: [TableName] = []
    ) throws(StorageError) -> [String] {
        try requireWhole(descriptor, path: path)
        let headers = try HeaderFaults.all(descriptor)
        var options = PageWalk.Options(limit: limit, verifiesValues: true, tables: tables)
        options.isSummed = true
        for _ in 0..<attempts {
            guard let (meta, index) = try FileHeader.newest(descriptor) else { return [] }
            var walk = try PageWalk(descriptor, meta, options)
            walk.run(header: index)
            walk.requireAllPages()
            if walk.isOlder { throw StorageError(.olderFormat, call: "check", file: path) }
            var found = headers + walk.faults + walk.changedValues
            if walk.isSound {
                found += try FileSeal.faults(descriptor, version: meta.version, pages: walk.sum)
            }
            let newest = try FileHeader.newest(descriptor)?.0.version ?? meta.version
            if found.isEmpty || newest == meta.version {
                return Array(found.prefix(limit))
            }
        }
        // If another process commits this often without an error, the pages are valid.
        return headers
    }

    // MARK: Before LMDB reads the file

    /// Throws unless the file is empty or a complete LMDB file of a known version.
    ///
    /// Reading a page beyond the end of a mapped file is a bus error and not an error code, so a truncated file must be
    /// detected before LMDB opens it.
    static func requireWhole(_ descriptor: Int32, path: String) throws(StorageError) {
        if lseek(descriptor, 0, SEEK_END) == 0 { return }
        guard let first = try FileHeader.meta(descriptor, at: 0), first.magic == FileHeader.magic
        else {
            let call =
                isRealm(descriptor, path)
                ? StorageError.realm
                : isEncrypted(descriptor) ? StorageError.encrypted : "file header"
            throw StorageError(.notAStore, call: call, file: path)
        }
        guard first.format == FileHeader.formatVersion else {
            throw StorageError(.newerFormat, call: "file header", file: path)
        }
        guard first.hasPageSize,
            let second = try FileHeader.meta(descriptor, at: first.pageSize),
            second.magic == FileHeader.magic, second.pageSize == first.pageSize
        else { throw StorageError(.damaged, call: "file header", file: path) }
        var fault: String?
        for _ in 0...attempts {
            let (before, found) = try extentFault(descriptor, first.pageSize)
            guard let found else { return }
            fault = found
            // Pages that are missing for one version may exist for the next.
            guard try versions(descriptor, first.pageSize) != before else { break }
        }
        throw StorageError(.damaged, call: fault ?? "its header", file: path)
    }

    private static func versions(
        _ descriptor: Int32, _ pageSize: Int
    ) throws(StorageError) -> [UInt64?] {
        try metas(descriptor, pageSize).map { $0?.version }
    }

    private static func metas(
        _ descriptor: Int32, _ pageSize: Int
    ) throws(StorageError) -> [FileHeader.Meta?] {
        [try FileHeader.meta(descriptor, at: 0), try FileHeader.meta(descriptor, at: pageSize)]
    }

    /// Returns the versions of both headers, and the error if they contradict each other or the file is too short.
    private static func extentFault(
        _ descriptor: Int32, _ pageSize: Int
    ) throws(StorageError) -> (versions: [UInt64?], fault: String?) {
        let metas = try metas(descriptor, pageSize)
        let versions = metas.map { $0?.version }
        guard let first = metas[0], let second = metas[1], first.isPlausible(at: 0),
            second.isPlausible(at: 1), first.isNeighbor(of: second)
        else { return (versions, "its header") }
        let index = second.number > first.number ? 1 : 0
        let newest = index == 1 ? second : first
        // The size is read after the headers, because no file becomes shorter than the content that they describe.
        let size = Int(lseek(descriptor, 0, SEEK_END))
        if newest.lastPage < UInt64(size / pageSize) { return (versions, nil) }
        // Pages that a transaction allocated and freed may be missing after the end of the file.
        var walk = try PageWalk(descriptor, newest, PageWalk.Options())
        walk.run(header: index)
        if walk.isSound, walk.hasAllPages { return (versions, nil) }
        return (versions, "shorter than its header declares")
    }

    /// Returns whether this is a Realm file: by its header, or by its name if it is encrypted.
    private static func isRealm(_ descriptor: Int32, _ path: String) -> Bool {
        var mark: UInt32 = 0
        let isRead = pread(descriptor, &mark, 4, 16) == 4
        return isRead && UInt32(littleEndian: mark) == 0x4244_2D54 || path.hasSuffix(".realm")
    }

    /// Returns whether this is an encrypted copy, which begins with `MOONSEA1`.
    private static func isEncrypted(_ descriptor: Int32) -> Bool {
        var mark: UInt64 = 0
        let isRead = pread(descriptor, &mark, 8, 0) == 8
        return isRead && UInt64(bigEndian: mark) == 0x4D4F_4F4E_5345_4131
    }

    /// Throws `damaged` unless LMDB can safely open the file.
    ///
    /// All pages are verified if the file has at most ``largestAtOpening`` bytes, otherwise only the pages with the
    /// names of tables and the list of free pages. Returns whether all pages were verified.
    static func requireSoundAtOpening(
        _ descriptor: Int32, path: String
    ) throws(StorageError) -> Bool {
        if let fault = try HeaderFaults.ofVersion(descriptor) {
            throw StorageError(.damaged, call: fault, file: path)
        }
        let isSmall = lseek(descriptor, 0, SEEK_END) <= largestAtOpening
        try requireSound(descriptor, path: path, PageWalk.Options(scope: isSmall ? .all : .names))
        return isSmall
    }

    /// Throws `damaged` unless LMDB can safely read the pages of the newest version.
    static func requireSound(
        _ descriptor: Int32, path: String, _ options: PageWalk.Options = PageWalk.Options()
    ) throws(StorageError) {
        for _ in 0..<attempts {
            guard let (meta, index) = try FileHeader.newest(descriptor) else {
                throw StorageError(.damaged, call: "its header", file: path)
            }
            var walk = try PageWalk(descriptor, meta, options)
            walk.run(header: index)
            if walk.isSound { return }
            guard try FileHeader.newest(descriptor)?.0.version != meta.version else {
                let page = walk.faultyPage.map { "page \($0)" } ?? "its page counts"
                throw StorageError(.damaged, call: page, file: path)
            }
        }
    }
}

/// The errors in LMDB's two headers, which have no checksum.
///
/// Most fields have only one valid value. The versions must follow one another and agree with the lists of free pages:
/// each commit stores the pages that it has freed under its version. The walk over the pages determines the other fields
/// of the newest header.
private struct HeaderFaults {
    private let descriptor: Int32
    private let pageSize: Int
    /// The first two pages of the file.
    private let pages: [[UInt8]]
    private let metas: [FileHeader.Meta]
    /// The index of the newest version's header.
    private let newest: Int

    private static let metaEnd = FileHeader.pageHeaderSize + FileHeader.metaSize
    /// The range of the fields that describe the content of a version.
    private static let content = FileHeader.pageHeaderSize + 16..<metaEnd - 8
    /// The greatest address space of a process.
    private static let largestMap: UInt64 = 1 << 47

    /// Reads the headers of an open file; nil if it has no two headers.
    private init?(_ descriptor: Int32) throws(StorageError) {
        guard let first = try FileHeader.meta(descriptor, at: 0), first.hasPageSize else {
            return nil
        }
        self.descriptor = descriptor
        pageSize = first.pageSize
        var pages: [[UInt8]] = []
        for index in 0..<2 {
            guard let bytes = try Platform.read(descriptor, pageSize, at: index * pageSize) else {
                return nil
            }
            pages.append(bytes)
        }
        self.pages = pages
        metas = pages.map { $0.withUnsafeBytes { FileHeader.Meta(PageImage($0)) } }
        newest = metas[1].number > metas[0].number ? 1 : 0
    }

    /// Returns the errors in the headers of an open file.
    ///
    /// Another process may commit in the meantime.
    static func all(_ descriptor: Int32) throws(StorageError) -> [String] {
        guard let constant = try HeaderFaults(descriptor)?.constantFaults() else { return [] }
        return try constant
            + repeated(descriptor) { faults throws(StorageError) in
                try faults.newestFaults() + faults.contentFaults() + faults.hiddenFaults()
            }
    }

    /// Returns the error in the newest header's version; nil if it is valid.
    ///
    /// Takes a few reads. Another process may commit in the meantime.
    static func ofVersion(_ descriptor: Int32) throws(StorageError) -> String? {
        try repeated(descriptor) { faults throws(StorageError) in try faults.newestFaults() }.first
    }

    /// Returns the errors that a verification finds while no process commits and no header is half written.
    private static func repeated(
        _ descriptor: Int32, _ faults: (HeaderFaults) throws(StorageError) -> [String]
    ) throws(StorageError) -> [String] {
        for attempt in 1...10 {
            guard let verifier = try HeaderFaults(descriptor) else { return [] }
            let found = try faults(verifier)
            if found.isEmpty { return [] }
            if attempt == 10, try verifier.isCurrent { return found }
            usleep(UInt32(attempt) * 1_000)
        }
        // If other processes commit this often without an error, the file is valid.
        return []
    }

    /// Whether no version was committed since the headers were read.
    private var isCurrent: Bool {
        get throws(StorageError) {
            try HeaderFaults(descriptor)?.metas.map(\.version) == metas.map(\.version)
        }
    }

    /// Returns the errors in the parts that no commit changes.
    private func constantFaults() -> [String] {
        (0..<2).flatMap { index in
            pages[index].withUnsafeBytes { faults(of: index, PageImage($0)) }
        }
    }

    /// Returns the errors in the version of the newest header.
    private func newestFaults() throws(StorageError) -> [String] {
        for (index, meta) in metas.enumerated() where Int(meta.version & 1) != index {
            return [
                "header \(index) has version \(meta.version), which belongs to the other header"
            ]
        }
        let (one, other) = (metas[newest].version, metas[1 - newest].version)
        guard one == other + 1 else {
            return ["the versions of the headers, \(other) and \(one), do not follow one another"]
        }
        switch try lastFreed(newest) {
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

    /// Returns an error if the older header describes a newer version than it states: the newest commit is then hidden.
    ///
    /// So is a commit whose header the device did not write, if the process was killed before it wrote the previous
    /// header back (OpenFile). Then the file is sound, but nothing in it says so.
    private func hiddenFaults() throws(StorageError) -> [String] {
        let older = metas[1 - newest].version
        guard !isNumbered, case .version(let version) = try lastFreed(1 - newest), version > older
        else { return [] }
        return [
            "header \(1 - newest) has version \(older), but its content has version \(version)"
        ]
    }

    /// Returns the errors in the content of the newest header.
    ///
    /// Otherwise, the content of the older one does not matter: the next commit overwrites it.
    private func contentFaults() -> [String] {
        var faults: [String] = []
        let meta = metas[newest]
        if meta.mapSize > Self.largestMap {
            faults.append("header \(newest) has the impossible map size \(meta.mapSize)")
        }
        for offset in [FileHeader.freeOffset, FileHeader.namesOffset] {
            let head = pages[newest].withUnsafeBytes { TreeHead(PageImage($0), at: offset) }
            guard !head.isPlausible(lastPage: meta.lastPage) else { continue }
            faults.append("header \(newest) describes an impossible tree")
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
        let free = TreeHead(image, at: FileHeader.freeOffset)
        let main = TreeHead(image, at: FileHeader.namesOffset)
        // No store uses a map at a fixed address.
        if free.flags != FileHeader.freeFlags || main.flags != 0 || main.unused != 0
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

    private func lastFreed(_ index: Int) throws(StorageError) -> LastFreed {
        let head = pages[index].withUnsafeBytes {
            TreeHead(PageImage($0), at: FileHeader.freeOffset)
        }
        guard var number = head.root else { return .none }
        guard head.depth > 0, head.depth <= TreeHead.maxDepth else { return .unknown }
        for depth in 1...head.depth {
            guard number < 1 << 47,
                let page = try Platform.read(descriptor, pageSize, at: Int(number) * pageSize)
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
                guard node.key.count == 8 else { return nil }
                return FileVersion.of(number: node.key.loadUnaligned(as: UInt64.self))
            }
            guard let last else { return .unknown }
            number = last
        }
        return .version(number)
    }
}

/// Verifies the pages of a table before LMDB reads them.
///
/// Small files are verified completely when they are opened. In others, each search verifies the pages on its path, so
/// that opening a file and reading a value take the same time for any size.
///
/// All pages of a table are verified after some steps, and when searches have verified as many pages as it has. A file of
/// medium size is verified completely before its first change. In a large file, storing a value takes the same time for
/// any size too: all pages of a table are verified before an entry is removed, because LMDB then reads other pages to join
/// them, and the page header of a long value before the value is replaced or removed. Pages written since the file was
/// opened are valid.
final class PageGuard: @unchecked Sendable {
    // Unchecked because: the lock guards the verification, and the results are atomic.

    /// Whether all pages were verified.
    @inline(__always)
    var isComplete: Bool { complete.load(ordering: .acquiring) }
    private let complete: Atomic<Bool>
    /// Whether the first change verifies all pages.
    private let isMedium: Bool
    private let descriptor: Int32
    private let location: FileLocation
    private let names: [String]
    private let pageSize: Int
    /// The address of page 0, and the number of mapped bytes from there.
    private let map: UInt?
    private let mapSize: UInt
    private let verified: UnsafeMutablePointer<Atomic<Bool>>
    /// What searches have verified.
    private struct Searched {
        var pages = KnownPages()
        /// The numbers of verified pages, and of steps, for each table.
        var counts: [UInt64]
        var steps: [UInt64]
    }
    private let searched: Mutex<Searched>
    /// A table has as many pages for each step that verifies only its path: fewer steps than that would take longer
    /// than verifying all pages.
    private static let pagesOfStep: UInt64 = 16

    /// Creates the guard; `names` are the names of the tables, the first of which has LMDB's number 2.
    init(
        _ environment: OpaquePointer, _ location: FileLocation, _ names: [String], isVerified: Bool
    ) {
        complete = Atomic(isVerified)
        isMedium = Platform.size(of: location.path) <= PageVerifier.largestAtChange
        self.location = location
        self.names = names
        var file: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &file)
        descriptor = file
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        pageSize = Int(statistics.ms_psize)
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        mapSize = UInt(info.me_mapsize)
        map = isVerified ? nil : Self.address(environment, file)
        let zeros = [UInt64](repeating: 0, count: names.count)
        searched = Mutex(Searched(counts: zeros, steps: zeros))
        verified = .allocate(capacity: names.count)
        for index in names.indices { (verified + index).initialize(to: Atomic(false)) }
    }

    deinit {
        verified.deinitialize(count: names.count)
        verified.deallocate()
    }

    /// Verifies that LMDB can safely read all pages of a table.
    ///
    /// Throws `damaged`. The first call for a table of a large file takes time in proportion to its pages.
    @inline(never)
    func admit(_ table: UInt32) throws(StorageError) {
        guard let index = unverified(table) else { return }
        try searched.withLock { _ throws(StorageError) in
            // Another thread may have verified the table in the meantime.
            if unverified(table) != nil { try verifyAll(index) }
        }
    }

    /// Verifies that LMDB can safely move a cursor to a position of a table, and from there to the next or previous entry.
    ///
    /// `isStep` means that not only one value is read. Throws `damaged`.
    @inline(never)
    func admit(
        _ table: UInt32, _ target: PageWalk.Position, isStep: Bool = false,
        in transaction: OpaquePointer?
    ) throws(StorageError) {
        guard let index = unverified(table) else { return }
        guard let head = Self.head(of: names[index], in: transaction) else {
            throw StorageError(.damaged, call: "its tables", file: location.name)
        }
        let (count, isImpossible) = head.branchPages.addingReportingOverflow(head.leafPages)
        guard !isImpossible, let (meta, _) = try FileHeader.newest(descriptor) else {
            throw StorageError(.damaged, call: "its page counts", file: location.name)
        }
        try searched.withLock { searched throws(StorageError) in
            // Another thread may have verified the table in the meantime.
            guard unverified(table) != nil else { return }
            // Three pages at each depth: the one on the path, and its neighbors.
            let next = searched.counts[index] + 3 * UInt64(head.depth)
            if isStep { searched.steps[index] += 1 }
            guard next < count, !isStep || searched.steps[index] <= count / Self.pagesOfStep else {
                return try verifyAll(index)
            }
            let options = PageWalk.Options(readsLongValues: false, countsPages: false)
            var walk = try PageWalk(
                descriptor, meta, options,
                map: map.flatMap(UnsafeMutableRawPointer.init(bitPattern:)).map {
                    UnsafeMutableRawBufferPointer(start: $0, count: Int(mapSize))
                })
            // Moved and not copied, so that adding pages does not copy the set.
            walk.known = searched.pages
            searched.pages = KnownPages()
            searched.counts[index] += walk.run(names[index], head, to: target)
            guard walk.isSound else {
                // The last pages may be known without the key that bounds them, so a later search verifies all again.
                let page = walk.faultyPage.map { "page \($0)" } ?? "its page counts"
                throw StorageError(.damaged, call: page, file: location.name)
            }
            searched.pages = walk.known.take() ?? KnownPages()
        }
    }

    /// Whether all pages of a table were verified.
    func isVerified(_ table: UInt32) -> Bool { unverified(table) == nil }

    /// Returns the root of a table in the version of a transaction, before its changes of the table.
    private static func head(of name: String, in transaction: OpaquePointer?) -> TreeHead? {
        var name = name
        return name.withUTF8 { name in
            var key = MDB_val(UnsafeRawBufferPointer(name))
            var value = MDB_val()
            guard mdb_get(transaction, Table.names.dbi, &key, &value) == 0,
                value.mv_size == PageImage.tableSize
            else { return nil }
            return TreeHead(PageImage(UnsafeRawBufferPointer(value)), at: 0)
        }
    }

    /// Returns the index of a table whose pages have not all been verified; nil for others.
    ///
    /// The names of the tables and the list of free pages are verified when the file is opened.
    @inline(__always)
    private func unverified(_ table: UInt32) -> Int? {
        let index = Int(table) - 2
        guard !isComplete, names.indices.contains(index),
            !verified[index].load(ordering: .acquiring)
        else { return nil }
        return index
    }

    private func verifyAll(_ index: Int) throws(StorageError) {
        // Without the address of the map, the page header of a long value cannot be verified later.
        try verify(PageWalk.Options(scope: .table(names[index]), readsLongValues: map == nil))
        verified[index].store(true, ordering: .releasing)
    }

    private func verify(_ options: PageWalk.Options) throws(StorageError) {
        do throws(StorageError) {
            try PageVerifier.requireSound(descriptor, path: location.path, options)
        } catch { throw error.named(location) }
    }

    /// Verifies that LMDB can store, replace or remove the value of a key.
    ///
    /// Throws `damaged`. In a large file this takes a lookup of the key.
    @inline(never)
    func admitChange(
        _ transaction: OpaquePointer?, _ table: UInt32, _ key: MDB_val, isRemoval: Bool
    ) throws(StorageError) {
        if isMedium {
            return try searched.withLock { _ throws(StorageError) in
                if isComplete { return }
                try verify(PageWalk.Options(scope: .all))
                complete.store(true, ordering: .releasing)
            }
        }
        if isRemoval {
            try admit(table)
        } else {
            try admit(table, .key(UnsafeRawBufferPointer(key)), isStep: true, in: transaction)
        }
        var key = key
        var value = MDB_val()
        guard mdb_get(transaction, table, &key, &value) == 0 else { return }
        try requireHead(of: value, keySize: key.mv_size)
    }

    /// Throws `damaged` if a value has its own pages and their header is not valid for LMDB.
    func requireHead(of value: MDB_val, keySize: Int) throws(StorageError) {
        guard !isComplete, let data = value.mv_data, let base = map else { return }
        let nodeSize = PageImage.nodeSize + keySize + value.mv_size
        // LMDB puts at least two nodes on a page, and aligns them.
        let largest = ((pageSize - PageImage.headerSize) / 2 & ~1) - 2
        guard nodeSize + nodeSize & 1 > largest else { return }
        let head = data - PageImage.headerSize
        let distance = UInt(bitPattern: head) &- base
        // Other pages are in separate memory, because this write has created them.
        guard distance < mapSize else { return }
        let expected = UInt64(distance) / UInt64(pageSize)
        let needed = PageImage.pages(ofValue: value.mv_size, pageSize: pageSize)
        let page = PageImage(UnsafeRawBufferPointer(start: head, count: PageImage.headerSize))
        let last = UInt64(max(0, Int(lseek(descriptor, 0, SEEK_END)) / pageSize))
        guard distance % UInt(pageSize) == 0, page.number == expected,
            page.flags & ~PageImage.Flags.dirty == PageImage.Flags.overflow, page.pages >= needed,
            expected + page.pages <= last
        else {
            throw StorageError(.damaged, call: "page \(expected)", file: location.name)
        }
    }
}

extension PageGuard {
    /// Returns the address of page 0 in memory; nil if it cannot be derived.
    ///
    /// LMDB has no function for it. The names of the tables are on one page, whose number is in the header.
    static func address(
        _ environment: OpaquePointer, _ descriptor: Int32
    ) -> UInt? {
        var begun: OpaquePointer?
        guard mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun) == 0 else { return nil }
        defer { mdb_txn_abort(begun) }
        var key = MDB_val()
        var value = MDB_val()
        var opened: OpaquePointer?
        // because: without the address, pages are read from a map of their own.
        guard let (meta, _) = try? FileHeader.newest(descriptor),
            meta.version == FileVersion.of(begun),
            mdb_cursor_open(begun, Table.names.dbi, &opened) == 0
        else { return nil }
        defer { mdb_cursor_close(opened) }
        var statistics = MDB_stat()
        guard mdb_stat(begun, Table.names.dbi, &statistics) == 0, statistics.ms_depth == 1,
            mdb_cursor_get(opened, &key, &value, MDB_FIRST) == 0
        else { return nil }
        let page = UInt(bitPattern: key.mv_data) & ~UInt(meta.pageSize - 1)
        return page &- UInt(meta.roots[1]) &* UInt(meta.pageSize)
    }
}
