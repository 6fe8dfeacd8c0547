import ColumnStorage

/// A number of any type, as comparing, hashing and sorting see it.
///
/// Numbers are equal, and ordered, by their value: the int 1, the float 1, the double 1 and the decimal 1.0 are one number.
/// Nothing is rounded: 2^53 + 1 is above the double 2^53, and the decimal 0.1 is below the double that is written 0.1.
/// NaN of any type equals itself and comes before all other numbers; -0.0 equals 0.0 (``ColumnStorage/RealOrder``).
enum Number {
    case int(Int64)
    case real(Double)
    case decimal(DecimalValue)

    /// The largest double that is not above the number, and whether it equals the number; NaN for NaN.
    ///
    /// The double and, where it is not the number, the number as a decimal: these two order numbers of all types, because
    /// between two neighboring doubles there are only ints and decimals.
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
        /// Below all of them; NaN is.
        case below
        /// At or above this one and below the next.
        case at(Int64, isExact: Bool)
        /// Above all of them.
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

    /// Whether the number has digits after the point.
    var hasFraction: Bool {
        switch self {
        case .int: false
        case .real(let number): number.isFinite && number.rounded() != number
        case .decimal(let number): number.hasFraction
        }
    }

    /// The number that a constant means beside values of a type: itself, whether a property of the type can hold it or not.
    ///
    /// The exception is a number with a fraction beside floats or decimals, because such values have been rounded when they
    /// were set: it means what setting a property to it would store, so that 0.1 is found again. Beside floats this is the
    /// nearest float, unless that is zero or infinite; beside decimals the decimal that a double is written as.
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
    /// Returns -1, 0 or 1 as the first number comes before, equals or follows the second.
    static func order(_ left: Number, _ right: Number) -> Int {
        switch (left, right) {
        case (.int(let a), .int(let b)): a < b ? -1 : a == b ? 0 : 1
        case (.real(let a), .real(let b)): RealOrder.compare(a, b)
        case (.int(let a), .real(let b)): order(a, b)
        case (.real(let a), .int(let b)): -order(b, a)
        case (.decimal(let a), .real(let b)): order(a, b)
        case (.real(let a), .decimal(let b)): -order(b, a)
        case (.decimal(let a), .decimal(let b)): order(a, b)
        case (.decimal(let a), .int(let b)): order(a, DecimalValue(b))
        case (.int(let a), .decimal(let b)): order(DecimalValue(a), b)
        }
    }

    private static func order(_ whole: Int64, _ number: Double) -> Int {
        if number >= 0x1p63 { return -1 }
        // NaN as well.
        guard number >= -0x1p63 else { return 1 }
        let floor = number.rounded(.down)
        let bound = Int64(floor)
        if whole != bound { return whole < bound ? -1 : 1 }
        return number > floor ? -1 : 0
    }

    private static func order(_ left: DecimalValue, _ right: DecimalValue) -> Int {
        left < right ? -1 : left == right ? 0 : 1
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

    /// Bytes that order like the numbers, and are equal for equal ones; none is the beginning of another.
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
    /// The value as a number; nil if it is none.
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
