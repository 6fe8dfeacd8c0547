import CLMDB
import MemoryAccounts

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Reserves space on the device for the pages of a file that is written through its map.
///
/// By default, LMDB copies each page that a write changes, and writes the copies with system calls at the end: seven
/// calls for a small commit, which take longer than all other work. With MDB_WRITEMAP, LMDB changes mapped pages in
/// place. This is safe for these reasons:
///
/// * A page of the map without space on the device gets space when it is first touched; if the device is full, the
///   system sends SIGBUS, which ends the process. So every step of a write first reserves as many pages as it can take,
///   and fails with `diskFull` if the device has no space for them.
/// * When LMDB opens a file, it changes the file's size to that of the map, without a lock: a process with a smaller
///   map would truncate the data that this process is writing. So files that other processes may have open are written
///   in this way only with maps of the default size.
/// * The file is truncated to the size of its content plus some free space as soon as the write lock is free, and to
///   the size of its content when it is closed. Other processes may do either while no write is open.
/// * The system may write a page to the device before the version that it belongs to is complete. The same can happen
///   with system calls, and the redo log allows it (RedoLog): pages that the log needs are never overwritten.
///
/// Processes that write with system calls may have the same file open, because the system has one copy of each page for
/// both.
///
/// Only the thread that holds LMDB's write lock may use the reservation.
final class DiskReservation: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.
    private let environment: OpaquePointer
    private let path: String
    private let descriptor: Int32
    private let pageSize: Int
    /// The account for the file's pages if they are in memory.
    private let ledger: MemoryLedger?
    /// The number of pages, from the first one on, that have space on the device.
    @exclusivity(unchecked) private var pages = 0
    /// The last known size of the file; negative if it is unknown.
    @exclusivity(unchecked) private var size = -1
    /// The open write; only this transaction may reserve space.
    @exclusivity(unchecked) private var transaction: OpaquePointer?
    /// The error that kept the open write from reserving space, after which it cannot be committed; otherwise 0.
    @exclusivity(unchecked) private var failure: Int32 = 0

    /// The number of pages by which a file may exceed twice its necessary size before it is truncated.
    private static let spare = 1024
    /// The maximum number of pages for which space is reserved in advance.
    private static let mostAhead = 16_384

    /// Creates the reservation of an environment that was opened with MDB_WRITEMAP.
    ///
    /// If `isInMemory` is true, the file's pages are charged to the scripts that write them.
    init(_ environment: OpaquePointer, _ path: String, isInMemory: Bool) {
        ledger = isInMemory ? MemoryLedger() : nil
        self.environment = environment
        self.path = path
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        self.descriptor = descriptor
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        pageSize = Int(statistics.ms_psize)
    }

    // MARK: A write

    /// Reserves space for the first step of the write that has begun.
    ///
    /// `known` is the current state of the file, if the caller has it. Throws `diskFull`, and `damaged` if the file was
    /// truncated.
    func begin(_ transaction: OpaquePointer?, _ known: stat? = nil) throws(StorageError) {
        failure = 0
        self.transaction = transaction
        assert(shim_version(transaction) == mdb_txn_id(transaction))
        var status = known ?? stat()
        guard known != nil || fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        let next = shim_next_page(transaction)
        // Pages that other processes have added, or removed and added again, may have no space on the device. The file
        // then takes fewer blocks than its pages need, apart from the few blocks of the file system's metadata.
        if Int(status.st_size) != size || Int(status.st_blocks) * 512 < pages * pageSize {
            pages = 0
            size = Int(status.st_size)
            // LMDB does not write free pages: the file may end before its last page if the missing pages are free, but
            // not otherwise.
            if size < next * pageSize { try FileHeader.check(descriptor, path: path) }
        }
        let wanted = next + Self.mostTaken(of: next)
        if size / pageSize > 2 * wanted + Self.spare {
            cut(to: wanted * pageSize)
            pages = min(pages, wanted)
        }
        try check(reserve(for: 0, in: transaction), "fallocate", path)
    }

    /// Reserves space for a step that stores some bytes; 0 bytes for a step that removes an entry.
    ///
    /// Returns the system's error code, or 0. Usually takes a few loads and comparisons; about one of several hundred
    /// steps calls the system.
    @inline(__always)
    func reserve(for bytes: Int, in transaction: OpaquePointer?) -> Int32 {
        // LMDB itself reports that a reader may not change data.
        guard transaction == self.transaction else { return 0 }
        let next = shim_next_page(transaction)
        assert(next <= pages || pages == 0, "a step has used more pages than its upper bound")
        let needed = next + bytes / pageSize + 2 + Self.mostTaken(of: next)
        return needed > pages || failure != 0 ? grow(to: needed) : 0
    }

    /// Returns an upper bound of the number of pages that a step takes in a file of `count` pages, including the end of
    /// a write.
    ///
    /// A step changes the pages from a tree's root to a leaf, which may split on every level or merge with a neighbor,
    /// and also the pages on such a path in the tree of names. A tree is at most as deep as the count has binary
    /// digits, because an inner page has at least two children. At its end, a write records each free page, with eight
    /// bytes, in lists, and inserts each list into the tree of free pages. If the write has used up short lists, it
    /// changes each leaf that contained them.
    private static func mostTaken(of count: Int) -> Int {
        (count >> 6) + 3 * (Int.bitWidth - count.leadingZeroBitCount) + 16
    }

    /// Reserves space for pages, and for additional ones, so that the function is rarely called.
    @inline(never)
    private func grow(to needed: Int) -> Int32 {
        if failure != 0 { return failure }
        failure = allocate(needed + min(needed / 16, Self.mostAhead))
        if failure != 0 { failure = allocate(needed) }
        return failure
    }

    /// Allocates space for a number of pages, and returns the system's error code, or 0.
    private func allocate(_ count: Int) -> Int32 {
        if let ledger, !ledger.grants(count * pageSize) { return StorageError.memoryLimitCode }
        let code = Platform.allocate(
            descriptor, path, from: pages * pageSize, to: count * pageSize)
        if code == 0 {
            pages = count
            size = max(size, count * pageSize)
        } else {
            // The call may have allocated a part.
            cut(to: size)
        }
        return code
    }

    private func cut(to wanted: Int) {
        guard Self.cut(descriptor, to: wanted) else { return }
        size = wanted
        _ = ledger?.grants(wanted)
    }

    private static func cut(_ descriptor: Int32, to wanted: Int) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && wanted < Int(status.st_size)
            && ftruncate(descriptor, off_t(wanted)) == 0
    }

    // MARK: Opening and closing

    /// Truncates the file, which is as large as its map, to the size of its content plus some free space.
    ///
    /// Like `trim`, it waits for the write lock, so call it only when the lock seems to be free.
    func fit() {
        Self.withLock(environment) { transaction in
            // because: the next write reports the error.
            try? begin(transaction)
        }
    }

    /// Truncates the file to the size of its content, but not below `least`.
    func trim(least: Int = 0) {
        Self.withLock(environment) { cut(to: max(least, shim_next_page($0) * pageSize)) }
    }

    /// Truncates a file that this process does not write through its map to the size of its content, if it is as large
    /// as a map.
    ///
    /// A process that was killed, or that could not use the map, leaves the file with that size.
    static func trimVast(_ environment: OpaquePointer) {
        let (descriptor, pageSize, lastPage) = extent(environment)
        var status = stat()
        guard LMDBLayout.knowsTransactions(environment), fstat(descriptor, &status) == 0,
            Int(status.st_size) >= EnvironmentOptions.usualMapSize,
            Int(status.st_size) / pageSize > 2 * lastPage
        else { return }
        withLock(environment) { transaction in
            _ = cut(descriptor, to: shim_next_page(transaction) * pageSize)
        }
    }

    /// Removes the pages that a failed write has added to the file, which returns their space to a full device.
    ///
    /// Only the thread that holds the write lock can call it. The write may still be open: LMDB does not access those
    /// pages when it aborts.
    static func reclaim(_ environment: OpaquePointer) {
        let (descriptor, pageSize, lastPage) = extent(environment)
        _ = cut(descriptor, to: (lastPage + 1) * pageSize)
    }

    /// Acquires the write lock and removes the pages of a failed write.
    static func reclaimWithLock(_ environment: OpaquePointer) {
        withLock(environment) { _ in reclaim(environment) }
    }

    /// Returns the open file of an environment, the size of its pages, and the last page of the newest version.
    private static func extent(
        _ environment: OpaquePointer
    ) -> (descriptor: Int32, pageSize: Int, lastPage: Int) {
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        return (descriptor, Int(statistics.ms_psize), info.me_last_pgno)
    }

    private static func withLock(
        _ environment: OpaquePointer, _ body: (OpaquePointer?) -> Void
    ) {
        var begun: OpaquePointer?
        guard mdb_txn_begin(environment, nil, 0, &begun) == 0 else { return }
        body(begun)
        mdb_txn_abort(begun)
    }

    /// Returns whether a file can be written through a map of a size; `isShared` is true if other processes may have it
    /// open.
    ///
    /// Returns false if the file system writes changed blocks to other addresses, if the system limits the sizes of
    /// files, or if other processes may have maps of another size.
    static func isSupported(_ path: String, mapSize: Int, isShared: Bool) -> Bool {
        guard shim_knows_transactions() != 0, Platform.largestFile == nil else { return false }
        let descriptor = Platform.openDescriptor(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let usual = EnvironmentOptions.usualMapSize
        if isShared {
            guard mapSize == usual, Platform.size(of: path) <= usual,
                FileHeader.mapSize(descriptor) <= usual
            else { return false }
        }
        // Some old file systems cannot reserve space.
        return shim_keeps_places(descriptor) != 0
            && Platform.allocate(descriptor, path, keepsSize: true, from: 0, to: 1) == 0
    }
}
