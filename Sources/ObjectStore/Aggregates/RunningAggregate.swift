import ColumnStorage
import Decimals

/// An aggregate to which values can be added and from which they can be removed.
///
/// The result equals that of ``Aggregate`` for the current values. Sums of ints and doubles are exact, regardless of
/// earlier additions and removals. If ``needsRefill`` is true, the caller has to add all current values to a new
/// aggregate.
struct RunningAggregate {
    private let kind: AggregateKind
    /// Whether values that are not numbers are ignored; true for mixed properties.
    private let numbersOnly: Bool
    /// The number of values that are not nil.
    private var count = 0
    private var whole: Int128 = 0
    private var reals = ExactSum()
    private var realCount = 0
    private var decimal = DecimalValue.zero
    private var decimalCount = 0
    private var extremes: ExtremeValues
    private var isInexact = false

    init(_ kind: AggregateKind, numbersOnly: Bool) {
        self.kind = kind
        self.numbersOnly = numbersOnly
        extremes = ExtremeValues(isMinimum: kind == .minimum)
    }

    /// Whether the result can no longer be computed from this state.
    var needsRefill: Bool { extremes.isExhausted || isInexact }

    /// Adds a value.
    mutating func add(_ value: Scalar) { change(value, by: 1) }

    /// Removes a value that was added.
    mutating func remove(_ value: Scalar) { change(value, by: -1) }

    private mutating func change(_ value: Scalar, by sign: Int) {
        switch value {
        case .null, .nothing: return
        default: break
        }
        if numbersOnly, kind != .count, value.number == nil { return }
        count += sign
        switch kind {
        case .count: break
        case .minimum, .maximum:
            guard value.isExtremeCandidate else { return }
            if sign > 0 { extremes.add(value) } else { extremes.remove(value) }
        case .sum, .average:
            switch value {
            case .int(let number):
                whole += Int128(sign) * Int128(number)
            case .double(let number):
                realCount += sign
                if sign > 0 { reals.add(number) } else { reals.remove(number) }
            case .decimal(let number):
                decimalCount += sign
                change(decimal: sign > 0 ? number : DecimalValue.zero - number)
            default: return
            }
        }
    }

    /// Adds or removes a decimal; a sum of more than 34 digits is rounded, and then depends on the order of its values.
    private mutating func change(decimal number: DecimalValue) {
        let sum = decimal + number
        if !number.isFinite || sum - decimal != number || sum - number != decimal {
            isInexact = true
        }
        decimal = sum
    }

    /// The result, equal to ``Aggregate/result`` for the present values.
    var result: Scalar {
        switch kind {
        case .count: .int(Int64(count))
        case .minimum, .maximum: extremes.best ?? .nothing
        case .sum: total.sum
        case .average: total.average(of: count)
        }
    }

    private var total: NumberTotal {
        NumberTotal(
            whole: whole, real: realCount > 0 ? reals.value : nil,
            decimal: decimalCount > 0 ? decimal : nil)
    }
}

/// The operation of an observed aggregate.
package enum AggregateKind: String, Sendable, CaseIterable {
    case count, sum, average
    case minimum = "min"
    case maximum = "max"

    /// The operation on values; nil for a count.
    var operation: AggregateOperation? {
        switch self {
        case .count: nil
        case .sum: .sum
        case .average: .average
        case .minimum: .minimum
        case .maximum: .maximum
        }
    }
}
