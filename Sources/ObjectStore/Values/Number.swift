import ColumnStorage

/// A number of any type, for comparing, hashing and sorting.
///
/// Numbers are equal, and ordered, by their value: the int 1, the float 1, the double 1 and the decimal 1.0 are one
/// number. Nothing is rounded: 2^53 + 1 is greater than the double 2^53, and the decimal 0.1 is less than the double
/// 0.1. NaN of any type equals itself and comes before all other numbers; -0.0 equals 0.0
/// (``ColumnStorage/RealOrder``).
enum Number {
    case int(Int64)
    case real(Double)
    case decimal(DecimalValue)

    /// The largest double that is at most the number, and whether it equals the number; NaN for NaN.
    ///
    /// The double and, if it is not exact, the decimal value order numbers of all types, because between two adjacent
    /// doubles there are only ints and decimals.
    var floor: (value: Double, isExact: Bool) {
        switch self {
        case .int(let whole):
            let nearest = Double(whole)
            let order = Number.order(whole, nearest)
            return order < 0 ? (nearest.nextDown, false) : (nearest, order == 0)
        case .real(let number): return (number, true)
        case .decimal(let number): return number.floorDouble
        }
    }

    /// The position of a number among the 64-bit integers.
    enum WholeBound {
        /// The number is less than all 64-bit integers, as NaN is.
        case below
        /// The number is at least this integer and less than the next one.
        case at(Int64, isExact: Bool)
        /// The number is greater than all 64-bit integers.
        case above
    }

    /// The position of the number among the 64-bit integers.
    var wholeBound: WholeBound {
        switch self {
        case .int(let whole): return .at(whole, isExact: true)
        case .real(let number):
            if number >= 0x1p63 { return .above }
            guard number >= -0x1p63 else { return .below }
            let floor = number.rounded(.down)
            return .at(Int64(floor), isExact: floor == number)
        case .decimal(let number):
            if let floor = number.floorInt { return .at(floor.value, isExact: floor.isExact) }
            return number.isNotANumber || number.isNegative ? .below : .above
        }
    }

    /// Whether the number has a fractional part.
    var hasFraction: Bool {
        switch self {
        case .int: false
        case .real(let number): number.isFinite && number.rounded() != number
        case .decimal(let number): number.hasFraction
        }
    }

    /// Returns the number that a constant represents in a comparison with values of a type.
    ///
    /// The result is the constant itself, whether or not a property of the type can have the value. The exception is a
    /// number with a fraction in a comparison with floats or decimals: their values were rounded when they were set, so
    /// the constant is rounded in the same way. A search for 0.1 therefore finds a value that was set to 0.1. For
    /// floats, this is the nearest float, unless that is zero or infinite; for decimals, the decimal with the digits of
    /// the double.
    func constant(beside type: PropertyType) -> Number {
        guard hasFraction else { return self }
        switch (type, self) {
        case (.float, .real(let number)): return Number.nearest(Float(number)) ?? self
        case (.float, .decimal(let number)):
            return Float(number.description).flatMap(Number.nearest) ?? self
        case (.decimal, .real(let number)): return .decimal(DecimalValue(number))
        default: return self
        }
    }

    private static func nearest(_ number: Float) -> Number? {
        number == 0 || number.isInfinite ? nil : .real(Double(number))
    }

    private var decimal: DecimalValue? {
        switch self {
        case .int(let whole): DecimalValue(whole)
        case .real: nil
        case .decimal(let number): number
        }
    }
}

extension Number: Hashable, Comparable {
    /// Compares two numbers: -1 if the first precedes the second, 0 if they are equal, otherwise 1.
    static func order(_ left: Number, _ right: Number) -> Int {
        switch (left, right) {
        case (.int(let a), .int(let b)): ValueOrder.compare(a, b)
        case (.real(let a), .real(let b)): RealOrder.compare(a, b)
        case (.int(let a), .real(let b)): order(a, b)
        case (.real(let a), .int(let b)): -order(b, a)
        case (.decimal(let a), .real(let b)): order(a, b)
        case (.real(let a), .decimal(let b)): -order(b, a)
        case (.decimal(let a), .decimal(let b)): ValueOrder.compare(a, b)
        case (.decimal(let a), .int(let b)): ValueOrder.compare(a, DecimalValue(b))
        case (.int(let a), .decimal(let b)): ValueOrder.compare(DecimalValue(a), b)
        }
    }

    private static func order(_ whole: Int64, _ number: Double) -> Int {
        if number >= 0x1p63 { return -1 }
        // The comparison is also false for NaN.
        guard number >= -0x1p63 else { return 1 }
        let floor = number.rounded(.down)
        let bound = Int64(floor)
        if whole != bound { return whole < bound ? -1 : 1 }
        return number > floor ? -1 : 0
    }

    private static func order(_ decimal: DecimalValue, _ number: Double) -> Int {
        let (floor, isExact) = decimal.floorDouble
        let order = RealOrder.compare(floor, number)
        return order == 0 && !isExact ? 1 : order
    }

    static func == (left: Number, right: Number) -> Bool { order(left, right) == 0 }
    static func < (left: Number, right: Number) -> Bool { order(left, right) < 0 }

    func hash(into hasher: inout Hasher) {
        let (floor, isExact) = floor
        hasher.combine(RealOrder.canonical(floor).bitPattern)
        if !isExact { hasher.combine(decimal) }
    }

    /// Bytes whose order and equality are those of the numbers; no code is a prefix of another one.
    var code: [UInt8] {
        let (floor, isExact) = floor
        let word = RealOrder.code(floor)
        var code = (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
        code.append(isExact ? 0 : 1)
        if !isExact, let decimal { code += decimal.orderedBytes }
        return code
    }
}

extension Value {
    /// The value as a number; nil for values that are not numbers.
    var number: Number? {
        switch self {
        case .int(let number): .int(number)
        case .float(let number): .real(Double(number))
        case .double(let number): .real(number)
        case .decimal(let number): .decimal(number)
        default: nil
        }
    }
}
