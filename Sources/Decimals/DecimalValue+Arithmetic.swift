import CDecimal

// Every result is rounded to 34 digits, ties to even. Overflow returns infinity; division by zero returns infinity or
// not-a-number, as in binary floating point.
extension DecimalValue {
    /// Returns the sum.
    public static func + (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_add(left.forLibrary, right.forLibrary))
    }

    /// Returns the difference.
    public static func - (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_subtract(left.forLibrary, right.forLibrary))
    }

    /// Returns the product.
    public static func * (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_multiply(left.forLibrary, right.forLibrary))
    }

    /// Multiplies a number.
    public static func *= (left: inout DecimalValue, right: DecimalValue) { left = left * right }

    /// Returns the quotient.
    public static func / (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        left.divided(by: right)
    }

    /// Returns the quotient, for modules that declare the operator again.
    package func divided(by divisor: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_divide(forLibrary, divisor.forLibrary))
    }

    /// Returns the value with the opposite sign.
    public static prefix func - (value: DecimalValue) -> DecimalValue {
        value.isNotANumber ? value : DecimalValue(high: value.high ^ 1 << 63, low: value.low)
    }

    /// The absolute value.
    public var magnitude: DecimalValue { isNegative ? -self : self }

    /// Returns the remainder of a division whose quotient is rounded down, as Lua's `%` does.
    ///
    /// It has the sign of the divisor.
    public func modulo(_ divisor: DecimalValue) -> DecimalValue {
        let rest = DecimalValue(shim_decimal_remainder(forLibrary, divisor.forLibrary))
        guard rest != .zero, !rest.isNotANumber, rest.isNegative != divisor.isNegative else {
            return rest
        }
        return rest + divisor
    }

    /// Returns the quotient rounded down, as Lua's `//` does.
    public func floorDivided(by divisor: DecimalValue) -> DecimalValue {
        let quotient = self / divisor
        guard quotient.isFinite, divisor.isFinite else {
            // The result is -1 for a nonzero number and an infinity of the opposite sign.
            return quotient.isFinite && isFinite && self != .zero
                && isNegative != divisor.isNegative ? DecimalValue(Int64(-1)) : quotient
        }
        // The quotient may have been rounded up to a whole number; the difference is divisible without a remainder.
        let whole = (self - modulo(divisor)) / divisor
        return DecimalValue(shim_decimal_rounded(whole.forLibrary))
    }

    /// Returns the value rounded to a number of decimal places, ties to even.
    ///
    /// Returns nil if the result needs more than 34 digits.
    public func rounded(places: Int) -> DecimalValue? {
        guard isFinite else { return self }
        guard (-6111...6176).contains(places) else { return nil }
        let pattern = DecimalValue(isNegative: false, coefficient: 1, exponent: -places)
        let result = DecimalValue(shim_decimal_quantize(forLibrary, pattern.forLibrary))
        return result.isNotANumber ? nil : result
    }
}

extension DecimalValue {
    /// Creates the exact value of an integer.
    public init(_ number: Int64) {
        self.init(shim_decimal_from_int(number))
    }

    /// Creates the exact value of an integer.
    public init(_ number: Int) { self.init(Int64(number)) }

    /// Creates the exact value of an integer of at most 34 digits.
    package init(wide number: Int128) {
        precondition(number.magnitude < 1 << 112, "an integer with more digits than a decimal has")
        self.init(isNegative: number < 0, coefficient: number.magnitude, exponent: 0)
    }

    /// Creates the decimal with the shortest digits of a binary number: 0.1 gives 0.1, although no binary number equals
    /// 0.1.
    ///
    /// Whole numbers are exact up to 34 digits.
    public init(_ number: Double) {
        if number.isFinite, number.rounded() != number, let decimal = DecimalValue("\(number)") {
            self = decimal
            return
        }
        self.init(shim_decimal_from_double(number))
        if isNotANumber { self = .notANumber }
    }

    /// Creates the decimal with the shortest text of a single-precision number: 0.1 becomes 0.1.
    public init(_ number: Float) {
        if number.isFinite, number.rounded() != number, let decimal = DecimalValue("\(number)") {
            self = decimal
            return
        }
        self.init(Double(number))
    }

    /// The nearest double-precision number.
    public var double: Double { shim_decimal_to_double(forLibrary) }

    /// Whether the value has nonzero digits after the point.
    package var hasFraction: Bool { isFinite && shortest.exponent < 0 }

    /// The largest double that is not greater than the value, and whether it equals the value; NaN for NaN.
    package var floorDouble: (value: Double, isExact: Bool) {
        if isNotANumber { return (.nan, true) }
        let bound = shim_decimal_floor_to_double(forLibrary)
        return (bound.value, bound.is_exact != 0)
    }

    /// The largest 64-bit integer that is not greater than the value, and whether it equals the value.
    ///
    /// Nil for infinity and NaN, and for values outside of the range of 64-bit integers.
    package var floorInt: (value: Int64, isExact: Bool)? {
        guard isFinite else { return nil }
        let bound = shim_decimal_floor_to_int(forLibrary)
        return bound.is_inside != 0 ? (bound.value, bound.is_exact != 0) : nil
    }

    /// The value as a 64-bit integer; nil for fractions and for numbers outside the range.
    public var exactInt: Int64? {
        guard isFinite else { return nil }
        let (coefficient, exponent) = shortest
        guard (0...18).contains(exponent) else { return nil }
        var magnitude = coefficient
        for _ in 0..<exponent {
            magnitude *= 10
            if magnitude > UInt128(Int64.max) + 1 { return nil }
        }
        guard isNegative else { return Int64(exactly: magnitude) }
        return magnitude == UInt128(Int64.max) + 1
            ? .min : Int64(exactly: magnitude).map { -$0 }
    }
}

extension DecimalValue: SignedNumeric, ExpressibleByFloatLiteral {
    /// Creates the number.
    public init(integerLiteral value: Int64) { self.init(value) }

    /// Creates the number with the digits of the literal, up to 17: 19.99 is exactly 19.99.
    public init(floatLiteral value: Double) { self.init(value) }

    /// Creates the number; nil for an integer of more than 34 digits.
    public init?<Source: BinaryInteger>(exactly source: Source) {
        guard let value = DecimalValue("\(source)"), "\(source.magnitude)".count <= Self.digits
        else { return nil }
        self = value
    }
}
