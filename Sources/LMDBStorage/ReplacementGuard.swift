import CLMDB
import Synchronization

/// Records whether another program has replaced, overwritten or truncated an open file.
///
/// From then on, no transaction of the file begins or commits, and nothing is written to it, not even on closing.
///
/// Reading a page that no longer exists would raise SIGBUS and end the process. Zeros replace such pages instead: reading
/// them fails, because no value has its checksum.
final class ReplacementGuard: Sendable {
    // The functions have their state in this source file, which therefore contains all their calls.
    private let slot: Int32
    private let isNoted = Atomic<Bool>(false)

    /// Protects the map of an open environment, which has a table of this name.
    init(_ environment: OpaquePointer, table: String) {
        slot =
            Self.map(of: environment, table).map {
                shim_lost_pages_begin($0.baseAddress, $0.count)
            } ?? -1
    }

    /// Creates an object for a file that has another one.
    init() { slot = -1 }

    private static func map(
        of environment: OpaquePointer, _ table: String
    ) -> UnsafeRawBufferPointer? {
        var begun: OpaquePointer?
        var (value, info, statistics) = (MDB_val(), MDB_envinfo(), MDB_stat())
        mdb_env_info(environment, &info)
        mdb_env_stat(environment, &statistics)
        guard mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun) == 0 else { return nil }
        defer { mdb_txn_abort(begun) }
        let code = Array(table.utf8).withUnsafeBytes { name in
            var key = MDB_val(name)
            return mdb_get(begun, Table.names.dbi, &key, &value)
        }
        guard code == 0, let found = UnsafeRawPointer(value.mv_data) else { return nil }
        // The page with the name begins with its number, which tells where the map begins.
        let size = Int(statistics.ms_psize)
        let page = found - Int(bitPattern: found) & (size - 1)
        return UnsafeRawBufferPointer(
            start: page - Int(page.load(as: UInt64.self)) * size, count: info.me_mapsize)
    }

    /// Records that the file was replaced.
    func note() { isNoted.store(true, ordering: .relaxed) }

    /// Whether the file was replaced, as far as this process has noticed.
    var isReplaced: Bool {
        isNoted.load(ordering: .relaxed) || slot >= 0 && shim_lost_pages_has_lost(slot) != 0
    }

    /// Ends the protection, before the file is unmapped.
    func end() { if slot >= 0 { shim_lost_pages_end(slot) } }
}
