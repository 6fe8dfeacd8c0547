import CSQLite
import SystemCalls

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A SQLite database, for reading an existing database or for writing a new one atomically.
///
/// Confined to one thread.
package final class SQLiteDatabase {
    private(set) var handle: OpaquePointer
    let path: String
    /// The draft file of a database that is being written.
    private let draft: DraftFile?
    /// The content of a file without a name; SQLite opens files by their names.
    private let content: UnsafeMutableRawBufferPointer?

    /// Opens a database for reading.
    ///
    /// All statements read the same snapshot. Throws a `FormatError` with the file if it does not exist, is not a
    /// database, or is locked by another program for more than five seconds.
    package init(reading path: String) throws {
        // The system's message for a file that cannot be opened is more detailed than SQLite's.
        _ = try FileReader(path)
        self.path = path
        draft = nil
        content = try Self.unnamedContent(of: path)
        if let content {
            handle = try Self.open(":memory:", path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX)
            sqlite3_deserialize(
                handle, "main", content.baseAddress?.assumingMemoryBound(to: UInt8.self),
                Int64(content.count), Int64(content.count), UInt32(SQLITE_DESERIALIZE_READONLY))
            try beginReading()
            return
        }
        handle = try Self.open(path, path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX)
        do {
            try beginReading()
        } catch  where Self.isLogMissing(handle, path) {
            // Without write permission, the write-ahead log cannot be created, but the content cannot change either.
            sqlite3_close_v2(handle)
            handle = try Self.open(
                Self.immutableAddress(of: path), path,
                SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI)
            try beginReading()
        }
    }

    /// Returns the content of a database without a name, such as an open file that was deleted; nil for other files.
    private static func unnamedContent(of path: String) throws -> UnsafeMutableRawBufferPointer? {
        let file = openFile(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_nlink == 0 else { return nil }
        guard status.st_size >= 100 else {
            throw FormatError("\(path) is not a SQLite database: it has no header")
        }
        guard
            let start = mmap(
                nil, Int(status.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0),
            start != MAP_FAILED
        else { throw FormatError("cannot read \(path): \(systemMessage())") }
        let content = UnsafeMutableRawBufferPointer(start: start, count: Int(status.st_size))
        // The header can name a write-ahead log, which a content in memory cannot have.
        for index in 18...19 where content[index] == 2 { content[index] = 1 }
        return content
    }

    /// The maximum number of columns of a table.
    package var columnLimit: Int { Int(sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, -1)) }

    private func beginReading() throws {
        sqlite3_busy_timeout(handle, 5000)
        // The schema can come from an untrusted source.
        try run("PRAGMA trusted_schema = OFF")
        try run("BEGIN")
        _ = try prepare("SELECT count(*) FROM sqlite_schema").step()
    }

    /// Returns whether a database could not be read because its write-ahead log is missing and cannot be created.
    private static func isLogMissing(_ handle: OpaquePointer, _ path: String) -> Bool {
        let code = sqlite3_errcode(handle)
        return (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
            && access(path + "-wal", F_OK) != 0 && access(path + "-journal", F_OK) != 0
    }

    private static func immutableAddress(of path: String) -> String {
        var address = "file:"
        for byte in path.utf8 {
            let isPlain =
                byte == 0x2F || byte == 0x2E || byte == 0x2D || byte == 0x5F
                || byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26
            if isPlain {
                address.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16)
                address += "%" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return address + "?immutable=1"
    }

    /// Creates a database, which gets its name only when ``finish()`` is called.
    ///
    /// Throws a `FormatError` with the file.
    package init(writing path: String) throws {
        self.path = path
        for suffix in ["-wal", "-journal"] where access(path + suffix, F_OK) == 0 {
            // A program that opens the new file would use the log of the old file.
            throw FormatError(
                "cannot replace \(path): \(path)\(suffix) shows that it is in use, or was left by a "
                    + "program that crashed; open it with sqlite3 once, or remove both")
        }
        let draft = DraftFile(of: path)
        self.draft = draft
        content = nil
        // The system's message for a file that cannot be written is more detailed than SQLite's.
        let file = draft.create()
        guard file >= 0 else { throw Self.refusal(path) }
        close(file)
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        handle = try Self.open(draft.path, path, flags)
        // No other process uses the draft, and it is deleted after a failure.
        try run("PRAGMA journal_mode = OFF")
        try run("PRAGMA synchronous = OFF")
        try run("PRAGMA foreign_keys = OFF")
        try run("BEGIN")
    }

    deinit {
        sqlite3_close_v2(handle)
        if let content { munmap(content.baseAddress, content.count) }
    }

    private static func open(_ file: String, _ path: String, _ flags: Int32) throws -> OpaquePointer
    {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(file, &opened, flags, nil)
        guard let opened else { throw FormatError("not enough memory") }
        guard code == SQLITE_OK else {
            defer { sqlite3_close_v2(opened) }
            throw failure(opened, path)
        }
        return opened
    }

    /// Commits the transaction, flushes the file to the device, and renames it to its final path.
    package func finish() throws {
        guard let draft else { return }
        try run("COMMIT")
        let file = Self.openFile(draft.path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { throw Self.refusal(path) }
        defer { close(file) }
        guard fsync(file) == 0, draft.publish() else { throw Self.refusal(path) }
    }

    private static func refusal(_ path: String) -> FormatError {
        FormatError("cannot write \(path): \(systemMessage())")
    }

    private static func openFile(_ path: String, _ flags: Int32) -> Int32 {
        #if canImport(Glibc)
            Glibc.open(path, flags, 0o644)
        #else
            Darwin.open(path, flags, 0o644)
        #endif
    }

    /// Runs statements that return no rows.
    package func run(_ text: String) throws {
        guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure() }
    }

    /// Prepares one statement; `?` marks a parameter.
    package func prepare(_ text: String) throws -> SQLiteStatement {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK, let statement
        else { throw failure() }
        return SQLiteStatement(statement, self)
    }

    /// Returns an error with the file and SQLite's message for the last call.
    func failure() -> FormatError { Self.failure(handle, path) }

    private static func failure(_ handle: OpaquePointer, _ path: String) -> FormatError {
        let code = sqlite3_errcode(handle)
        switch code {
        case SQLITE_READONLY, SQLITE_CANTOPEN:
            if let reason = interrupted(path) { return FormatError(reason) }
        default: break
        }
        switch code {
        case SQLITE_CORRUPT:
            return FormatError(
                "\(path) is damaged; recover it first, as in: sqlite3 \(path) .recover "
                    + "| sqlite3 new.db")
        case SQLITE_NOTADB:
            return FormatError("\(path) is not a SQLite database, or it is encrypted")
        case SQLITE_BUSY:
            return FormatError("\(path) is locked: another program is writing to it")
        case SQLITE_FULL:
            return FormatError("cannot write \(path): no space left on device")
        case SQLITE_CANTOPEN, SQLITE_IOERR:
            let number = sqlite3_system_errno(handle)
            guard number != 0 else { break }
            return FormatError("cannot use \(path): \(systemMessage(number))")
        default: break
        }
        return FormatError("\(path): \(String(cString: sqlite3_errmsg(handle)))")
    }

    /// Returns the reason why a database with an interrupted write cannot be read; nil if there was no such write.
    private static func interrupted(_ path: String) -> String? {
        if access(path + "-journal", F_OK) == 0 {
            return
                "\(path) contains an interrupted write that \(path)-journal rolls back; open the "
                + "database once with sqlite3, as in: sqlite3 \(path) .tables"
        }
        guard access(path + "-wal", F_OK) == 0 else { return nil }
        return
            "\(path) has commits in \(path)-wal that cannot be read in a read-only folder; copy "
            + "both files to a folder that you can write to, and import the copy"
    }
}

/// A prepared statement of a ``SQLiteDatabase``.
///
/// Columns and parameters are counted from 0. Confined to one thread.
package final class SQLiteStatement {
    /// The storage class of a value.
    package enum Kind: Int, Sendable {
        /// A 64-bit `INTEGER`.
        case int = 1
        /// A `REAL`, which is a double.
        case real = 2
        /// A `TEXT`.
        case text = 3
        /// A `BLOB`.
        case blob = 4
        /// The value `NULL`.
        case null = 5
    }

    private let handle: OpaquePointer
    private let database: SQLiteDatabase

    init(_ handle: OpaquePointer, _ database: SQLiteDatabase) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Advances to the next row.
    ///
    /// Returns false after the last row; the statement can then run again.
    package func step() throws -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else {
            let failure = database.failure()
            sqlite3_reset(handle)
            throw failure
        }
        sqlite3_reset(handle)
        return false
    }

    /// Returns the storage class of a column's value.
    ///
    /// Call it before reading the value.
    package func kind(_ column: Int) -> Kind {
        Kind(rawValue: Int(sqlite3_column_type(handle, Int32(column)))) ?? .null
    }

    /// Returns an integer.
    package func int(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

    /// Returns a number.
    package func double(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

    /// Returns the bytes of a text or a blob.
    package func bytes(_ column: Int) -> [UInt8] { Array(buffer(column)) }

    /// Returns a text; nil if it is not UTF-8.
    package func text(_ column: Int) -> String? {
        let buffer = buffer(column)
        return String(validating: buffer, as: UTF8.self)
    }

    /// Returns the bytes of a value, which are valid until the next step.
    private func buffer(_ column: Int) -> UnsafeBufferPointer<UInt8> {
        let column = Int32(column)
        // The order matters: reading the text can convert it, which changes the number of bytes.
        let start =
            sqlite3_column_type(handle, column) == SQLITE_BLOB
            ? sqlite3_column_blob(handle, column)
            : sqlite3_column_text(handle, column).map(UnsafeRawPointer.init)
        let count = Int(sqlite3_column_bytes(handle, column))
        return UnsafeBufferPointer(start: start?.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// Returns the name of a column.
    package func name(_ column: Int) -> String {
        sqlite3_column_name(handle, Int32(column)).map { String(cString: $0) } ?? "?"
    }

    /// The number of columns in a row.
    package var columnCount: Int { Int(sqlite3_column_count(handle)) }

    // MARK: Parameters

    /// Binds `NULL`.
    package func bindNull(_ parameter: Int) { sqlite3_bind_null(handle, Int32(parameter + 1)) }

    /// Binds an integer.
    package func bind(_ parameter: Int, _ value: Int64) {
        sqlite3_bind_int64(handle, Int32(parameter + 1), value)
    }

    /// Binds a number.
    ///
    /// SQLite stores NaN as `NULL`.
    package func bind(_ parameter: Int, _ value: Double) {
        sqlite3_bind_double(handle, Int32(parameter + 1), value)
    }

    /// Binds a text, including any zero bytes in it.
    package func bind(_ parameter: Int, _ value: String) {
        var value = value
        value.withUTF8 { bytes in
            _ = sqlite3_bind_text64(
                handle, Int32(parameter + 1), bytes.baseAddress, UInt64(bytes.count),
                Self.copied, UInt8(SQLITE_UTF8))
        }
        if value.isEmpty { bindEmpty(parameter) }
    }

    /// Binds bytes.
    package func bind(_ parameter: Int, _ value: [UInt8]) {
        guard !value.isEmpty else {
            sqlite3_bind_zeroblob(handle, Int32(parameter + 1), 0)
            return
        }
        value.withUnsafeBytes { bytes in
            _ = sqlite3_bind_blob64(
                handle, Int32(parameter + 1), bytes.baseAddress, UInt64(bytes.count), Self.copied)
        }
    }

    /// Binds an empty text or blob, because SQLite would treat a null pointer as `NULL`.
    private func bindEmpty(_ parameter: Int) {
        sqlite3_bind_text(handle, Int32(parameter + 1), "", 0, Self.copied)
    }

    /// The marker that makes SQLite copy the bytes, because Swift's memory is valid only during the call.
    private static var copied: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
}

/// The notation of names and texts that SQL databases have in common.
package enum SQLText {
    /// Returns a name quoted for SQL, with any content.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// Returns names quoted for SQL, separated by commas.
    package static func list(_ names: [String]) -> String {
        names.map(quoted).joined(separator: ", ")
    }

    /// Returns a text as an SQL literal.
    package static func literal(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }
}
