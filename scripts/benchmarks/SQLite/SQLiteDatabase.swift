import CSQLite

/// A connection with the settings that a careful user of SQLite would choose.
final class SQLiteDatabase {
    private let handle: OpaquePointer

    init(path: String, _ durability: Durability) throws {
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK, let opened else {
            throw BenchmarkError("sqlite: cannot open \(path)")
        }
        handle = opened
        // Other threads may open the file at the same time.
        sqlite3_busy_timeout(handle, 10_000)
        // One flush per commit: the write-ahead log makes SQLite's durable commits fast.
        try run("PRAGMA journal_mode = WAL")
        try run("PRAGMA synchronous = \(durability == .full ? "FULL" : "OFF")")
        try run("PRAGMA mmap_size = 1073741824")
        try run("PRAGMA cache_size = -65536")
        try run("PRAGMA temp_store = MEMORY")
    }

    deinit { sqlite3_close_v2(handle) }

    func run(_ text: String) throws {
        guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure(text) }
    }

    func prepare(_ text: String) throws -> SQLiteStatement {
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        guard sqlite3_prepare_v3(handle, text, -1, flags, &statement, nil) == SQLITE_OK,
            let statement
        else { throw failure(text) }
        return SQLiteStatement(statement, database: self)
    }

    var changedRows: Int { Int(sqlite3_changes(handle)) }

    func failure(_ context: String) -> BenchmarkError {
        BenchmarkError("sqlite: \(String(cString: sqlite3_errmsg(handle))) in \(context)")
    }
}

/// A prepared statement.
final class SQLiteStatement {
    let handle: OpaquePointer
    private let database: SQLiteDatabase

    init(_ handle: OpaquePointer, database: SQLiteDatabase) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Steps to the next row.
    ///
    /// After the last row it returns false, and the statement can run again.
    func next() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        sqlite3_reset(handle)
        guard code == SQLITE_DONE else { throw database.failure("a step") }
        return false
    }

    /// Runs a statement that returns no rows.
    func run() throws { while try next() {} }

    /// Runs a statement that returns one integer.
    func integer() throws -> Int64 {
        guard try next() else { throw BenchmarkError("sqlite: no row") }
        defer { sqlite3_reset(handle) }
        return sqlite3_column_int64(handle, 0)
    }

    func bind(_ position: Int32, _ value: Int64) { sqlite3_bind_int64(handle, position, value) }
    /// Binds a copy of a text.
    func bind(_ position: Int32, _ text: String) throws {
        // SQLITE_TRANSIENT, a cast that Swift does not import.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        guard sqlite3_bind_text(handle, position, text, -1, transient) == SQLITE_OK else {
            throw database.failure("binding")
        }
    }

    func bind(_ position: Int32, _ value: Double) { sqlite3_bind_double(handle, position, value) }
}
