import CLMDB

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Whether an open file is still the one that its path names.
///
/// Whoever deletes or replaces a file that is open leaves its processes with the old one, whose commits nobody will
/// find, and gives newcomers the lock file of the old one, by whose version they would take the new one's pages for
/// others.
struct FilePlace: Sendable {
    private let descriptor: Int32

    /// Of an environment's data file.
    ///
    /// Throws `replaced` if other processes have another file open under its name.
    init(_ environment: OpaquePointer, _ path: String) throws(StorageError) {
        var descriptor: Int32 = -1
        try check(mdb_env_get_fd(environment, &descriptor), "mdb_env_get_fd", path)
        self.descriptor = descriptor
        // A commit of another process may stand in the file already and not in the lock file yet.
        for attempt in 0..<200 {
            if try Self.agree(environment, path) { return }
            if attempt > 10 { usleep(1_000) }
        }
        // It never will if that process was killed in between: LMDB makes up for that when the next one locks.
        var begun: OpaquePointer?
        if mdb_txn_begin(environment, nil, 0, &begun) == 0 { mdb_txn_abort(begun) }
        guard try Self.agree(environment, path) else {
            throw StorageError(.replaced, call: "mdb_txn_begin", file: path)
        }
    }

    /// Throws `replaced` if no name leads to the file any more.
    @inline(__always)
    func verify(_ path: String) throws(StorageError) {
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_nlink == 0 {
            throw StorageError(.replaced, call: "fstat", file: path)
        }
    }

    /// Whether the file and the lock file have the same newest version.
    private static func agree(
        _ environment: OpaquePointer, _ path: String
    ) throws(StorageError) -> Bool {
        func inFile() -> UInt64 {
            var info = MDB_envinfo()
            mdb_env_info(environment, &info)
            return UInt64(info.me_last_txnid)
        }
        let before = inFile()
        var begun: OpaquePointer?
        let code = mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &begun)
        // because: no slot for a reader is nothing to find here.
        if code == MDB_READERS_FULL { return true }
        try check(code, "mdb_txn_begin", path)
        let inLock = UInt64(mdb_txn_id(begun))
        mdb_txn_abort(begun)
        return before <= inLock && inLock <= inFile()
    }
}
