import CPostgres

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
