/// Numbers that are written as JSON and CSV files write them.
enum NumberText {
    /// A whole number; nil for any other text, and outside of 64 bits.
    static func int(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = text.first == 0x2D
        let digits = UnsafeBufferPointer(rebasing: text[(isNegative ? 1 : 0)...])
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        if digits.count <= 18 {
            // So many digits cannot overflow.
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
            // Negative numbers are built downwards: the least one has no positive counterpart.
            let (sum, carry) =
                isNegative
                ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            if overflow || carry { return nil }
            value = sum
        }
        return value
    }

    /// A number with a decimal point or an exponent; nil for any other text.
    static func double(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        var position = 0
        let isNegative = text.first == 0x2D
        if isNegative { position = 1 }
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
                break
            }
            position += 1
        }
        guard digits > 0 else { return nil }
        // Both the digits and the power of ten are exact here, so one rounding gives the nearest double.
        if position == text.count, digits <= 19, mantissa <= 1 << 53, scale < powers.count {
            let value = Double(mantissa) / powers[scale]
            return isNegative ? -value : value
        }
        while position < text.count {
            switch text[position] {
            // Digits, and "+", "-", ".", "E", "e".
            case 0x30...0x39, 0x2B, 0x2D, 0x2E, 0x45, 0x65: position += 1
            default: return nil
            }
        }
        return Double(String(decoding: text, as: UTF8.self))
    }

    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]
}
