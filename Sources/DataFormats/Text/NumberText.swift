#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Parses numbers of JSON and CSV files exactly.
package enum NumberText {
    // MARK: Integers

    /// Parses digits with an optional `-`.
    ///
    /// Returns nil for other texts and for numbers outside of 64 bits.
    static func int(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = text.first == 0x2D
        let digits = UnsafeBufferPointer(rebasing: text[(isNegative ? 1 : 0)...])
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        if digits.count <= 18 {
            // A number with so few digits cannot overflow.
            for byte in digits {
                let digit = byte &- 0x30
                guard digit < 10 else { return nil }
                value = value &* 10 &+ Int64(digit)
            }
            return isNegative ? -value : value
        }
        for byte in digits {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(byte &- 0x30)
            // Negative numbers are accumulated downwards, because the smallest one has no positive counterpart.
            let (sum, carry) =
                isNegative
                ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            if overflow || carry { return nil }
            value = sum
        }
        return value
    }

    /// Parses an integer in any notation, such as `+5`, `5.0` or `5e3`.
    ///
    /// Returns nil for fractions and for numbers outside of 64 bits.
    static func exactInt(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        if let value = int(text) { return value }
        guard let shape = NumberShape(text) else { return nil }
        guard shape.exponent >= 0, shape.digits.count + shape.exponent <= 19 else {
            return shape.digits.isEmpty ? 0 : nil
        }
        var digits: [UInt8] = shape.isNegative ? [0x2D] : []
        digits += shape.digits
        digits += [UInt8](repeating: 0x30, count: shape.exponent)
        return digits.withUnsafeBufferPointer(int)
    }

    /// Parses a text like ``exactInt(_:)``.
    package static func exactInt(_ text: String) -> Int64? { withBytes(text, exactInt) }

    // MARK: Floating-point numbers

    /// Returns the double whose text with the same number of digits is this text; nil for other texts, and for numbers
    /// that need more precision.
    static func exactDouble(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        if let value = shortDouble(text) { return value }
        guard let shape = NumberShape(text) else { return nil }
        let value = Double(String(decoding: text, as: UTF8.self)) ?? .nan
        guard value.isFinite else { return nil }
        return shape.isExactly(value, description: value.description) ? value : nil
    }

    /// Parses a text like ``exactDouble(_:)``.
    package static func exactDouble(_ text: String) -> Double? { withBytes(text, exactDouble) }

    /// Returns the float whose text with the same number of digits is this text; nil for other texts, and for numbers
    /// that need more precision.
    static func exactFloat(_ text: UnsafeBufferPointer<UInt8>) -> Float? {
        guard let shape = NumberShape(text) else { return nil }
        let value = Float(String(decoding: text, as: UTF8.self)) ?? .nan
        guard value.isFinite else { return nil }
        return shape.isExactly(Double(value), description: value.description) ? value : nil
    }

    /// Parses a text like ``exactFloat(_:)``.
    package static func exactFloat(_ text: String) -> Float? { withBytes(text, exactFloat) }

    private static func withBytes<Result>(
        _ text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        var text = text
        return text.withUTF8(body)
    }

    /// Parses a number with at most 15 digits, which a double represents exactly.
    ///
    /// Returns nil for any other text.
    private static func shortDouble(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        var position = 0
        let isNegative = text.first == 0x2D
        if isNegative { position = 1 }
        guard text.count - position <= 16 else { return nil }
        var mantissa: UInt64 = 0
        var digits = 0
        var scale = 0
        var hasPoint = false
        while position < text.count {
            let digit = text[position] &- 0x30
            if digit < 10 {
                mantissa = mantissa &* 10 &+ UInt64(digit)
                digits += 1
                if hasPoint { scale += 1 }
            } else if text[position] == 0x2E, !hasPoint {
                hasPoint = true
            } else {
                return nil
            }
            position += 1
        }
        guard digits > 0, digits <= 15 else { return nil }
        // The digits and the power of ten are exact here, so one rounding results in the nearest double.
        let value = Double(mantissa) / powers[scale]
        return isNegative ? -value : value
    }

    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ]
}

/// The digits of a decimal number and their power of ten, without leading and trailing zeros.
struct NumberShape: Equatable {
    private(set) var isNegative = false
    private(set) var digits: [UInt8] = []
    /// The power of ten of the last digit.
    private(set) var exponent = 0

    /// Parses a number such as `12`, `-1.5`, `+2e10`, `.5` or `5.`; returns nil for other texts.
    init?(_ text: UnsafeBufferPointer<UInt8>) {
        var position = 0
        if let sign = text.first, sign == 0x2B || sign == 0x2D {
            isNegative = sign == 0x2D
            position = 1
        }
        var hasDigits = false
        var hasPoint = false
        while position < text.count {
            let byte = text[position]
            if byte &- 0x30 < 10 {
                hasDigits = true
                if hasPoint { exponent -= 1 }
                if byte != 0x30 || !digits.isEmpty { digits.append(byte) }
            } else if byte == 0x2E, !hasPoint {
                hasPoint = true
            } else {
                break
            }
            position += 1
        }
        guard hasDigits else { return nil }
        if position < text.count {
            guard text[position] | 0x20 == 0x65 else { return nil }
            guard let power = Self.power(UnsafeBufferPointer(rebasing: text[(position + 1)...]))
            else { return nil }
            exponent += power
        }
        while digits.last == 0x30 {
            digits.removeLast()
            exponent += 1
        }
        if digits.isEmpty { exponent = 0 }
    }

    private static func power(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        let isNegative = text.first == 0x2D
        let digits = text.dropFirst(isNegative || text.first == 0x2B ? 1 : 0)
        guard !digits.isEmpty else { return nil }
        var power = 0
        for byte in digits {
            guard byte &- 0x30 < 10 else { return nil }
            // More digits make no difference, because the exponent is already outside the range of any number.
            if power < 1_000_000_000 { power = power * 10 + Int(byte &- 0x30) }
        }
        return isNegative ? -power : power
    }

    /// Returns whether the text of a value with the same number of digits has these digits.
    ///
    /// Checks the shortest form, which most programs write, the form with 17 digits, which C programs write, and the
    /// full expansion.
    func isExactly(_ value: Double, description: String) -> Bool {
        if digits.isEmpty { return value == 0 }
        guard value != 0 else { return false }
        if Self(description) == self { return true }
        guard digits.count <= 1100 else { return false }
        return Self(Self.text(of: value, digits: digits.count)) == self
    }

    private init?(_ text: String) {
        var text = text
        guard let shape = text.withUTF8({ NumberShape($0) }) else { return nil }
        self = shape
    }

    private static func text(of value: Double, digits: Int) -> String {
        let bytes = [CChar](unsafeUninitializedCapacity: digits + 16) { buffer, count in
            let written = withVaList([Int32(digits - 1), value]) {
                vsnprintf(buffer.baseAddress, buffer.count, "%.*e", $0)
            }
            count = max(0, min(Int(written), buffer.count - 1))
        }
        // The decimal separator depends on the locale.
        let text = bytes.map { UInt8(bitPattern: $0) }.map { $0 == 0x2C ? 0x2E : $0 }
        return String(decoding: text, as: UTF8.self)
    }
}

extension NumberText {
    /// Returns whether two texts represent the same number, such as `1.50` and `15e-1`.
    package static func isSameNumber(_ first: String, _ second: String) -> Bool {
        var (first, second) = (first, second)
        let one = first.withUTF8 { NumberShape($0) }
        let other = second.withUTF8 { NumberShape($0) }
        return one != nil && one?.digits == other?.digits && one?.exponent == other?.exponent
            && (one?.isNegative == other?.isNegative || one?.digits.isEmpty == true)
    }

    /// Returns whether a text is a number.
    package static func isNumber(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { NumberShape($0) } != nil
    }
}

/// The number types that represent a text exactly.
///
/// A text is a number if it equals a 64-bit integer or a double, in any notation: `.5`, `1.50`, `+1.5` and `1e-7`. Codes
/// are not numbers: `007`, `+4930123456`, and integers beyond 64 bits.
package struct NumberTypes: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A 64-bit integer.
    package static let int = NumberTypes(rawValue: 1)
    /// A double.
    package static let double = NumberTypes(rawValue: 2)

    /// The number of digits from which an integer with a plus sign is a telephone number.
    private static let digitsOfTelephoneNumber = 7

    init(_ text: UnsafeBufferPointer<UInt8>) {
        self = []
        let isSigned = text.first == 0x2B || text.first == 0x2D
        let digits = text[(isSigned ? 1 : 0)...]
        guard let first = digits.first, first &- 0x30 < 10 || first == 0x2E else { return }
        let whole = digits.prefix { $0 &- 0x30 < 10 }.count
        if first == 0x30, whole > 1 { return }
        if whole == digits.count {
            if text.first == 0x2B, whole >= Self.digitsOfTelephoneNumber { return }
            guard whole <= 18 || NumberText.exactInt(text) != nil else { return }
            insert(.int)
        }
        if NumberText.exactDouble(text) != nil { insert(.double) }
    }
}
