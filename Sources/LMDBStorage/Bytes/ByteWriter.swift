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
