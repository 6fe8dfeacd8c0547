import ColumnStorage

/// One value while a predicate or an order is computed: what columns hold, without their names.
///
/// Types were checked when the predicate was compiled, so that a date may be an int here, and
/// text, data and identifiers are bytes.
enum Scalar: Hashable, Sendable {
    /// No value at all, as the minimum of an empty list: it satisfies no comparison, not even `!=`.
    case nothing
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    /// Apart, because it is large and the others are not.
    indirect case decimal(DecimalValue)
    case bytes([UInt8])
    /// What a mixed property holds and is neither nil, bool, number nor string: compared with its like only.
    indirect case mixed(Value)
    case link(ObjectKey)

    /// The number as a double, for arithmetic.
    var number: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): value.double
        default: nil
        }
    }

    /// The number as a decimal; nil for what is no number.
    var decimal: DecimalValue? {
        switch self {
        case .int(let value): DecimalValue(value)
        case .double(let value): DecimalValue(value)
        case .decimal(let value): value
        default: nil
        }
    }

    /// -1, 0 or 1; nil if the two have no order: NaN, or different types.
    static func order(_ left: Scalar, _ right: Scalar) -> Int? {
        switch (left, right) {
        case (.int(let a), .int(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.int(let a), .double(let b)): order(a, b)
        case (.double(let a), .int(let b)): order(b, a).map { -$0 }
        case (.double(let a), .double(let b)): a < b ? -1 : a > b ? 1 : a == b ? 0 : nil
        case (.mixed(let a), .mixed(let b)): a.typeName == b.typeName ? MixedOrder.order(a, b) : nil
        case (.decimal(let a), .decimal(let b)): DecimalValue.order(a, b)
        case (.decimal(let a), _): right.decimal.flatMap { DecimalValue.order(a, $0) }
        case (_, .decimal(let b)): left.decimal.flatMap { DecimalValue.order($0, b) }
        case (.bool(let a), .bool(let b)): a == b ? 0 : a ? 1 : -1
        case (.bytes(let a), .bytes(let b)):
            a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
        case (.link(let a), .link(let b)): a == b ? 0 : a < b ? -1 : 1
        default: nil
        }
    }

    /// Exact, also where a double cannot hold the int.
    private static func order(_ whole: Int64, _ number: Double) -> Int? {
        if number.isNaN { return nil }
        if number >= 0x1p63 { return -1 }
        if number < -0x1p63 { return 1 }
        let floor = number.rounded(.down)
        let bound = Int64(floor)
        if whole != bound { return whole < bound ? -1 : 1 }
        return number > floor ? -1 : 0
    }

    /// Whether `left op right` holds.
    ///
    /// Nil equals nil and nothing else, and has no order.
    static func holds(_ left: Scalar, _ comparison: Comparison, _ right: Scalar) -> Bool {
        switch (left, right) {
        case (.nothing, _), (_, .nothing): return false
        case (.null, .null): return comparison == .equal
        case (.null, _), (_, .null): return comparison == .notEqual
        default: break
        }
        let order = order(left, right)
        switch comparison {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order == -1
        case .lessOrEqual: return order.map { $0 <= 0 } ?? false
        case .greater: return order == 1
        case .greaterOrEqual: return order.map { $0 >= 0 } ?? false
        }
    }
}
