import CDecimal

// Every result is rounded to 34 digits, ties to even. Overflow gives infinity, a division by zero infinity or
// not-a-number, as with binary floating point.
extension DecimalValue {
    /// The sum.
    public static func + (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_add(left.forLibrary, right.forLibrary))
    }

    /// The difference.
    public static func - (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_subtract(left.forLibrary, right.forLibrary))
    }

    /// The product.
    public static func * (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_multiply(left.forLibrary, right.forLibrary))
    }

    /// The quotient.
    public static func / (left: DecimalValue, right: DecimalValue) -> DecimalValue {
        DecimalValue(shim_decimal_divide(left.forLibrary, right.forLibrary))
    }

    /// The value with the other sign.
    public static prefix func - (value: DecimalValue) -> DecimalValue {
        value.isNotANumber ? value : DecimalValue(high: value.high ^ 1 << 63, low: value.low)
    }

    /// The value without its sign.
    public var magnitude: DecimalValue { isNegative ? -self : self }

    /// What is left of a division whose quotient was rounded down, as Lua's `%`: it has the sign of
    /// the divisor.
    public func modulo(_ divisor: DecimalValue) -> DecimalValue {
        let rest = DecimalValue(shim_decimal_remainder(forLibrary, divisor.forLibrary))
        guard rest != .zero, !rest.isNotANumber, rest.isNegative != divisor.isNegative else {
            return rest
        }
        return rest + divisor
    }

    /// The quotient rounded down, as Lua's `//`.
    public func floorDivided(by divisor: DecimalValue) -> DecimalValue {
        let quotient = self / divisor
        guard quotient.isFinite, divisor.isFinite else {
            // A finite number is less than one times infinity.
            return quotient.isFinite && isFinite && self != .zero
                && isNegative != divisor.isNegative ? DecimalValue(Int64(-1)) : quotient
        }
        // The quotient may have been rounded up to a whole number, the difference divides evenly.
        let whole = (self - modulo(divisor)) / divisor
        return DecimalValue(shim_decimal_rounded(whole.forLibrary))
    }

    /// The value rounded to a number of decimal places, ties to even.
    ///
    /// Nil where that takes more than 34 digits.
    public func rounded(places: Int) -> DecimalValue? {
        guard isFinite else { return self }
        guard (-6111...6176).contains(places) else { return nil }
        let pattern = DecimalValue(isNegative: false, coefficient: 1, exponent: -places)
        let result = DecimalValue(shim_decimal_quantize(forLibrary, pattern.forLibrary))
        return result.isNotANumber ? nil : result
    }
}

extension DecimalValue {
    /// A whole number, exactly.
    public init(_ number: Int64) {
        self.init(shim_decimal_from_int(number))
    }

    /// The decimal that a binary number is written as: 0.1 gives 0.1, though no binary number is that.
    ///
    /// Whole numbers are taken exactly, as far as 34 digits reach.
    public init(_ number: Double) {
        if number.isFinite, number.rounded() != number, let decimal = DecimalValue("\(number)") {
            self = decimal
            return
        }
        self.init(shim_decimal_from_double(number))
        if isNotANumber { self = .notANumber }
    }

    /// The decimal that a single-precision number is written as: 0.1 gives 0.1.
    public init(_ number: Float) {
        if number.isFinite, number.rounded() != number, let decimal = DecimalValue("\(number)") {
            self = decimal
            return
        }
        self.init(Double(number))
    }

    /// The nearest double-precision number.
    public var double: Double { shim_decimal_to_double(forLibrary) }

    /// Whether the value has digits other than 0 after the point.
    package var hasFraction: Bool { isFinite && shortest.exponent < 0 }

    /// The largest double that is not above the value, and whether it equals the value; NaN for NaN.
    package var floorDouble: (value: Double, isExact: Bool) {
        if isNotANumber { return (.nan, true) }
        let bound = shim_decimal_floor_to_double(forLibrary)
        return (bound.value, bound.is_exact != 0)
    }

    /// The largest 64-bit integer that is not above the value, and whether it equals the value; nil if there is none, and for
    /// values of 2^63 and more.
    package var floorInt: (value: Int64, isExact: Bool)? {
        guard isFinite else { return nil }
        let bound = shim_decimal_floor_to_int(forLibrary)
        return bound.is_inside != 0 ? (bound.value, bound.is_exact != 0) : nil
    }

    /// The whole number that this is; nil for a fraction, and for one that needs more than 64 bits.
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
