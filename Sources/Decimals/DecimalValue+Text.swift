import CDecimal

extension DecimalValue: CustomStringConvertible {
    /// The text of the number, with its decimal places: `12.30`, `1E+40`, `-Infinity`, `NaN`.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(48)
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the description to UTF-8 bytes, without creating a string.
    package func append(to text: inout [UInt8]) {
        let (coefficient, exponent) = parts
        guard isFinite, exponent <= 0, let small = UInt64(exactly: coefficient) else {
            return text.append(contentsOf: longDescription.utf8)
        }
        let start = text.count
        var (rest, digits) = (small, 0)
        // The digits are written from the last to the first, with at least one digit before the point.
        repeat {
            if digits == -exponent, digits > 0 { text.append(UInt8(ascii: ".")) }
            text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
            digits += 1
            // Smaller numbers are written with an exponent.
            if rest == 0, exponent + digits < -5 {
                text.removeSubrange(start...)
                return text.append(contentsOf: longDescription.utf8)
            }
        } while rest > 0 || digits <= -exponent
        if isNegative { text.append(UInt8(ascii: "-")) }
        text[start...].reverse()
    }

    /// The description, computed for any value.
    private var longDescription: String {
        if isNotANumber { return "NaN" }
        let sign = isNegative ? "-" : ""
        if isInfinite { return sign + "Infinity" }
        let (coefficient, exponent) = parts
        let digits = String(coefficient)
        // The power of ten of the first digit.
        let leading = exponent + digits.count - 1
        if exponent <= 0 && leading >= -6 {
            guard exponent < 0 else { return sign + digits }
            let point = digits.count + exponent
            guard point <= 0 else {
                return sign + digits.prefix(point) + "." + digits.dropFirst(point)
            }
            return sign + "0." + String(repeating: "0", count: -point) + digits
        }
        let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
        return "\(sign)\(digits.prefix(1))\(fraction)E\(leading < 0 ? "-" : "+")\(abs(leading))"
    }

    /// Parses UTF-8 bytes with at most 34 digits, such as `12`, `-12.30` or `0.5`, which a decimal represents exactly.
    ///
    /// Returns nil for any other text, including other forms of numbers. Faster than ``init(_:)``.
    package init?(plain text: Span<UInt8>) {
        let start = text.isEmpty || text[0] != UInt8(ascii: "-") ? 0 : 1
        guard text.count > start, text.count - start <= Self.digits + 1 else { return nil }
        // Two words instead of a 128-bit number, whose multiplications are slow.
        var (upper, lower, scale) = (UInt64(0), UInt64(0), UInt64(1))
        var (digits, places) = (0, 0)
        var hasPoint = false
        for index in start..<text.count {
            let digit = text[index] &- UInt8(ascii: "0")
            if digit < 10 {
                if digits < Self.digits / 2 {
                    upper = upper * 10 + UInt64(digit)
                } else {
                    lower = lower * 10 + UInt64(digit)
                    scale *= 10
                }
                digits += 1
                if hasPoint { places += 1 }
            } else if text[index] == UInt8(ascii: "."), !hasPoint, index > start,
                index < text.count - 1
            {
                hasPoint = true
            } else {
                return nil
            }
        }
        guard digits <= Self.digits else { return nil }
        let coefficient =
            scale == 1 ? UInt128(upper) : UInt128(upper) * UInt128(scale) + UInt128(lower)
        self.init(isNegative: start == 1, coefficient: coefficient, exponent: -places)
    }

    /// Parses a text such as `12.30`, `-1.5e10`, `Infinity` or `NaN`, ignoring case.
    ///
    /// Returns nil for any other text and for numbers that are too large for a decimal128. More than 34 digits are
    /// rounded, ties to even.
    public init?(_ text: some StringProtocol) {
        var scanner = NumberScanner(text)
        guard let number = scanner.scan() else { return nil }
        switch number {
        case .notANumber: self = .notANumber
        case .infinity(let isNegative): self = isNegative ? -.infinity : .infinity
        case .finite(let text):
            self.init(shim_decimal_from_text(text))
            guard isFinite else { return nil }
        }
    }
}

/// Checks the text of a number and reduces it to the part that determines its value.
private struct NumberScanner {
    enum Number {
        case notANumber
        case infinity(isNegative: Bool)
        /// Digits and an exponent that the decimal library can parse exactly.
        case finite(String)
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    mutating func scan() -> Number? {
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        let word = String(decoding: bytes[position...], as: UTF8.self).lowercased()
        if word == "nan" { return .notANumber }
        if word == "inf" || word == "infinity" { return .infinity(isNegative: isNegative) }
        guard let (digits, dropped) = mantissa(), let exponent = exponent(),
            position == bytes.count
        else { return nil }
        // The result is zero or infinity for every exponent that is this far outside the range.
        let power = max(-20_000, min(20_000, exponent + dropped))
        return .finite("\(isNegative ? "-" : "")\(digits)E\(power)")
    }

    /// Parses the digits without the point, and the power of ten of the last digit.
    ///
    /// After 40 digits, the remaining ones only determine whether the number is above a rounding tie.
    private mutating func mantissa() -> (digits: String, power: Int)? {
        var digits: [UInt8] = []
        var power = 0
        var count = 0
        var isRestZero = true
        var isFraction = false
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "."), !isFraction {
                isFraction = true
            } else if (48...57).contains(byte) {
                count += 1
                if digits.count < 40 {
                    if digits != [48] { digits.append(byte) } else { digits = [byte] }
                    if isFraction { power -= 1 }
                } else {
                    isRestZero = isRestZero && byte == 48
                    if !isFraction { power += 1 }
                }
            } else {
                break
            }
            position += 1
        }
        guard count > 0 else { return nil }
        if !isRestZero {
            digits.append(UInt8(ascii: "1"))
            power -= 1
        }
        return (String(decoding: digits, as: UTF8.self), power)
    }

    private mutating func exponent() -> Int? {
        guard skip("e") || skip("E") else { return 0 }
        let isNegative = skip("-")
        if !isNegative { _ = skip("+") }
        var value = 0
        let start = position
        while position < bytes.count, (48...57).contains(bytes[position]) {
            value = min(1_000_000, value * 10 + Int(bytes[position] - 48))
            position += 1
        }
        return position > start ? (isNegative ? -value : value) : nil
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else {
            return false
        }
        position += 1
        return true
    }
}
