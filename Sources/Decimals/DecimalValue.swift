import CDecimal

/// An IEEE 754 decimal128: 34 decimal digits and an exponent, so 0.1 is exactly 0.1.
///
/// A value keeps its number of decimal places (12.30 prints as 12.30), but equality and order ignore it: 12.30 equals
/// 12.3. NaN equals itself and is ordered before all other numbers, so that values can be sorted and stored in sets.
/// ``order(_:_:)`` compares as IEEE 754 does, where NaN has no order.
public struct DecimalValue: Sendable {
    /// The sign, the exponent and the upper digits, in the binary encoding of IEEE 754.
    let high: UInt64
    /// The lower digits.
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates a value from the two halves of a decimal128 in the binary encoding of IEEE 754.
    package init(decimal128High high: UInt64, low: UInt64) {
        self.init(high: high, low: low)
    }

    init(_ value: shim_decimal) {
        self.init(high: value.high, low: value.low)
    }

    var forLibrary: shim_decimal { shim_decimal(low: low, high: high) }
}

// MARK: - Parts

extension DecimalValue {
    /// The maximum number of digits of a value.
    public static let digits = 34
    static let greatestCoefficient: UInt128 = 9_999_999_999_999_999_999_999_999_999_999_999
    static let exponentBias = 6176

    /// The value NaN (not a number).
    public static let notANumber = DecimalValue(high: 0x7C00_0000_0000_0000, low: 0)
    /// The value greater than any number.
    public static let infinity = DecimalValue(high: 0x7800_0000_0000_0000, low: 0)
    /// Zero without decimal places.
    public static let zero = DecimalValue(isNegative: false, coefficient: 0, exponent: 0)

    /// Whether the sign is negative.
    ///
    /// Zero has a sign too.
    public var isNegative: Bool { high >> 63 == 1 }
    /// Whether the value is NaN (not a number).
    public var isNotANumber: Bool { high >> 58 & 0x1F == 0x1F }
    /// Whether the value is positive or negative infinity.
    public var isInfinite: Bool { high >> 58 & 0x1F == 0x1E }
    /// Whether the value is neither infinite nor NaN.
    public var isFinite: Bool { high >> 59 & 0xF != 0xF }

    /// The digits and the power of ten of a finite value.
    var parts: (coefficient: UInt128, exponent: Int) {
        // The alternative encoding has coefficients that are too large, which count as zero.
        if high >> 61 & 3 == 3 { return (0, Int(high >> 47 & 0x3FFF) - Self.exponentBias) }
        let coefficient = UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
        let exponent = Int(high >> 49 & 0x3FFF) - Self.exponentBias
        return (coefficient <= Self.greatestCoefficient ? coefficient : 0, exponent)
    }

    /// Creates a value from parts that are within their ranges.
    init(isNegative: Bool, coefficient: UInt128, exponent: Int) {
        assert(coefficient <= Self.greatestCoefficient, "a coefficient has at most 34 digits")
        assert(
            (-Self.exponentBias...6111).contains(exponent), "the exponent is in its range")
        let sign: UInt64 = isNegative ? 1 << 63 : 0
        high =
            sign | UInt64(exponent + Self.exponentBias) << 49
            | UInt64(truncatingIfNeeded: coefficient >> 64)
        low = UInt64(truncatingIfNeeded: coefficient)
    }

    /// The parts without trailing zeros, so that equal numbers have equal parts.
    var shortest: (coefficient: UInt128, exponent: Int) {
        var (coefficient, exponent) = parts
        if coefficient == 0 { return (0, 0) }
        while case let (quotient, rest) = coefficient.quotientAndRemainder(dividingBy: 10),
            rest == 0
        {
            coefficient = quotient
            exponent += 1
        }
        return (coefficient, exponent)
    }
}

// MARK: - Comparing

extension DecimalValue: Hashable, Comparable {
    /// Compares two values.
    ///
    /// Returns -1, 0 or 1, or nil if one of the values is NaN.
    public static func order(_ left: DecimalValue, _ right: DecimalValue) -> Int? {
        if left.isNotANumber || right.isNotANumber { return nil }
        if shim_decimal_is_less(left.forLibrary, right.forLibrary) != 0 { return -1 }
        return shim_decimal_is_equal(left.forLibrary, right.forLibrary) != 0 ? 0 : 1
    }

    /// Returns whether both are the same number, regardless of decimal places.
    public static func == (left: DecimalValue, right: DecimalValue) -> Bool {
        order(left, right).map { $0 == 0 } ?? (left.isNotANumber && right.isNotANumber)
    }

    /// Returns whether the first number is smaller.
    ///
    /// NaN comes before all other numbers.
    public static func < (left: DecimalValue, right: DecimalValue) -> Bool {
        order(left, right).map { $0 < 0 } ?? (left.isNotANumber && !right.isNotANumber)
    }

    /// Hashes the number, regardless of decimal places.
    public func hash(into hasher: inout Hasher) {
        guard isFinite else {
            hasher.combine(isNotANumber ? 0 : isNegative ? 1 : 2)
            return
        }
        let (coefficient, exponent) = shortest
        hasher.combine(coefficient == 0 ? false : isNegative)
        hasher.combine(coefficient)
        hasher.combine(exponent)
    }
}

// MARK: - Bytes

extension DecimalValue {
    /// The exponent of a zero without decimal places is stored as zero, so that sixteen zero bytes are a plain 0.
    private static let storedExponent = UInt64(exponentBias) << 49

    /// The 16 bytes that represent the value in a file.
    public var bytes: [UInt8] {
        let stored = high ^ Self.storedExponent
        return [UInt8](unsafeUninitializedCapacity: 16) { bytes, count in
            let raw = UnsafeMutableRawBufferPointer(bytes)
            raw.storeBytes(of: stored.bigEndian, as: UInt64.self)
            raw.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            count = 16
        }
    }

    /// Creates the value that 16 bytes represent, without copying them.
    ///
    /// Returns nil for any other number of bytes.
    package init?(bytes: RawSpan) {
        guard bytes.byteCount == 16 else { return nil }
        (high, low) = bytes.withUnsafeBytes {
            (
                UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) ^ Self.storedExponent,
                UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// Creates the value that 16 bytes represent.
    ///
    /// Returns nil for any other number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } ^ Self.storedExponent
        low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The 16 bytes whose order is the order of the values; equal numbers have equal bytes.
    public var orderedBytes: [UInt8] {
        let code: UInt128
        let sign: UInt128 = 1 << 127
        if isNotANumber {
            code = 0
        } else if isInfinite {
            code = isNegative ? 1 : .max
        } else {
            // The bytes consist of one sign bit, 14 bits for the power of ten of the first digit, and 113 bits of
            // digits.
            var (coefficient, exponent) = parts
            if coefficient == 0 {
                code = sign
            } else {
                while coefficient <= Self.greatestCoefficient / 10 {
                    coefficient *= 10
                    exponent -= 1
                }
                assert(
                    coefficient <= Self.greatestCoefficient
                        && exponent > -Self.exponentBias - Self.digits,
                    "a number with 34 digits fits its bits")
                // The offset is necessary because subnormal numbers extend 33 powers of ten below the least exponent.
                let magnitude = UInt128(exponent + Self.exponentBias + 64) << 113 | coefficient
                code = isNegative ? sign - magnitude : sign + magnitude
            }
        }
        return (0..<16).map { UInt8(truncatingIfNeeded: code >> (120 - 8 * $0)) }
    }
}
