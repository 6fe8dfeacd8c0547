import CLMDB
import MemoryAccounts

/// The size of the open write, by what its changes put.
///
/// LMDB keeps the pages that a write has changed in memory until the commit, and has no function that returns their
/// number. Unless the memory of the process is measured, theirs is therefore estimated from the changes and from the bytes
/// of keys and values that are put. A write that would take more than the memory limit of the script fails with
/// `memoryLimit`, and can only be rolled back. So does one that adds more than that to a file in memory.
///
/// If the changed pages take half a gigabyte, LMDB writes some of them to the file before the commit. The values on them
/// then get other addresses, even if their table has not changed, and the owners of addresses are notified before each
/// change from which on this is possible.
///
/// Only the thread that holds LMDB's write lock may use it.
final class OpenWrite: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.
    private let environment: OpaquePointer
    private let tableCount: UInt32
    private let pageSize: Int
    private let isInMemory: Bool
    /// The bytes of the file that are counted as the memory of the process, if the file is in memory.
    @exclusivity(unchecked) private var countedBytes = 0
    /// The space on the device; nil if the map is not written to.
    let reservation: MapReservation?
    /// Called before the addresses of values in all tables may change.
    @exclusivity(unchecked) var willMove: (() -> Void)?
    /// The bytes that the write has put, and the bytes up to which it need not ask for more.
    @exclusivity(unchecked) private(set) var bytes = 0
    @exclusivity(unchecked) private var granted = 0
    /// The account of the script that writes.
    @exclusivity(unchecked) private var account: MemoryAccount?
    /// The error code of the first change that was refused, after which the write cannot be committed; otherwise 0.
    @exclusivity(unchecked) private var refusal: Int32 = 0
    /// An upper bound of the pages that the write has taken, and the bound at which the trees are counted again.
    @exclusivity(unchecked) private var pages = 0
    @exclusivity(unchecked) private var checkedPages = 0
    @exclusivity(unchecked) private var maxTreePages = 0
    /// The bytes of changes that may replace a value with its own pages, which LMDB does not use again.
    @exclusivity(unchecked) private var replacedBytes = 0

    /// The number of put bytes after which the memory of the write is compared with the limit.
    private static let checkedBytes = 64 << 10
    /// The maximum number of pages of all trees from a root to a leaf that one change may copy or split.
    private static let pagesOfChange = 24
    /// LMDB keeps 131,071 changed pages, and needs some for its own lists at the end of the write.
    private static let maxKept = 122_000
    /// A value with fewer bytes has no pages of its own.
    private static let longBytes = 1500
    /// The number of pages for which space on the device is reserved at a time.
    private static let reservedPages = 512

    /// Creates the size of an environment's writes; `isInMemory` is true if the file's pages are in memory.
    init(
        _ environment: OpaquePointer, tableCount: Int, isInMemory: Bool,
        _ reservation: MapReservation?
    ) {
        self.reservation = reservation
        self.environment = environment
        self.tableCount = UInt32(tableCount) + 2
        self.isInMemory = isInMemory
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        pageSize = Int(statistics.ms_psize)
    }

    deinit { MemoryAccount.storesInMemory.subtract(countedBytes, ordering: .relaxed) }

    /// Begins a write.
    ///
    /// Throws `diskFull`, and `damaged` if the file was truncated.
    func begin(_ path: String, _ extent: FileExtent) throws(StorageError) {
        account = .current
        bytes = 0
        refusal = 0
        granted = account == nil ? .max : Self.checkedBytes
        countFile(adding: 0)
        (pages, checkedPages) = (0, Self.maxKept)
        (maxTreePages, replacedBytes) = (0, 0)
        guard let reservation else { return }
        try reservation.begin(extent)
        try check(reservation.reserve(Self.reservedPages), "fallocate", path)
        checkedPages = Self.reservedPages
    }

    /// Counts a change that puts some bytes, or that removes an entry for 0 bytes; `isNew` means that the key has no value
    /// yet.
    ///
    /// Returns an error code, or 0.
    @inline(__always)
    func count(_ added: Int, isNew: Bool, in transaction: OpaquePointer?) -> Int32 {
        bytes &+= added
        if !isNew, added > Self.longBytes { replacedBytes &+= added }
        pages &+= Self.pagesOfChange &+ added &>> 11
        return bytes <= granted && pages <= checkedPages ? 0 : grow(added, in: transaction)
    }

    /// Ends the write, before LMDB commits or aborts it.
    func end(isCommitted: Bool) {
        willMove = nil
        // After a commit, the file may contain all changed pages; the next write corrects the number.
        countFile(adding: isCommitted ? size : 0)
        account = nil
    }

    @inline(never)
    private func grow(_ added: Int, in transaction: OpaquePointer?) -> Int32 {
        if refusal == 0, bytes > granted { refusal = growBytes(in: transaction) }
        if refusal == 0, pages > checkedPages { refusal = growPages(added, in: transaction) }
        // Each further change gets here too.
        if refusal != 0 { granted = -1 }
        return refusal
    }

    /// An upper estimate of the memory of the changed pages: a change takes about one page in addition to its bytes, and
    /// all changes take no more than the trees.
    private var size: Int {
        let changes = max(0, pages - bytes >> 11) / Self.pagesOfChange
        return min(bytes + changes * pageSize, maxTreePages * pageSize)
    }

    private func growBytes(in transaction: OpaquePointer?) -> Int32 {
        guard let account else { return 0 }
        countTrees(in: transaction)
        countFile(adding: size)
        // The estimate counts a page again with each of its changes, so a measurement replaces it.
        let maximum = account.isMeasured ? countedBytes : max(size, countedBytes)
        guard maximum <= account.limit, account.hasSpace(for: Self.checkedBytes)
        else { return StorageError.memoryLimitCode }
        granted = bytes + Self.checkedBytes
        return 0
    }

    /// Counts the pages of a file in memory, and the bytes that the write adds to it, as memory of the process.
    private func countFile(adding added: Int) {
        guard isInMemory, account != nil else { return }
        let size = Environment.usedBytes(environment) + added
        MemoryAccount.storesInMemory.add(size - countedBytes, ordering: .relaxed)
        countedBytes = size
    }

    private func countTrees(in transaction: OpaquePointer?) {
        var present = 0
        for table in 0..<tableCount { present += treePages(table, transaction) }
        maxTreePages = max(maxTreePages, present)
    }

    /// Reserves space for the pages that the write takes, or notifies the owners of addresses if LMDB may write pages.
    ///
    /// The write has not taken more pages than were counted for its changes, nor more than all trees have, apart from
    /// those of long values that it has put and replaced: it uses other pages again that it has taken and removed.
    private func growPages(_ added: Int, in transaction: OpaquePointer?) -> Int32 {
        guard checkedPages > 0 else {
            willMove?()
            return 0
        }
        countTrees(in: transaction)
        let taken = min(pages, maxTreePages + Self.pagesOfChange)
        if let reservation {
            checkedPages = pages + Self.reservedPages
            return reservation.reserve(taken + 3 * replacedBytes / pageSize + Self.reservedPages)
        }
        checkedPages = pages + Self.maxKept - taken - 2 * added / pageSize
        // Counting the trees for each change would take longer than reading moved values again.
        if checkedPages - pages < Self.maxKept / 8 {
            checkedPages = 0
            willMove?()
        }
        return 0
    }

    private func treePages(_ table: UInt32, _ transaction: OpaquePointer?) -> Int {
        var statistics = MDB_stat()
        guard mdb_stat(transaction, table, &statistics) == 0 else { return 0 }
        return statistics.ms_branch_pages + statistics.ms_leaf_pages + statistics.ms_overflow_pages
    }
}
