/// A universally unique identifier: 16 bytes in byte order.
public struct UUIDValue: Hashable, Comparable, Sendable {
    /// The first eight bytes, most significant first.
    public let high: UInt64
    /// The last eight bytes, most significant first.
    public let low: UInt64

    /// Creates an identifier from its two halves.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Generates a random identifier (version 4).
    public static func random() -> UUIDValue {
        var generator = SystemRandomNumberGenerator()
        let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        return UUIDValue(high: high, low: low)
    }

    /// The 16 bytes.
    public var bytes: [UInt8] { FixedValue(self).bytes }

    /// Creates an identifier from 16 bytes; nil for another number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard let value = FixedValue(.uuid, bytes: bytes) else { return nil }
        (high, low) = (value.high, value.low)
    }

    /// Returns whether the first precedes the second in byte order.
    public static func < (left: UUIDValue, right: UUIDValue) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension UUIDValue: CustomStringConvertible {
    /// The canonical form in lower case: `8-4-4-4-12` hexadecimal digits.
    public var description: String { Self.text(of: bytes) }

    static func text(of bytes: [UInt8]) -> String {
        let digits = Array(Hexadecimal.text(of: bytes))
        return [digits[0..<8], digits[8..<12], digits[12..<16], digits[16..<20], digits[20..<32]]
            .map { String($0) }.joined(separator: "-")
    }

    /// Parses the canonical form in either case, with or without braces; nil for any other text.
    public init?(_ text: some StringProtocol) {
        var digits = Substring(text)
        if digits.first == "{", digits.last == "}" { digits = digits.dropFirst().dropLast() }
        let parts = digits.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12],
            let bytes = Hexadecimal.bytes(of: parts.joined())
        else { return nil }
        self.init(bytes: bytes)
    }
}
