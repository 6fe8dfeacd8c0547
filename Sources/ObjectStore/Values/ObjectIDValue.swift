import Synchronization

/// A 12-byte identifier that sorts by creation time; it consists of seconds, a random part for each process, and a
/// counter.
public struct ObjectIDValue: Hashable, Comparable, Sendable {
    /// The first eight bytes, most significant first.
    public let high: UInt64
    /// The last four bytes, most significant first.
    public let low: UInt32

    /// Creates an identifier from its parts.
    public init(high: UInt64, low: UInt32) {
        self.high = high
        self.low = low
    }

    private static let process = UInt64.random(in: 0..<(1 << 40))
    private static let counter = Atomic<UInt32>(UInt32.random(in: 0..<(1 << 24)))

    /// Generates an identifier from the current time and random bits.
    public static func generate() -> ObjectIDValue {
        generate(seconds: UInt32(truncatingIfNeeded: Timestamp.now.microseconds / 1_000_000))
    }

    /// Generates an identifier for a time in seconds since the epoch.
    ///
    /// The identifiers of one process ascend within a second. Any thread may call the function.
    public static func generate(seconds: UInt32) -> ObjectIDValue {
        let count = counter.wrappingAdd(1, ordering: .relaxed).newValue & 0xFF_FFFF
        return ObjectIDValue(
            high: UInt64(seconds) << 32 | process >> 8,
            low: UInt32(truncatingIfNeeded: process & 0xFF) << 24 | count)
    }

    /// The 12 bytes.
    public var bytes: [UInt8] { FixedValue(self).bytes }

    /// Creates an identifier from 12 bytes; nil for another number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard let value = FixedValue(.objectID, bytes: bytes) else { return nil }
        (high, low) = (value.high, UInt32(truncatingIfNeeded: value.low))
    }

    /// Returns whether the first precedes the second in byte order.
    public static func < (left: ObjectIDValue, right: ObjectIDValue) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension ObjectIDValue: CustomStringConvertible {
    /// The identifier as 24 lowercase hexadecimal digits.
    public var description: String { Hexadecimal.text(of: bytes) }

    /// Parses 24 hexadecimal digits in either case; nil for any other text.
    public init?(_ text: some StringProtocol) {
        guard let bytes = Hexadecimal.bytes(of: String(text)) else { return nil }
        self.init(bytes: bytes)
    }
}

/// Bytes as pairs of hexadecimal digits.
enum Hexadecimal {
    static func text(of bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func bytes(of text: String) -> [UInt8]? {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0]! * 16 + digits[$0 + 1]!)  // because nil digits were rejected above
        }
    }
}
