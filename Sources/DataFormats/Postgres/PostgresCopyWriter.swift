import CPostgres

/// The rows of a `COPY … FROM STDIN` in the binary format.
///
///     let copy = try server.copyIn("COPY dog (id, name) FROM STDIN (FORMAT binary)")
///     copy.beginRow(columns: 2)
///     copy.int(7)
///     copy.text("Rex")
///     try copy.endRow()
///     try copy.finish()
///
/// Confined to the thread of the connection.
package final class PostgresCopyWriter {
    private static let header: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00]

    private let connection: PostgresConnection
    private var buffer: [UInt8]
    private var rowStart: Int
    private var isActive = true

    init(_ connection: PostgresConnection) {
        self.connection = connection
        buffer = Self.header + [UInt8](repeating: 0, count: 8)
        rowStart = buffer.count
        buffer.reserveCapacity(160 << 10)
    }

    deinit { if isActive { cancel() } }

    /// Begins a row with a number of fields.
    package func beginRow(columns: Int) {
        rowStart = buffer.count
        append(UInt16(truncatingIfNeeded: columns))
    }

    /// Ends a row.
    package func endRow() throws { if buffer.count > 128 << 10 { try flush() } }

    /// Sends the remaining rows and waits until the server has stored them.
    package func finish() throws {
        append(UInt16.max)
        try flush()
        isActive = false
        guard connection.functions.put_copy_end(connection.handle, nil) == 1 else {
            throw connection.connectionFailure()
        }
        try connection.finishCopy()
    }

    /// Abandons the rows, so that the transaction fails.
    package func cancel() {
        isActive = false
        _ = connection.functions.put_copy_end(connection.handle, "canceled")
        try? connection.finishCopy()
    }

    private func flush() throws {
        let sent = buffer.withUnsafeBytes { bytes in
            connection.functions.put_copy_data(
                connection.handle, bytes.assumingMemoryBound(to: CChar.self).baseAddress,
                Int32(bytes.count))
        }
        buffer.removeAll(keepingCapacity: true)
        guard sent == 1 else {
            isActive = false
            // The result of the server is more detailed than the error of the connection.
            try connection.finishCopy()
            throw connection.connectionFailure()
        }
    }

    // MARK: Fields

    /// Writes NULL.
    package func null() { append(UInt32.max) }

    /// Writes a `boolean`.
    package func bool(_ value: Bool) {
        append(UInt32(1))
        buffer.append(value ? 1 : 0)
    }

    /// Writes a `bigint`, or a `timestamp` in microseconds since 2000.
    package func int(_ value: Int64) {
        append(UInt32(8))
        append(UInt64(bitPattern: value))
    }

    /// Writes a `double precision`.
    package func double(_ value: Double) {
        append(UInt32(8))
        append(value.bitPattern)
    }

    /// Writes a `real`.
    package func float(_ value: Float) {
        append(UInt32(4))
        append(value.bitPattern)
    }

    /// Writes a `text`.
    package func text(_ value: String) {
        var value = value
        value.withUTF8 { utf8 in
            append(UInt32(utf8.count))
            buffer.append(contentsOf: utf8)
        }
    }

    /// Writes a `bytea`, a `uuid`, or another type in its binary form.
    package func bytes(_ value: some Collection<UInt8>) {
        append(UInt32(value.count))
        buffer.append(contentsOf: value)
    }

    /// Writes a `jsonb`.
    package func json(_ text: [UInt8]) {
        append(UInt32(text.count + 1))
        buffer.append(1)
        buffer.append(contentsOf: text)
    }

    /// Writes a `numeric`.
    package func numeric(_ value: PostgresNumeric) { bytes(value.bytes) }

    /// Writes an array with elements of a type; `write` writes each element, or ``null()``.
    package func array(
        of elementType: UInt32, count: Int, hasNull: Bool, _ write: (Int) throws -> Void
    ) rethrows {
        let start = buffer.count
        append(UInt32(0))
        append(UInt32(count == 0 ? 0 : 1))
        append(UInt32(hasNull ? 1 : 0))
        append(elementType)
        if count > 0 {
            append(UInt32(count))
            append(UInt32(1))
            for index in 0..<count { try write(index) }
        }
        let length = UInt32(buffer.count - start - 4)
        for offset in 0..<4 {
            buffer[start + offset] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(offset)))
        }
    }

    private func append(_ value: some FixedWidthInteger & UnsignedInteger) {
        withUnsafeBytes(of: value.bigEndian) { buffer.append(contentsOf: $0) }
    }
}
