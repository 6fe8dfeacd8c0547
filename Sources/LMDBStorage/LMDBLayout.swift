import CLMDB

/// Compares values in LMDB's private structures with the results of its public functions.
///
/// The values are compared whenever a file is opened. If they differ, the release of LMDB has another layout, and the
/// file is used without a redo log: pages are written with system calls, and LMDB flushes every commit.
enum LMDBLayout {
    /// Returns whether the beginning of a transaction has the layout of `shim_transaction`.
    static func knowsTransactions(_ environment: OpaquePointer) -> Bool {
        guard shim_knows_transactions() != 0 else { return false }
        var begun: OpaquePointer?
        guard mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun) == 0 else { return false }
        defer { mdb_txn_abort(begun) }
        guard shim_version(begun) == mdb_txn_id(begun) else { return false }
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        // Other processes may have committed since.
        return info.me_last_txnid != mdb_txn_id(begun)
            || shim_next_page(begun) == info.me_last_pgno + 1
    }

    /// Returns whether LMDB's headers on the file's first pages have the layout of ``FileHeader``.
    static func knowsHeaders(_ environment: OpaquePointer) -> Bool {
        var descriptor: mdb_filehandle_t = -1
        mdb_env_get_fd(environment, &descriptor)
        var statistics = MDB_stat()
        mdb_env_stat(environment, &statistics)
        for _ in 0..<100 {
            var info = MDB_envinfo()
            mdb_env_info(environment, &info)
            guard let (newest, _) = FileHeader.newest(descriptor) else { return false }
            var after = MDB_envinfo()
            mdb_env_info(environment, &after)
            // Other processes may commit in the meantime.
            guard info.me_last_txnid == after.me_last_txnid else { continue }
            return newest.version == UInt64(info.me_last_txnid)
                && newest.lastPage == UInt64(info.me_last_pgno)
                && newest.pageSize == Int(statistics.ms_psize)
                && newest.magic == FileHeader.magic
        }
        return false
    }
}
