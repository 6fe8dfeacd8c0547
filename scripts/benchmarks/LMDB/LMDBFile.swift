import CLMDB

/// An LMDB environment with one table of rows under 64-bit integer keys.
final class LMDBFile: @unchecked Sendable {  // because LMDB is; a transaction stays on its thread
    let environment: OpaquePointer
    private(set) var table: MDB_dbi = 0

    init(path: String, _ durability: Durability) throws {
        var created: OpaquePointer?
        try check(mdb_env_create(&created), "mdb_env_create")
        environment = created!
        try check(mdb_env_set_mapsize(environment, 16 << 30), "mdb_env_set_mapsize")
        let flags = UInt32(MDB_NOSUBDIR) | (durability == .full ? 0 : UInt32(MDB_NOSYNC))
        try check(mdb_env_open(environment, path, flags, 0o644), "mdb_env_open \(path)")
        table = try write { transaction in
            var opened: MDB_dbi = 0
            let flags = UInt32(MDB_CREATE) | UInt32(MDB_INTEGERKEY)
            try check(mdb_dbi_open(transaction, nil, flags, &opened), "mdb_dbi_open")
            return opened
        }
    }

    deinit { mdb_env_close(environment) }

    /// Runs `body` in a write transaction and commits it.
    func write<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        let transaction = try begin(0)
        do {
            let result = try body(transaction)
            try check(mdb_txn_commit(transaction), "mdb_txn_commit")
            return result
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
    }

    /// Runs `body` over one version of the file.
    func read<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        let transaction = try begin(UInt32(MDB_RDONLY))
        defer { mdb_txn_abort(transaction) }
        return try body(transaction)
    }

    /// Calls `body` with each key and row, in key order, until it returns false.
    @inline(__always)
    func each(
        _ transaction: OpaquePointer,
        _ body: (Int64, UnsafeRawPointer, OpaquePointer) throws -> Bool
    ) throws {
        var opened: OpaquePointer?
        try check(mdb_cursor_open(transaction, table, &opened), "mdb_cursor_open")
        let cursor = opened!
        defer { mdb_cursor_close(cursor) }
        var key = MDB_val()
        var value = MDB_val()
        while mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0 {
            let number = key.mv_data.loadUnaligned(as: Int64.self)
            guard try body(number, UnsafeRawPointer(value.mv_data), cursor) else { return }
        }
    }

    /// Returns the row of an existing key.
    func row(_ transaction: OpaquePointer, _ key: Int64) throws -> MDB_val {
        var id = key
        return try withUnsafeMutableBytes(of: &id) { bytes in
            var key = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
            var value = MDB_val()
            try check(mdb_get(transaction, table, &key, &value), "mdb_get")
            return value
        }
    }

    private func begin(_ flags: UInt32) throws -> OpaquePointer {
        var transaction: OpaquePointer?
        try check(mdb_txn_begin(environment, nil, flags, &transaction), "mdb_txn_begin")
        return transaction!
    }
}

/// Throws an error for a result code of LMDB other than success.
func check(_ code: Int32, _ call: @autoclosure () -> String) throws {
    if code != 0 { throw BenchmarkError("\(call()): \(String(cString: mdb_strerror(code)))") }
}
