/// The sum of finite decimals, rounded only when it is read.
///
/// The sum does not depend on the order of the values, and removing a value restores the sum without it. It has the
/// decimal places of the values that it contains, as one addition after the other has.
package struct DecimalSum: Sendable {
    /// The values with one exponent; each coefficient is split, so that 128 bits are enough for any number of values.
    private struct Column {
        let exponent: Int
        var count = 0
        var high: Int128 = 0
        var low: Int128 = 0

        var value: DecimalValue {
            let unit = DecimalValue(isNegative: false, coefficient: 1, exponent: exponent)
            return DecimalValue(wide: high) * DecimalValue(wide: Int128(DecimalSum.base)) * unit
                + DecimalValue(wide: low) * unit
        }
    }

    private static let base: UInt128 = 100_000_000_000_000_000
    /// The columns by descending exponents, usually one or two.
    private var columns: [Column] = []

    package init() {}

    /// Adds all values of another sum.
    package mutating func add(_ other: DecimalSum) {
        for column in other.columns {
            let index = index(of: column.exponent)
            columns[index].high += column.high
            columns[index].low += column.low
            columns[index].count += column.count
            if columns[index].count == 0 { columns.remove(at: index) }
        }
    }

    /// Returns the index of the column with an exponent, which is created if it is missing.
    private mutating func index(of exponent: Int) -> Int {
        let index = columns.firstIndex { $0.exponent <= exponent } ?? columns.count
        if index == columns.count || columns[index].exponent != exponent {
            columns.insert(Column(exponent: exponent), at: index)
        }
        assert(
            index + 1 == columns.count || columns[index + 1].exponent < exponent,
            "the columns have descending exponents")
        return index
    }

    /// Adds a finite value, or removes one that was added if `count` is -1.
    package mutating func change(_ number: DecimalValue, by count: Int) {
        let (coefficient, exponent) = number.parts
        let index = index(of: exponent)
        let sign: Int128 = number.isNegative == (count > 0) ? -1 : 1
        if coefficient < Self.base {
            columns[index].low += sign * Int128(coefficient)
        } else {
            let (high, low) = coefficient.quotientAndRemainder(dividingBy: Self.base)
            columns[index].high += sign * Int128(high)
            columns[index].low += sign * Int128(low)
        }
        columns[index].count += count
        if columns[index].count == 0 { columns.remove(at: index) }
    }

    /// The sum, rounded to 34 digits; 0 without values.
    package var value: DecimalValue {
        columns.dropFirst().reduce(columns.first?.value ?? .zero) { $0 + $1.value }
    }
}
