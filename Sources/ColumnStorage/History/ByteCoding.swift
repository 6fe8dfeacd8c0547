/// The error for bytes that this library cannot have written: a damaged file, or one of another format.
struct DamagedEncoding: Error, Equatable {
    /// The description of the decoded value as part of a sentence, such as "a change set".
    let what: String
}

/// Encodes numbers as little-endian base-128 varints in a byte array.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    init(capacity: Int = 64) {
        bytes.reserveCapacity(capacity)
    }

    /// Creates a writer that appends to existing bytes.
    init(continuing bytes: consuming [UInt8]) { self.bytes = bytes }

    /// Removes the bytes after a position.
    mutating func truncate(to count: Int) { bytes.removeLast(bytes.count - count) }

    /// Replaces an existing byte.
    mutating func replace(at position: Int, _ value: UInt8) { bytes[position] = value }

    /// Appends a signed number; numbers near zero take few bytes.
    mutating func signed(_ value: Int64) {
        number(UInt64(bitPattern: value << 1 ^ value >> 63))
    }

    /// Appends the lowest `count` bytes of a word, least significant first.
    mutating func word(_ value: UInt64, bytes count: Int) {
        withUnsafeBytes(of: value.littleEndian) {
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
    }

    mutating func raw(_ value: UnsafeRawBufferPointer) { bytes.append(contentsOf: value) }

    mutating func byte(_ value: UInt8) {
        bytes.append(value)
    }

    mutating func number(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}

/// Decodes the bytes of ``ByteWriter``.
///
/// Every read is checked, so any bytes are safe to read.
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0
    private let what: String

    init(_ bytes: UnsafeRawBufferPointer, of what: String) {
        self.bytes = bytes
        self.what = what
    }

    var remaining: Int { bytes.count - position }
    var damaged: DamagedEncoding { DamagedEncoding(what: what) }

    mutating func byte() throws(DamagedEncoding) -> UInt8 {
        guard position < bytes.count else { throw damaged }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number() throws(DamagedEncoding) -> UInt64 {
        var result: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            let payload = UInt64(next & 0x7F)
            if shift == 63, payload > 1 { throw damaged }
            result |= payload << shift
            if next < 0x80 { return result }
            shift += 7
            if shift > 63 { throw damaged }
        }
    }

    mutating func signed() throws(DamagedEncoding) -> Int64 {
        let value = try number()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    mutating func word(bytes count: Int) throws(DamagedEncoding) -> UInt64 {
        var result: UInt64 = 0
        for index in 0..<count { result |= UInt64(try byte()) << UInt64(8 * index) }
        return result
    }

    mutating func raw(_ count: Int) throws(DamagedEncoding) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw damaged }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    /// Reads a count of elements of at least one byte each.
    mutating func count() throws(DamagedEncoding) -> Int {
        let value = try number()
        guard value <= UInt64(remaining) else { throw damaged }
        return Int(value)
    }
}
