import CLMDB
import Glibc
import Synchronization

/// Records whether another program has replaced, overwritten or truncated an open file.
///
/// From then on, no transaction of the file begins or commits, and nothing is written to it, not even on closing.
///
/// Reading a page that no longer exists would raise SIGBUS and end the process. Such a page is replaced by one without
/// content instead: reading values of it fails, because no value has its checksum.
final class ReplacementGuard: Sendable {
    // The functions have their state in this source file, which therefore contains all their calls.
    private let slot: Int32
    private let isRecorded = Atomic<Bool>(false)
    // because: the map stays at its address until the environment is closed.
    nonisolated(unsafe) let headers: MappedHeaders?

    /// Protects the map of an open environment, which has a table of this name; `isKnown` is true if its headers have the
    /// layout of ``FileHeader``.
    init(_ environment: OpaquePointer, table: String, isKnown: Bool) {
        var (info, statistics) = (MDB_envinfo(), MDB_stat())
        mdb_env_info(environment, &info)
        mdb_env_stat(environment, &statistics)
        let pageSize = Int(statistics.ms_psize)
        // A page of the file that is larger than a page of memory can begin in the middle of one.
        let base =
            isKnown && pageSize <= sysconf(Int32(_SC_PAGESIZE))
            ? Self.map(of: environment, table, pageSize: pageSize) : nil
        slot = base.map { shim_lost_pages_begin($0, info.me_mapsize) } ?? -1
        headers = base.map { MappedHeaders($0, pageSize: pageSize) }
    }

    /// Creates an object for a file that has another one.
    init() { (slot, headers) = (-1, nil) }

    private static func map(
        of environment: OpaquePointer, _ table: String, pageSize: Int
    ) -> UnsafeRawPointer? {
        var begun: OpaquePointer?
        var value = MDB_val()
        guard mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun) == 0 else { return nil }
        defer { mdb_txn_abort(begun) }
        let code = Array(table.utf8).withUnsafeBytes { name in
            var key = MDB_val(name)
            return mdb_get(begun, Table.names.dbi, &key, &value)
        }
        guard code == 0, let found = UnsafeRawPointer(value.mv_data) else { return nil }
        // The page with the name begins with its number, which tells where the map begins.
        let page = found - Int(bitPattern: found) & (pageSize - 1)
        return page - Int(page.load(as: UInt64.self)) * pageSize
    }

    /// Returns the layout of a version; nil if it is not the newest one.
    func layout(of version: UInt64) -> MappedHeaders.Layout? { headers?.layout(of: version) }

    /// Whether the file has its headers, and a version has the layout that was read before.
    @inline(__always)
    func contains(_ version: UInt64, _ layout: MappedHeaders.Layout?) -> Bool {
        guard let headers else { return true }
        guard headers.arePresent else { return false }
        guard let layout, let now = headers.layout(of: version) else { return true }
        return now == layout
    }

    /// Records that the file was replaced.
    func recordReplacement() { isRecorded.store(true, ordering: .relaxed) }

    /// Whether the file was replaced, as far as this process has noticed, or has no headers.
    ///
    /// LMDB reads the headers without verifying them when a transaction begins.
    var isReplaced: Bool {
        isRecorded.load(ordering: .relaxed) || slot >= 0 && shim_lost_pages_has_lost(slot) != 0
            || headers?.arePresent == false
    }

    /// Ends the protection, before the file is unmapped.
    func end() { if slot >= 0 { shim_lost_pages_end(slot) } }
}
