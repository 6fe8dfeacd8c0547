import CLMDB
import MemoryAccounts

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The room on the device for the pages of a file that is written through its map.
///
/// LMDB otherwise copies each page that a write changes, and has the system write it when the write ends: seven calls for
/// a small commit, which take longer than all else in it. With MDB_WRITEMAP it changes pages where they are mapped. What
/// makes that safe:
///
/// * A page of the map without a place on the device gets one when it is first touched; where there is no room, the system
///   answers with SIGBUS, and the process ends. So every step of a write first makes sure of as many pages as it can take,
///   and fails with `diskFull` where they cannot be had.
/// * LMDB makes the file as large as its map when it opens it, without a lock: a smaller map than that of others would cut
///   off what they are writing. So files that others may have open are written this way only with maps of the usual size.
/// * The file gets the size of its content, and some room, as soon as the write lock is free, and its content's size alone
///   when it is closed. Others may do either at any time that nobody writes.
/// * The system may bring a page to the device before the version that it belongs to is whole. That is so with calls that
///   write as well, and the redo log does not mind (RedoLog): what it counts on is never written over.
///
/// Processes that write with calls may have the same file open: the system has one copy of each page for both.
///
/// Only the thread that holds LMDB's write lock may use it.
final class FileRoom: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.
    private let environment: OpaquePointer
    private let path: String
    private let descriptor: Int32
    private let pageSize: Int
    /// What the file takes, where it lies in memory.
    private let ledger: MemoryLedger?
    /// The pages from the first one on that have a place.
    @exclusivity(unchecked) private var pages = 0
    /// The file's size when this process last looked; negative before.
    @exclusivity(unchecked) private var size = -1
    /// The open write; nobody else may make room.
    @exclusivity(unchecked) private var transaction: OpaquePointer?
    /// Why the open write has found no room, after which it cannot be committed; 0 if it has.
    @exclusivity(unchecked) private var failure: Int32 = 0

    /// By how many pages a file may be more than twice as large as it must be before it is cut.
    private static let spare = 1024
    /// The most pages that are given a place before they are needed.
    private static let mostAhead = 16_384

    /// Of an environment that was opened with MDB_WRITEMAP; `isInMemory` says that its pages take memory of the scripts
    /// that write them.
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

    /// Makes sure of room for a first step of the write that has begun.
    ///
    /// `known` is what the system has just said of the file. Throws `diskFull`, and `damaged` if the file was cut short.
    func begin(_ transaction: OpaquePointer?, _ known: stat? = nil) throws(StorageError) {
        failure = 0
        self.transaction = transaction
        assert(shim_version(transaction) == mdb_txn_id(transaction))
        var status = known ?? stat()
        guard known != nil || fstat(descriptor, &status) == 0 else {
            throw StorageError(rawCode: errno, call: "fstat", file: path)
        }
        let next = shim_next_page(transaction)
        // What others have added may have holes, and what they have cut off and added again too: there is less on the device
        // then, but for the little that the file system keeps of the file's places.
        if Int(status.st_size) != size || Int(status.st_blocks) * 512 < pages * pageSize {
            pages = 0
            size = Int(status.st_size)
            // LMDB writes no free pages: with them the file may end before its last page, but never with others.
            if size < next * pageSize { try FileHeader.check(descriptor, path: path) }
        }
        let wanted = next + Self.mostTaken(of: next)
        if size / pageSize > 2 * wanted + Self.spare {
            cut(to: wanted * pageSize)
            pages = min(pages, wanted)
        }
        try check(makeRoom(for: 0, in: transaction), "fallocate", path)
    }

    /// Makes sure of room for a step that stores some bytes, or for one that removes something: 0.
    ///
    /// The system's code. Some loads and comparisons, but for one step in hundreds.
    @inline(__always)
    func makeRoom(for bytes: Int, in transaction: OpaquePointer?) -> Int32 {
        // LMDB says that a reader may not change anything.
        guard transaction == self.transaction else { return 0 }
        let next = shim_next_page(transaction)
        assert(next <= pages || pages == 0, "a step has taken more pages than was thought possible")
        let needed = next + bytes / pageSize + 2 + Self.mostTaken(of: next)
        return needed > pages || failure != 0 ? grow(to: needed) : 0
    }

    /// More pages than any step takes in a file of `count` pages, the end of a write included.
    ///
    /// A step changes the way from a tree's root to a leaf, which may split on every level or take a neighbour along, and
    /// the same in the tree of names. A tree is no deeper than the count has binary digits, for a page that leads to others
    /// leads to two at least. At its end a write notes each page that is free, eight bytes for one, in lists of which each
    /// is put into the tree of free pages anew; where it has used up lists of few pages, it changes each leaf that they
    /// were in.
    private static func mostTaken(of count: Int) -> Int {
        (count >> 6) + 3 * (Int.bitWidth - count.leadingZeroBitCount) + 16
    }

    /// Gives pages a place, and some more so that this is rarely done.
    @inline(never)
    private func grow(to needed: Int) -> Int32 {
        if failure != 0 { return failure }
        failure = allocate(needed + min(needed / 16, Self.mostAhead))
        if failure != 0 { failure = allocate(needed) }
        return failure
    }

    /// The system's code.
    private func allocate(_ count: Int) -> Int32 {
        if let ledger, !ledger.grants(count * pageSize) { return StorageError.memoryLimitCode }
        let code = Platform.allocate(
            descriptor, path, from: pages * pageSize, to: count * pageSize)
        if code == 0 {
            pages = count
            size = max(size, count * pageSize)
        } else {
            // It may have found room for a part.
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

    /// Gives the file, which is as large as its map, the size of its content and some room.
    ///
    /// Waits for the write lock, as `trim` does: to be called where nobody seems to have it.
    func fit() {
        Self.withLock(environment) { transaction in
            // because: whoever writes hears of it.
            try? begin(transaction)
        }
    }

    /// Gives the file the size of its content, but no smaller one than `least`.
    func trim(least: Int = 0) {
        Self.withLock(environment) { cut(to: max(least, shim_next_page($0) * pageSize)) }
    }

    /// Gives a file that is not written through its map here the size of its content, if it is as large as such maps are:
    /// somebody who was killed, or had to do without the map, has left it so.
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

    /// Cuts off the pages that a failed write has added to the file, so that a full device has the space again.
    ///
    /// Only the thread that holds the write lock may call it. The write may still be open: LMDB does not access those
    /// pages when it aborts.
    static func reclaim(_ environment: OpaquePointer) {
        let (descriptor, pageSize, lastPage) = extent(environment)
        _ = cut(descriptor, to: (lastPage + 1) * pageSize)
    }

    /// Takes the write lock and does the same.
    static func reclaimWithLock(_ environment: OpaquePointer) {
        withLock(environment) { _ in reclaim(environment) }
    }

    /// The open file of an environment, the size of its pages, and the last page of the newest version.
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

    /// Whether a file can be written through a map of a size; `isShared` says that others may have it open.
    ///
    /// Not where what has a place on the device is written to another one, nor where the system limits the sizes of files,
    /// nor where others may have maps of another size.
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
        // The oldest of the file systems cannot give room.
        return shim_keeps_places(descriptor) != 0
            && Platform.allocate(descriptor, path, keepsSize: true, from: 0, to: 1) == 0
    }
}
