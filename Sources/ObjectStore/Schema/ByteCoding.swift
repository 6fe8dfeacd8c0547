import ColumnStorage

/// Encodes numbers and texts one after the other.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) {
        bytes.append(value)
    }

    /// Appends a number as a varint: seven bits in each byte, the lowest first.
    mutating func number(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    mutating func data(_ value: [UInt8]) {
        number(UInt64(value.count))
        bytes += value
    }

    mutating func text(_ value: String) {
        data(Array(value.utf8))
    }
}

/// Decodes the bytes of ``ByteWriter``; damaged bytes throw and never trap.
struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() throws -> UInt8 {
        guard position < bytes.count else { throw DamagedBytes() }
        position += 1
        return bytes[position - 1]
    }

    mutating func number() throws -> UInt64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), through: 63, by: 7) {
            let next = try byte()
            value |= UInt64(next & 0x7F) << shift
            if next < 0x80 { return value }
        }
        throw DamagedBytes()
    }

    /// Reads a count of elements of at least one byte each, so that damaged bytes cannot cause a large allocation.
    mutating func count() throws -> Int {
        let value = try number()
        guard value <= UInt64(bytes.count - position) else { throw DamagedBytes() }
        return Int(value)
    }

    mutating func data() throws -> [UInt8] {
        let length = try count()
        defer { position += length }
        return Array(bytes[position..<(position + length)])
    }

    mutating func text() throws -> String {
        guard let text = String(validating: try data(), as: UTF8.self) else { throw DamagedBytes() }
        return text
    }
}

/// The error for bytes that are not valid.
struct DamagedBytes: Error {}

extension StoreError {
    /// Decodes data of a file; errors contain `what`, the description of the data, and the name of the file.
    static func decoding<Result>(
        _ what: String, of file: ColumnFile, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch is DamagedBytes {
            throw StoreError(
                .fileCorrupt, "'\(file.path)': the \(what) stored in the file is damaged")
        } catch let error as StoreError {
            throw error.at("'\(file.path)'")
        }
    }
}

extension Optional {
    /// Returns the value, or throws the error for damaged bytes.
    func orDamaged() throws -> Wrapped {
        guard let self else { throw DamagedBytes() }
        return self
    }
}
