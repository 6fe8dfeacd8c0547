import ColumnStorage
import Decimals

/// The total of numbers of all types.
///
/// All sums and averages are computed by this type: of scans, lists, groups, predicates and observed aggregates. The
/// numbers are added without rounding, so that the result depends neither on their order nor on removed numbers.
struct NumberTotal {
    /// The number of values.
    private var count = 0
    /// The total of the ints.
    ///
    /// 128 bits are enough for the sum of more ints than a store can contain.
    private var whole: Int128 = 0
    /// The total of the floats and doubles, and of decimals that are not finite.
    private var reals = ExactSum()
    private var realCount = 0
    private var decimals = DecimalSum()
    private var decimalCount = 0

    /// Adds a number, or removes one that was added if `sign` is -1.
    mutating func change(_ value: Scalar, by sign: Int) {
        switch value {
        case .int(let number): whole += Int128(sign) * Int128(number)
        case .double(let number):
            realCount += sign
            reals.change(number, by: sign)
        case .decimal(let number):
            decimalCount += sign
            if number.isFinite {
                decimals.change(number, by: sign)
            } else {
                reals.change(number.double, by: sign)
            }
        default: return
        }
        count += sign
    }

    /// Adds all numbers of another total.
    mutating func add(_ other: NumberTotal) {
        count += other.count
        whole += other.whole
        reals.add(other.reals)
        realCount += other.realCount
        decimals.add(other.decimals)
        decimalCount += other.decimalCount
    }

    /// Adds the numbers of a column in some rows of a cluster.
    mutating func add(
        _ source: ColumnSource, of rows: TableReader, _ cluster: Int, _ bits: ClusterBits
    ) throws {
        if source.type == .int {
            let (sum, added) = try rows.sumInt(source.column, cluster, among: bits)
            whole += sum
            count += added
        } else {
            let added = try rows.addDoubles(source.column, cluster, among: bits, to: &reals)
            realCount += added
            count += added
        }
    }

    /// The sum of all numbers.
    ///
    /// The sum is a decimal if there are decimals, and otherwise a double if there are floats or doubles. The sum of
    /// ints is an int if it fits into 64 bits, and otherwise the nearest double.
    var sum: Scalar {
        let real = reals.value
        if decimalCount > 0 {
            let exact = decimals.value + DecimalValue(wide: whole)
            return .decimal(real == 0 ? exact : exact + DecimalValue(real))
        }
        if realCount > 0 { return .double(Double(whole) + real) }
        return Int64(exactly: whole).map(Scalar.int) ?? .double(Double(whole))
    }

    /// The average of the values; `.nothing` for none.
    var average: Scalar {
        guard count > 0 else { return .nothing }
        if case .decimal(let total) = sum {
            return .decimal(total / DecimalValue(Int64(count)))
        }
        return .double((Double(whole) + reals.value) / Double(count))
    }
}
