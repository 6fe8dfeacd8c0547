/// The order of floats and doubles, which scans, indexes, sets and sorting share.
///
/// NaN equals every NaN, independent of its bits, and comes before all other numbers. -0.0 equals 0.0. This is a total
/// order, unlike that of IEEE 754, whose NaN has no position in a sorted column.
package enum RealOrder {
    /// Compares two values: negative if the first precedes the second, zero if they are equal, otherwise positive.
    @inline(__always)
    package static func compare(_ left: Double, _ right: Double) -> Int {
        if left < right { return -1 }
        if left > right { return 1 }
        if left == right { return 0 }
        return (left.isNaN ? 0 : 1) - (right.isNaN ? 0 : 1)
    }

    /// Returns whether both values are equal in this order.
    @inline(__always)
    package static func isEqual(_ left: Double, _ right: Double) -> Bool {
        left == right || (left.isNaN && right.isNaN)
    }

    /// Returns the representative of all values that equal this one: one NaN, and 0.0 for -0.0.
    @inline(__always)
    package static func canonical(_ value: Double) -> Double {
        value.isNaN ? .nan : value + 0
    }

    /// Returns an unsigned integer with the same order as the value, and equal for equal values.
    ///
    /// It is never 0 or `UInt64.max`, which are reserved for nil before or after all values.
    @inline(__always)
    package static func code(_ value: Double) -> UInt64 {
        if value.isNaN { return codeOfNaN }
        let bits = (value + 0).bitPattern
        return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    }

    /// The code of NaN, which is less than that of negative infinity.
    package static let codeOfNaN: UInt64 = 1

    /// Returns the value of a code from ``code(_:)``.
    package static func value(ofCode code: UInt64) -> Double {
        if code == codeOfNaN { return .nan }
        return Double(bitPattern: code >> 63 == 1 ? code ^ (1 << 63) : ~code)
    }
}
