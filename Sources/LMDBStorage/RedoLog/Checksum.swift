/// A 64-bit checksum of bytes, which distinguishes complete records from torn and old ones.
///
/// The checksum does not protect against deliberate forgery.
enum Checksum {
    private static let factors: (UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15, 0xD6E8_FEB8_6659_FD93)

    /// Returns the checksum of `bytes`, continued from the checksum of preceding bytes.
    ///
    /// Processes about two bytes per cycle.
    static func of(_ bytes: UnsafeRawBufferPointer, after seed: UInt64 = 0) -> UInt64 {
        var first = seed ^ factors.1
        var second = UInt64(bytes.count) &* factors.0
        var offset = 0
        while offset + 16 <= bytes.count {
            first = fold(
                first ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), factors.0)
            second = fold(
                second ^ bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self),
                factors.1)
            offset += 16
        }
        while offset < bytes.count {
            var word: UInt64 = 0
            let rest = min(8, bytes.count - offset)
            withUnsafeMutableBytes(of: &word) {
                $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + rest]))
            }
            first = fold(first ^ word, factors.0)
            offset += rest
        }
        return fold(first ^ second, factors.1) ^ second
    }

    /// Returns the exclusive or of both halves of the product.
    @inline(__always)
    private static func fold(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let product = (value ^ factor).multipliedFullWidth(by: factor)
        return product.high ^ product.low
    }
}
