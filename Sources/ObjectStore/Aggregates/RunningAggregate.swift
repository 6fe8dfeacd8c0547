/// An aggregate to which values can be added and from which they can be removed.
///
/// The result equals that of ``Aggregate`` for the current values. If ``needsRefill`` is true, the caller has to add all
/// current values to a new aggregate.
struct RunningAggregate {
    private let kind: AggregateKind
    /// Whether values that are not numbers are ignored; true for mixed properties.
    private let numbersOnly: Bool
    /// The number of values that are not nil.
    private var count = 0
    private var total = NumberTotal()
    private var extremes: ExtremeValues

    init(_ kind: AggregateKind, numbersOnly: Bool) {
        self.kind = kind
        self.numbersOnly = numbersOnly
        extremes = ExtremeValues(isMinimum: kind == .minimum)
    }

    /// Whether the result can no longer be computed from this state.
    var needsRefill: Bool { extremes.isExhausted }

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
        switch kind {
        case .count: count += sign
        case .minimum, .maximum:
            guard value.isExtremeCandidate else { return }
            if sign > 0 { extremes.add(value) } else { extremes.remove(value) }
        case .sum, .average: total.change(value, by: sign)
        }
    }

    /// The result, equal to ``Aggregate/result`` for the present values.
    var result: Scalar {
        switch kind {
        case .count: .int(Int64(count))
        case .minimum, .maximum: extremes.best ?? .nothing
        case .sum: total.sum
        case .average: total.average
        }
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
