import CSQLite

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
