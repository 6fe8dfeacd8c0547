/// A part of a mapped file.
///
/// The bounds were checked against the file when the view was created.
///
/// Valid while the ``FileBytes`` that returned it exists and has not released its decrypted pages. Reading outside of
/// the view stops the program, as with an array, so offsets from a file are checked first.
struct ByteView {
    private let base: UnsafeRawPointer
    /// The number of bytes.
    let count: Int

    init(_ base: UnsafeRawPointer, count: Int) {
        self.base = base
        self.count = count
    }

    /// The byte at an offset.
    @inline(__always)
    subscript(offset: Int) -> UInt8 {
        precondition(offset >= 0 && offset < count)
        return base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the little-endian integer at an offset of any alignment.
    @inline(__always)
    func load<Integer: FixedWidthInteger>(_ offset: Int, as type: Integer.Type) -> Integer {
        precondition(offset >= 0 && offset <= count - MemoryLayout<Integer>.size)
        return Integer(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: type))
    }

    /// Returns a part of the view.
    func slice(_ offset: Int, _ length: Int) -> ByteView {
        precondition(offset >= 0 && length >= 0 && offset <= count - length)
        return ByteView(base + offset, count: length)
    }

    /// A copy of the bytes.
    var array: [UInt8] { Array(UnsafeRawBufferPointer(start: base, count: count)) }

    /// The bytes as text, or nil if they are not UTF-8.
    var text: String? {
        let bytes = UnsafeRawBufferPointer(start: base, count: count)
        return String(validating: bytes, as: UTF8.self)
    }

    /// Calls `body` with the bytes.
    func withSpan<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: count).bytes)
    }

    /// Whether all bytes are zero.
    var isZero: Bool { UnsafeRawBufferPointer(start: base, count: count).allSatisfy { $0 == 0 } }

    /// Decodes packed integers of 0, 1, 2, 4, 8, 16, 32 or 64 bits into the beginning of an array, which grows if
    /// needed.
    ///
    /// Integers with fewer than 8 bits are unsigned; all others are signed.
    func decodeIntegers(width: Int, count: Int, into values: inout [Int64]) {
        precondition(count >= 0 && (count * width + 7) / 8 <= self.count)
        if values.count < count {
            values.append(contentsOf: repeatElement(0, count: count - values.count))
        }
        values.withUnsafeMutableBufferPointer { target in
            switch width {
            case 0: for index in 0..<count { target[index] = 0 }
            case 1, 2, 4:
                let mask: UInt8 = (1 << width) - 1
                let perByte = 8 / width
                var index = 0
                var offset = 0
                while index < count {
                    var byte = base.load(fromByteOffset: offset, as: UInt8.self)
                    let end = min(index + perByte, count)
                    while index < end {
                        target[index] = Int64(byte & mask)
                        byte >>= width
                        index += 1
                    }
                    offset += 1
                }
            case 8: widen(Int8.self, count, target)
            case 16: widen(Int16.self, count, target)
            case 32: widen(Int32.self, count, target)
            default: widen(Int64.self, count, target)
            }
        }
    }

    @inline(__always)
    private func widen<Integer: FixedWidthInteger>(
        _ type: Integer.Type, _ count: Int, _ target: UnsafeMutableBufferPointer<Int64>
    ) {
        for index in 0..<count {
            let offset = index &* MemoryLayout<Integer>.size
            let value = base.loadUnaligned(fromByteOffset: offset, as: type)
            target[index] = Int64(truncatingIfNeeded: Integer(littleEndian: value))
        }
    }
}
