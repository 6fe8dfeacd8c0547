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
