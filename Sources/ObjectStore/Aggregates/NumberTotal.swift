import Decimals

/// The total of numbers of all types.
///
/// All sums and averages are computed by this type, so that the same rules apply to all of them.
struct NumberTotal {
    /// The total of the ints.
    ///
    /// 128 bits are enough for the sum of more ints than a store can contain.
    var whole: Int128 = 0
    /// The total of the floats and doubles; nil if there are none.
    var real: Double?
    /// The total of the decimals; nil if there are none.
    var decimal: DecimalValue?

    /// The sum of all numbers.
    ///
    /// The sum is a decimal if there are decimals, and otherwise a double if there are floats or doubles. The sum of
    /// ints is an int if it fits into 64 bits, and otherwise the nearest double.
    var sum: Scalar {
        if let decimal {
            guard let real else { return .decimal(decimal + DecimalValue(wide: whole)) }
            return .decimal(decimal + DecimalValue(Double(whole) + real))
        }
        if let real { return .double(Double(whole) + real) }
        return Int64(exactly: whole).map(Scalar.int) ?? .double(Double(whole))
    }

    /// The sum divided by a number of values; `.nothing` for none.
    func average(of count: Int) -> Scalar {
        guard count > 0 else { return .nothing }
        if case .decimal(let total) = sum {
            return .decimal(total / DecimalValue(Int64(count)))
        }
        return .double((Double(whole) + (real ?? 0)) / Double(count))
    }
}
