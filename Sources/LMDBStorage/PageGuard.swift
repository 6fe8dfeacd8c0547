import CLMDB
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Verifies the pages of a table before LMDB reads them for the first time.
///
/// Small files are verified completely when they are opened. In a large file, the pages of a table are verified when
/// the table is first used, except the pages of its long values; their page header is verified before the value is
/// replaced or removed. Pages written since the file was opened are valid.
final class PageGuard: @unchecked Sendable {
    // Unchecked because: the lock guards the verification, and the results are atomic.

    /// Whether all pages were verified.
    let isComplete: Bool
    private let descriptor: Int32
    private let location: FileLocation
    private let names: [String]
    private let pageSize: Int
    /// The address of page 0, and the number of mapped bytes from there.
    private let map: UInt?
    private let mapSize: UInt
    private let verified: UnsafeMutablePointer<Atomic<Bool>>
    private let lock = Mutex(())

    /// Creates the guard; `names` are the names of the tables, the first of which has LMDB's number 2.
    init(
        _ environment: OpaquePointer, _ location: FileLocation, _ names: [String], isVerified: Bool
    ) {
        isComplete = isVerified
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
        verified = .allocate(capacity: names.count)
        for index in names.indices { (verified + index).initialize(to: Atomic(false)) }
    }

    deinit {
        verified.deinitialize(count: names.count)
        verified.deallocate()
    }

    /// Verifies that LMDB can safely read the pages of a table.
    ///
    /// Throws `damaged`. Takes a load, except when a table of a large file is used for the first time.
    @inline(__always)
    func admit(_ table: UInt32) throws(StorageError) {
        if !isComplete { try admitOnce(table) }
    }

    @inline(never)
    private func admitOnce(_ table: UInt32) throws(StorageError) {
        // The names of the tables and the list of free pages are verified when the file is opened.
        guard table >= 2, Int(table) - 2 < names.count else { return }
        let index = Int(table) - 2
        if verified[index].load(ordering: .acquiring) { return }
        // Without the address of the map, the page header of a long value cannot be verified later.
        try verify(.table(names[index]), withLongValues: map == nil)
        verified[index].store(true, ordering: .releasing)
    }

    /// Verifies that LMDB can remove all entries of a table.
    func admitRemoval(of table: UInt32) throws(StorageError) {
        guard !isComplete, table >= 2, Int(table) - 2 < names.count else { return }
        try verify(.table(names[Int(table) - 2]), withLongValues: true)
    }

    private func verify(_ scope: PageWalk.Scope, withLongValues: Bool) throws(StorageError) {
        do throws(StorageError) {
            try lock.withLock { _ throws(StorageError) in
                try PageVerifier.requireSound(
                    descriptor, path: location.path,
                    PageWalk.Options(scope: scope, readsLongValues: withLongValues))
            }
        } catch { throw error.named(location) }
    }

    /// Verifies that LMDB can replace or remove the value of a key, if it has one.
    ///
    /// Throws `damaged`. In large files this takes a lookup of the key.
    @inline(__always)
    func admitChange(
        _ transaction: OpaquePointer?, _ table: UInt32, _ key: MDB_val
    ) throws(StorageError) {
        if !isComplete { try admitChangeOnce(transaction, table, key) }
    }

    @inline(never)
    private func admitChangeOnce(
        _ transaction: OpaquePointer?, _ table: UInt32, _ key: MDB_val
    ) throws(StorageError) {
        try admit(table)
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
        guard let (meta, _) = FileHeader.newest(descriptor),
            meta.version == UInt64(mdb_txn_id(begun)),
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
