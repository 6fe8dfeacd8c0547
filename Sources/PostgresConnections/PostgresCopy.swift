import CPostgres
import DataFormats

/// The rows of a `COPY … TO STDOUT` in the binary format.
///
///     let rows = try server.copyOut("COPY (SELECT id, name FROM dog) TO STDOUT (FORMAT binary)")
///     while try rows.next() { print(rows.int(0), rows.text(1)) }
///
/// Columns are counted from 0. Confined to the thread of the connection.
package final class PostgresCopyReader {
    private let connection: PostgresConnection
    private var row: [UInt8] = []
    private var fields: [Range<Int>?] = []
    private var isFirst = true
    private var isAtEnd = false

    init(_ connection: PostgresConnection) { self.connection = connection }

    deinit { if !isAtEnd { drain() } }

    /// Reads the remaining data, so that the connection can be used again.
    private func drain() {
        var data: UnsafeMutablePointer<CChar>?
        while connection.functions.get_copy_data(connection.handle, &data, 0) > 0 {
            connection.functions.free_memory(data)
        }
        try? connection.finishCopy()
    }

    /// Advances to the next row; returns false after the last one.
    package func next() throws -> Bool {
        while !isAtEnd {
            var data: UnsafeMutablePointer<CChar>?
            let count = connection.functions.get_copy_data(connection.handle, &data, 0)
            guard count > 0 else {
                isAtEnd = true
                try connection.finishCopy()
                return false
            }
            row.removeAll(keepingCapacity: true)
            row.append(contentsOf: UnsafeRawBufferPointer(start: data, count: Int(count)))
            connection.functions.free_memory(data)
            if try parse() { return true }
        }
        return false
    }

    /// Parses the fields of a row; returns false for the trailer.
    private func parse() throws -> Bool {
        var offset = 0
        if isFirst {
            isFirst = false
            // The header consists of a signature, flags, and an extension with its length.
            offset = 19 + Int(read(15, as: UInt32.self))
        }
        guard row.count >= offset + 2 else { return false }
        let count = Int16(bitPattern: read(offset, as: UInt16.self))
        guard count >= 0 else { return false }
        offset += 2
        fields.removeAll(keepingCapacity: true)
        for _ in 0..<count {
            let length = Int32(bitPattern: read(offset, as: UInt32.self))
            offset += 4
            guard length >= 0 else {
                fields.append(nil)
                continue
            }
            let end = offset + Int(length)
            guard end <= row.count else { throw Self.malformed }
            fields.append(offset..<end)
            offset = end
        }
        return true
    }

    private static var malformed: FormatError {
        FormatError("PostgreSQL sent a row that is not in its binary format")
    }

    private func read<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
        guard offset + Number.bitWidth / 8 <= row.count else { return 0 }
        var value: Number = 0
        for byte in row[offset..<offset + Number.bitWidth / 8] {
            value = value << 8 | Number(byte)
        }
        return value
    }

    // MARK: Fields

    /// Returns whether a field is NULL.
    package func isNull(_ column: Int) -> Bool { fields[column] == nil }

    /// Returns a `bigint`, or the microseconds since 2000 of a `timestamp`.
    package func int(_ column: Int) -> Int64 {
        guard let field = fields[column], field.count == 8 else { return 0 }
        return Int64(bitPattern: read(field.lowerBound, as: UInt64.self))
    }

    /// Returns a `double precision`.
    package func double(_ column: Int) -> Double {
        Double(bitPattern: UInt64(bitPattern: int(column)))
    }

    /// Returns a `boolean`.
    package func bool(_ column: Int) -> Bool {
        fields[column].map { !$0.isEmpty && row[$0.lowerBound] != 0 } ?? false
    }

    /// Calls a function with the bytes of a field.
    package func withBytes<Result>(_ column: Int, _ body: (RawSpan) -> Result) -> Result {
        let field = fields[column] ?? 0..<0
        return row.withUnsafeBytes { body(RawSpan(_unsafeBytes: .init(rebasing: $0[field]))) }
    }

    /// Returns the bytes of a field.
    package func bytes(_ column: Int) -> [UInt8] { fields[column].map { Array(row[$0]) } ?? [] }

    /// Returns the elements of a one-dimensional array, with nil for NULL; nil for an array with more dimensions.
    package func elements(_ column: Int) -> [[UInt8]?]? {
        guard let field = fields[column] else { return [] }
        var offset = field.lowerBound
        let dimensions = read(offset, as: UInt32.self)
        guard dimensions > 0 else { return [] }
        guard dimensions == 1 else { return nil }
        let count = Int(read(offset + 12, as: UInt32.self))
        offset += 20
        var elements: [[UInt8]?] = []
        elements.reserveCapacity(min(count, field.count / 4))
        for _ in 0..<count {
            guard offset + 4 <= field.upperBound else { return nil }
            let length = Int32(bitPattern: read(offset, as: UInt32.self))
            offset += 4
            guard length >= 0 else {
                elements.append(nil)
                continue
            }
            guard offset + Int(length) <= field.upperBound else { return nil }
            elements.append(Array(row[offset..<offset + Int(length)]))
            offset += Int(length)
        }
        return elements
    }
}

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

/// A number in the binary form of PostgreSQL's type `numeric`: digits in base 10,000.
package struct PostgresNumeric: Equatable, Sendable {
    /// The bytes of the binary form.
    package let bytes: [UInt8]

    private enum Sign {
        static let positive: UInt16 = 0x0000
        static let negative: UInt16 = 0x4000
        static let notANumber: UInt16 = 0xC000
        static let infinity: UInt16 = 0xD000
        static let negativeInfinity: UInt16 = 0xF000
    }

    /// Parses a text: digits with an optional sign, point and exponent, `NaN`, `Infinity` or `-Infinity`.
    ///
    /// Returns nil for other texts.
    package init?(_ text: String) {
        switch text {
        case "NaN": self.init([], weight: 0, sign: Sign.notANumber, scale: 0)
        case "Infinity": self.init([], weight: 0, sign: Sign.infinity, scale: 0)
        case "-Infinity": self.init([], weight: 0, sign: Sign.negativeInfinity, scale: 0)
        default:
            guard let number = Self.parse(text) else { return nil }
            self = number
        }
    }

    private init(_ groups: [UInt16], weight: Int, sign: UInt16, scale: Int) {
        var bytes: [UInt8] = []
        for number in [
            UInt16(groups.count), UInt16(truncatingIfNeeded: weight), sign, UInt16(scale),
        ] + groups {
            bytes.append(UInt8(number >> 8))
            bytes.append(UInt8(number & 255))
        }
        self.bytes = bytes
    }

    private static func parse(_ text: String) -> PostgresNumeric? {
        var digits: [UInt8] = []
        var exponent = 0
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
        var hasPoint = false
        while let byte = rest.first, byte != UInt8(ascii: "E"), byte != UInt8(ascii: "e") {
            rest.removeFirst()
            if byte == UInt8(ascii: "."), !hasPoint {
                hasPoint = true
                continue
            }
            guard (0x30...0x39).contains(byte) else { return nil }
            digits.append(byte - 0x30)
            if hasPoint { exponent -= 1 }
        }
        guard !digits.isEmpty else { return nil }
        if !rest.isEmpty {
            guard let given = Int(String(Substring(rest.dropFirst()))), abs(given) < 100_000 else {
                return nil
            }
            exponent += given
        }
        let scale = max(0, -exponent)
        guard scale <= 16_383, digits.count + max(0, exponent) < 131_072 else { return nil }
        // A group consists of four digits, on both sides of the point.
        while exponent % 4 != 0 {
            digits.append(0)
            exponent -= 1
        }
        while digits.count % 4 != 0 { digits.insert(0, at: 0) }
        var groups = stride(from: 0, to: digits.count, by: 4).map { start in
            digits[start..<start + 4].reduce(UInt16(0)) { $0 * 10 + UInt16($1) }
        }
        var weight = groups.count - 1 + exponent / 4
        while groups.first == 0 {
            groups.removeFirst()
            weight -= 1
        }
        while groups.last == 0 { groups.removeLast() }
        if groups.isEmpty { weight = 0 }
        return PostgresNumeric(
            groups, weight: weight,
            sign: isNegative && !groups.isEmpty ? Sign.negative : Sign.positive, scale: scale)
    }
}
