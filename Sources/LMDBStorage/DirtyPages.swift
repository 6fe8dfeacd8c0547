import CLMDB
import MemoryAccounts

/// The memory of the pages that the open write has changed, for a script with a memory limit.
///
/// Unless a file is written through its map, LMDB keeps changed pages in separate memory until the commit: up to 131,071
/// of them, which takes 512 MB, and more if long values have their own pages. Beyond that, it writes some to the file
/// early and reads them in the map. This object makes LMDB write pages early when they take an eighth of the script's
/// limit, or when the script's account grants no more. LMDB compares the space in its list of changed pages with what a
/// step may need, so the object lowers the recorded space for one step.
///
/// The values on a page that is written early get other addresses, even if their table has not changed. The owners of
/// addresses are notified, also in a write without a limit.
///
/// Pages can be written early for the same reason as by a commit that fails: no version contains them, and the redo log
/// does not need them.
///
/// Only the thread that holds LMDB's write lock may use it.
final class DirtyPages: @unchecked Sendable {
    // Unchecked because: LMDB's write lock guards everything that is not constant.
    private let pageSize: Int
    /// Whether pages can be written to the file before the commit.
    private let canSpill: Bool
    /// Whether a write is open whose changed pages can be counted.
    @exclusivity(unchecked) private(set) var isCounting = false
    /// Whether a script with a memory limit has begun the open write.
    @exclusivity(unchecked) private var isLimited = false
    /// Called before the addresses of values in all tables change.
    @exclusivity(unchecked) var willMove: (() -> Void)?
    /// Whether the write may have changed values with their own pages.
    @exclusivity(unchecked) private(set) var hasLong = false
    /// The memory from which pages are written early.
    @exclusivity(unchecked) private var limit = 0
    /// The memory that the pages may take before the account is asked for more.
    @exclusivity(unchecked) private var granted = 0
    /// The memory of values with their own pages since it was last counted.
    @exclusivity(unchecked) private var long = 0
    /// The number by which the space in LMDB's list is lowered during a step.
    @exclusivity(unchecked) private var lowered: UInt32 = 0
    /// The memory is charged until the next write, because LMDB keeps it for that.
    @exclusivity(unchecked) private var charge = MemoryCharge(nil)

    private static let step = 256 << 10
    /// So little memory is not charged.
    private static let free = 256 << 10
    /// Less memory is not worth writing early.
    private static let least = 512 << 10
    /// The number of changed pages from which LMDB may write some early on its own.
    private static let mostUnwritten = Int(shim_most_dirty_pages) - 8192

    /// Creates the memory of an environment whose pages are not written through its map.
    ///
    /// If `canSpill` is false, a step for which there is not enough memory fails.
    init(_ environment: OpaquePointer, canSpill: Bool) {
        self.canSpill = canSpill
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        pageSize = Int(statistics.ms_psize)
    }

    /// Begins a write, for the script that the calling thread runs.
    func begin(_ transaction: OpaquePointer?) {
        let account = MemoryAccount.current
        let kept = charge.bytes
        charge = MemoryCharge(recording: kept, to: account)
        isCounting = shim_knows_dirty_pages(transaction) != 0
        isLimited = isCounting && account != nil
        limit = max((account?.capacity ?? 0) / 8, Self.least)
        granted = max(charge.bytes, Self.free)
        long = 0
        hasLong = false
        lowered = 0
    }

    /// Removes the value of a key before another one is stored, if it has its own pages.
    ///
    /// LMDB would otherwise reuse these pages, however many, and read those that it has written early into memory. Call
    /// it after ``prepare(for:_:in:)``: a value must not be removed if there is no memory for the other one.
    ///
    /// Returns the error code, or 0.
    @inline(never)
    func removeLong(_ table: UInt32, _ key: MDB_val, in transaction: OpaquePointer?) -> Int32 {
        var key = key
        var value = MDB_val()
        guard mdb_get(transaction, table, &key, &value) == 0, isLong(key.mv_size + value.mv_size)
        else { return 0 }
        return mdb_del(transaction, table, &key, nil)
    }

    /// Whether an entry may have its own pages: LMDB puts at least two on a page.
    private func isLong(_ bytes: Int) -> Bool { bytes > pageSize / 2 - 64 }

    /// Prepares a step that stores some bytes in a table, or that removes an entry for 0 bytes.
    ///
    /// Returns the error code, or 0. A nil `table` means that the step needs no pages.
    func prepare(
        for bytes: Int, _ table: UInt32?, in transaction: OpaquePointer?
    ) -> Int32 {
        guard isLimited else {
            if shim_dirty_page_count(transaction) > Self.mostUnwritten { willMove?() }
            return 0
        }
        restore(transaction)
        if isLong(bytes) {
            hasLong = true
            long += bytes
        }
        return used(transaction) <= granted ? 0 : grow(for: bytes, table, in: transaction)
    }

    /// Ends the write, before LMDB commits or aborts it.
    func end(_ transaction: OpaquePointer?) {
        willMove = nil
        isCounting = false
        guard isLimited else { return }
        isLimited = false
        restore(transaction)
        // LMDB frees the memory of long values, and keeps that of single pages.
        charge.record(min(charge.bytes, limit))
    }

    private func used(_ transaction: OpaquePointer?) -> Int {
        shim_dirty_page_count(transaction) * pageSize + long
    }

    /// Restores the space in LMDB's list after a step.
    private func restore(_ transaction: OpaquePointer?) {
        guard lowered > 0 else { return }
        shim_set_dirty_space(transaction, shim_dirty_space(transaction) + lowered)
        lowered = 0
        long = shim_long_dirty_pages(transaction) * pageSize
    }

    @inline(never)
    private func grow(
        for bytes: Int, _ table: UInt32?, in transaction: OpaquePointer?
    ) -> Int32 {
        // Some long values were counted twice, or were removed.
        long = shim_long_dirty_pages(transaction) * pageSize
        let present = used(transaction)
        if isLong(bytes) { long += bytes }
        let wanted = used(transaction) + Self.step
        if wanted <= granted { return 0 }
        if wanted <= limit || !canSpill || present < Self.least {
            if allows(wanted) { return 0 }
            if !canSpill { return StorageError.memoryLimitCode }
        }
        guard present >= Self.least, let table else {
            // Only a long value takes much memory here.
            return allows(wanted) || bytes <= pageSize ? 0 : StorageError.memoryLimitCode
        }
        guard bytes <= pageSize || allows(bytes + Self.least) else {
            return StorageError.memoryLimitCode
        }
        spill(for: bytes, table, in: transaction)
        return 0
    }

    /// Charges memory, and returns whether the account has granted it.
    private func allows(_ wanted: Int) -> Bool {
        if wanted <= granted { return true }
        guard (try? charge.set(wanted)) != nil else { return false }
        granted = wanted
        return true
    }

    /// Makes LMDB write changed pages to the file in the next step.
    private func spill(for bytes: Int, _ table: UInt32, in transaction: OpaquePointer?) {
        willMove?()
        shim_prepare_spilling(transaction, 2 * limit / pageSize)
        // LMDB's estimate of what a step may need; it writes pages if there is not more space.
        var pages = depth(table, transaction)
        if table > Table.names.dbi { pages += depth(Table.names.dbi, transaction) }
        if bytes > 0 { pages += (PageImage.nodeSize + bytes + pageSize) / pageSize }
        let space = shim_dirty_space(transaction)
        guard space > 2 * pages else { return }
        lowered = space - UInt32(2 * pages)
        shim_set_dirty_space(transaction, UInt32(2 * pages))
    }

    private func depth(_ table: UInt32, _ transaction: OpaquePointer?) -> Int {
        var statistics = MDB_stat()
        return mdb_stat(transaction, table, &statistics) == 0 ? Int(statistics.ms_depth) : 0
    }
}
