/// The error for bytes that this library cannot have written: a damaged file, or one of another format.
package struct DamagedEncoding: Error, Equatable {
    /// The description of the decoded value as part of a sentence, such as "a change set".
    package let what: String

    @inlinable
    package init(what: String) { self.what = what }
}

/// Decodes the bytes of ``ByteWriter``.
///
/// Every read is checked, so any bytes are safe to read. The bytes must exist as long as the reader.
///
///     try ByteReader.decode(bytes, of: "a dog") { reader in
///         Dog(age: try reader.number(), name: try reader.text())
///     }
@safe package struct ByteReader {
    @usableFromInline let bytes: UnsafeRawBufferPointer
    @usableFromInline var position = 0
    @usableFromInline let what: String

    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer, of what: String) {
        self.bytes = bytes
        self.what = what
    }

    /// Decodes the bytes of an array.
    @inlinable
    package static func decode<Result>(
        _ bytes: [UInt8], of what: String, _ body: (inout ByteReader) throws -> Result
    ) rethrows -> Result {
        try bytes.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes, of: what)
            return try body(&reader)
        }
    }

    @inlinable
    package var remaining: Int { bytes.count - position }

    @inlinable
    package var isAtEnd: Bool { position == bytes.count }

    /// The error for bytes that are not valid.
    @inlinable
    package var damaged: DamagedEncoding { DamagedEncoding(what: what) }

    // MARK: Numbers

    @inlinable
    package mutating func byte() throws(DamagedEncoding) -> UInt8 {
        guard position < bytes.count else { throw damaged }
        defer { position += 1 }
        return bytes[position]
    }

    @inlinable
    package mutating func number() throws(DamagedEncoding) -> UInt64 {
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

    /// Reads a number that must fit into a type.
    @inlinable
    package mutating func number<Integer: FixedWidthInteger>(
        as type: Integer.Type
    ) throws(DamagedEncoding) -> Integer {
        guard let value = Integer(exactly: try number()) else { throw damaged }
        return value
    }

    @inlinable
    package mutating func signed() throws(DamagedEncoding) -> Int64 {
        let value = try number()
        return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
    }

    @inlinable
    package mutating func word(bytes count: Int = 8) throws(DamagedEncoding) -> UInt64 {
        var result: UInt64 = 0
        for index in 0..<count { result |= UInt64(try byte()) << UInt64(8 * index) }
        return result
    }

    /// Reads a word that must have a value.
    package mutating func expect(_ word: UInt64, bytes count: Int = 8) throws(DamagedEncoding) {
        guard try self.word(bytes: count) == word else { throw damaged }
    }

    /// Reads a count of elements of at least one byte each, so that damaged bytes cannot cause a large allocation.
    @inlinable
    package mutating func count() throws(DamagedEncoding) -> Int {
        let value = try number()
        guard value <= UInt64(remaining) else { throw damaged }
        return Int(value)
    }

    // MARK: Bytes

    @inlinable
    package mutating func raw(_ count: Int) throws(DamagedEncoding) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw damaged }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }

    /// Reads bytes and the count before them.
    package mutating func data() throws(DamagedEncoding) -> [UInt8] {
        let count = try count()
        return Array(try raw(count))
    }

    /// Reads a text and the count before it; it must be UTF-8.
    package mutating func text() throws(DamagedEncoding) -> String {
        let count = try count()
        guard let text = String(validating: try raw(count), as: UTF8.self) else { throw damaged }
        return text
    }
}

/// Encodes numbers, bytes and texts one after the other; ``ByteReader`` decodes them.
///
/// Numbers of variable size are base-128 varints, and numbers of a fixed size are little-endian.
///
///     var writer = ByteWriter()
///     writer.number(3)
///     writer.text("Rex")
package struct ByteWriter {
    @usableFromInline private(set) var storage: [UInt8] = []

    package init(capacity: Int = 64) {
        storage.reserveCapacity(capacity)
    }

    /// Creates a writer that appends to existing bytes.
    package init(continuing bytes: consuming [UInt8]) { storage = bytes }

    /// The encoded bytes.
    package var bytes: [UInt8] { storage }

    /// Removes the bytes after a position.
    package mutating func truncate(to count: Int) { storage.removeLast(storage.count - count) }

    /// The number of encoded bytes.
    @inlinable
    package var count: Int { storage.count }

    /// Replaces the existing bytes of a word.
    package mutating func replace(at position: Int, word: UInt64, bytes count: Int) {
        for index in 0..<count {
            storage[position + index] = UInt8(truncatingIfNeeded: word >> UInt64(8 * index))
        }
    }

    /// Replaces an existing byte.
    package mutating func replace(at position: Int, _ value: UInt8) { storage[position] = value }

    // MARK: Numbers

    @inlinable
    package mutating func byte(_ value: UInt8) {
        storage.append(value)
    }

    /// Appends a number as a varint: seven bits in each byte, the lowest first.
    @inlinable
    package mutating func number(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            storage.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        storage.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a signed number as a varint; numbers near zero take few bytes.
    @inlinable
    package mutating func signed(_ value: Int64) {
        number(UInt64(bitPattern: value << 1 ^ value >> 63))
    }

    /// Appends the lowest `count` bytes of a word, least significant first.
    @inlinable
    package mutating func word(_ value: UInt64, bytes count: Int = 8) {
        withUnsafeBytes(of: value.littleEndian) {
            storage.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
    }

    // MARK: Bytes

    @inlinable
    package mutating func raw(_ value: UnsafeRawBufferPointer) {
        storage.append(contentsOf: value)
    }

    /// Appends bytes without their count.
    @inlinable
    package mutating func append(_ value: some Sequence<UInt8>) {
        storage.append(contentsOf: value)
    }

    /// Appends bytes after their count.
    package mutating func data(_ value: [UInt8]) {
        number(UInt64(value.count))
        storage += value
    }

    /// Appends the UTF-8 of a text after its count of bytes.
    package mutating func text(_ value: String) {
        number(UInt64(value.utf8.count))
        storage += value.utf8
    }
}
