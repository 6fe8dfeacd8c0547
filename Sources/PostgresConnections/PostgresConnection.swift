import CPostgres
import DataFormats

/// A connection to a PostgreSQL server.
///
///     let server = try PostgresConnection("postgres://localhost/zoo")
///     try server.run("CREATE TABLE dog (id bigint PRIMARY KEY)")
///     let names = try server.rows("SELECT name FROM dog WHERE id = $1", ["7"])
///
/// Sessions use UTF-8, UTC, ISO dates and hexadecimal notation for binary data. Confined to one thread.
package final class PostgresConnection {
    /// Whether libpq, which connections need, is installed.
    package static var isAvailable: Bool { PostgresLibrary.isInstalled }

    let functions: PostgresFunctions
    let handle: OpaquePointer

    /// Connects to the server at an address: `postgres://user@host:5432/database` or `host=… dbname=…`.
    ///
    /// Blocks until the server responds, for at most ten seconds unless the address specifies a timeout. Throws a
    /// `FormatError` with the server's message.
    package init(_ address: String) throws {
        functions = try PostgresLibrary.functions()
        let parameters: [(String, String)] = [
            ("connect_timeout", "10"), ("fallback_application_name", "moonpool"),
            ("dbname", address), ("client_encoding", "UTF8"),
        ]
        handle = try Self.connect(parameters, functions)
        postgres_drop_notices([functions], handle)
        do {
            try run(
                """
                SET datestyle = 'ISO'; SET timezone = 'UTC'; SET extra_float_digits = 1; \
                SET bytea_output = 'hex'; SET intervalstyle = 'iso_8601'; SET standard_conforming_strings = on
                """)
        } catch {
            functions.finish(handle)
            throw error
        }
    }

    deinit { functions.finish(handle) }

    private static func connect(
        _ parameters: [(String, String)], _ functions: PostgresFunctions
    ) throws -> OpaquePointer {
        let handle = withCStrings(parameters.map(\.0)) { keywords in
            withCStrings(parameters.map(\.1)) { values in functions.connect(keywords, values, 1) }
        }
        guard let handle else { throw FormatError("not enough memory") }
        guard functions.status(handle) == Int32(POSTGRES_CONNECTED) else {
            defer { functions.finish(handle) }
            let reason = text(functions.error_message(handle))
            throw FormatError("cannot connect to PostgreSQL: \(oneLine(reason))")
        }
        return handle
    }

    /// Whether the connection is open; false after the server has closed it.
    package var isConnected: Bool { functions.status(handle) == Int32(POSTGRES_CONNECTED) }

    // MARK: Statements

    /// Runs statements and ignores their rows.
    ///
    /// Throws a `FormatError` with the server's message.
    package func run(_ sql: String) throws {
        let result = functions.exec(handle, sql)
        defer { functions.clear(result) }
        _ = try check(result, [POSTGRES_COMMAND_OK, POSTGRES_TUPLES_OK, POSTGRES_EMPTY_QUERY])
    }

    /// Runs one statement and returns its rows as text, with nil for NULL.
    ///
    /// `$1` is the first parameter. Throws a `FormatError` with the server's message.
    package func rows(_ sql: String, _ parameters: [String?] = []) throws -> [[String?]] {
        let result = Self.withCStrings(parameters) { values in
            functions.exec_params(
                handle, sql, Int32(parameters.count), nil, values, nil, nil, 0)
        }
        defer { functions.clear(result) }
        let checked = try check(result, [POSTGRES_COMMAND_OK, POSTGRES_TUPLES_OK])
        let columns = functions.column_count(checked)
        return (0..<functions.row_count(checked)).map { row in
            (0..<columns).map { column in
                guard functions.is_null(checked, row, column) == 0 else { return nil }
                return Self.text(functions.value(checked, row, column))
            }
        }
    }

    /// Starts `COPY … FROM STDIN (FORMAT binary)`.
    ///
    /// No other statement can run before ``PostgresCopyWriter/finish()``.
    package func copyIn(_ sql: String) throws -> PostgresCopyWriter {
        try begin(sql, POSTGRES_COPY_IN)
        return PostgresCopyWriter(self)
    }

    /// Starts `COPY … TO STDOUT (FORMAT binary)`.
    ///
    /// No other statement can run before the reader has returned its last row.
    package func copyOut(_ sql: String) throws -> PostgresCopyReader {
        try begin(sql, POSTGRES_COPY_OUT)
        return PostgresCopyReader(self)
    }

    private func begin(_ sql: String, _ status: Int) throws {
        let result = functions.exec(handle, sql)
        defer { functions.clear(result) }
        _ = try check(result, [status])
    }

    /// Reads the result at the end of a `COPY`.
    func finishCopy() throws {
        var failure: (any Error)?
        while let result = functions.get_result(handle) {
            defer { functions.clear(result) }
            do {
                _ = try check(result, [POSTGRES_COMMAND_OK, POSTGRES_TUPLES_OK])
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    // MARK: Errors

    /// Returns a result that has one of these states; throws for other states.
    private func check(_ result: OpaquePointer?, _ states: [Int]) throws -> OpaquePointer {
        guard let result else { throw connectionFailure() }
        guard states.contains(Int(functions.result_status(result))) else {
            throw failure(result)
        }
        return result
    }

    /// Returns the error of the connection.
    func connectionFailure() -> FormatError {
        FormatError("PostgreSQL: \(Self.oneLine(Self.text(functions.error_message(handle))))")
    }

    private func failure(_ result: OpaquePointer) -> FormatError {
        func field(_ code: Character) -> String? {
            guard let value = code.asciiValue,
                let text = functions.result_error_field(result, Int32(value))
            else { return nil }
            return Self.text(text)
        }
        guard let message = field("M") else {
            let text = Self.text(functions.result_error_message(result))
            return text.isEmpty
                ? connectionFailure() : FormatError("PostgreSQL: \(Self.oneLine(text))")
        }
        var reason = "PostgreSQL: \(message)"
        if let detail = field("D") { reason += " (\(Self.oneLine(detail)))" }
        if let context = field("W"), context.hasPrefix("COPY ") {
            reason += " [\(Self.oneLine(context))]"
        }
        return FormatError(reason)
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        pointer.map { String(cString: $0) } ?? ""
    }

    // MARK: Text

    private static func withCStrings<Result>(
        _ texts: [String?], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        // One buffer contains all texts; the pointers are computed when it no longer moves.
        var bytes: [CChar] = []
        var offsets: [Int?] = []
        for text in texts {
            guard let text else {
                offsets.append(nil)
                continue
            }
            offsets.append(bytes.count)
            bytes += text.utf8CString
        }
        bytes.append(0)
        return bytes.withUnsafeBufferPointer { buffer in
            var pointers: [UnsafePointer<CChar>?] = offsets.map { offset in
                offset.flatMap { buffer.baseAddress?.advanced(by: $0) }
            }
            pointers.append(nil)
            return pointers.withUnsafeBufferPointer { pointers in
                guard let base = pointers.baseAddress else { preconditionFailure("never empty") }
                return body(base)
            }
        }
    }
}

/// The library libpq, which is loaded when a program first connects to PostgreSQL.
enum PostgresLibrary {
    private struct Loaded: @unchecked Sendable {
        // The value is written once, before other threads can use it.
        let functions: PostgresFunctions?
    }

    private static let loaded: Loaded = {
        var functions = PostgresFunctions()
        return Loaded(functions: postgres_load(&functions) ? functions : nil)
    }()

    /// Whether the library is installed.
    static var isInstalled: Bool { loaded.functions != nil }

    /// Returns the functions of the library.
    ///
    /// Throws a `FormatError` with the name of the package to install.
    static func functions() throws -> PostgresFunctions {
        guard let functions = loaded.functions else {
            throw FormatError(
                "PostgreSQL needs the library libpq; install the Debian package libpq5, as in: "
                    + "apt-get install libpq5")
        }
        return functions
    }
}
