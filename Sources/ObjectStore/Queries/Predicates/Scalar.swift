import ColumnStorage

/// One value during the evaluation of a predicate or a sort order.
///
/// Types were checked when the predicate was compiled, so a date may be an int here, and text, data and identifiers are
/// bytes. A date constant with more digits than microseconds is a decimal number of microseconds.
///
/// Two scalars are equal if ``order(_:_:)`` returns 0: numbers of different types are compared by value.
enum Scalar: Sendable {
    /// The absence of a value, as of the minimum of an empty list: it satisfies no comparison, not even `!=`.
    case nothing
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    /// A decimal; indirect, because it is large and the other cases are not.
    indirect case decimal(DecimalValue)
    case bytes([UInt8])
    /// A value of a mixed property other than nil, a Boolean, a number or a string: it equals values of its type only.
    indirect case mixed(Value)
    case link(ObjectKey)
    /// The values of several paths, as the key of a section.
    indirect case group([Scalar])

    /// The number as a double, for arithmetic.
    var double: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        case .decimal(let value): value.double
        default: nil
        }
    }

    /// The number as a decimal, for arithmetic; nil for values that are not numbers.
    var decimal: DecimalValue? {
        switch self {
        case .int(let value): DecimalValue(value)
        case .double(let value): DecimalValue(value)
        case .decimal(let value): value
        default: nil
        }
    }

    /// The number for comparisons; nil for values that are not numbers.
    var number: Number? {
        switch self {
        case .int(let value): .int(value)
        case .double(let value): .real(value)
        case .decimal(let value): .decimal(value)
        default: nil
        }
    }

    init(_ number: Number) {
        switch number {
        case .int(let value): self = .int(value)
        case .real(let value): self = .double(value)
        case .decimal(let value): self = .decimal(value)
        }
    }

    /// Whether the value may be a minimum or a maximum; false only for NaN.
    var isExtremeCandidate: Bool {
        switch self {
        case .double(let value): !value.isNaN
        case .decimal(let value): !value.isNotANumber
        default: true
        }
    }
}

extension Scalar {
    /// Returns -1, 0 or 1, or nil if the values have no order because their types differ.
    static func order(_ left: Scalar, _ right: Scalar) -> Int? {
        switch (left, right) {
        case (.int(let a), .int(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.double(let a), .double(let b)): RealOrder.compare(a, b)
        case (.bytes(let a), .bytes(let b)): ValueOrder.bytes(a, b)
        case (.bool(let a), .bool(let b)): a == b ? 0 : a ? 1 : -1
        case (.link(let a), .link(let b)): a == b ? 0 : a < b ? -1 : 1
        case (.mixed(let a), .mixed(let b)):
            ValueOrder.rank(a) == ValueOrder.rank(b) ? ValueOrder.order(a, b) : nil
        default:
            if let a = left.number, let b = right.number { Number.order(a, b) } else { nil }
        }
    }

    /// Returns whether `left op right` holds.
    ///
    /// Nil equals nil and nothing else, and has no order.
    static func holds(_ left: Scalar, _ comparison: Comparison, _ right: Scalar) -> Bool {
        switch (left, right) {
        case (.nothing, _), (_, .nothing): return false
        case (.null, .null): return comparison == .equal
        case (.null, _), (_, .null): return comparison == .notEqual
        default: break
        }
        guard let order = order(left, right) else { return comparison == .notEqual }
        return switch comparison {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }
}

extension Scalar: Hashable {
    static func == (left: Scalar, right: Scalar) -> Bool {
        switch (left, right) {
        case (.nothing, .nothing), (.null, .null): true
        case (.nothing, _), (_, .nothing), (.null, _), (_, .null): false
        case (.group(let left), .group(let right)): left == right
        default: order(left, right) == 0
        }
    }

    func hash(into hasher: inout Hasher) {
        switch self {
        case .nothing: hasher.combine(0 as UInt8)
        case .null: hasher.combine(1 as UInt8)
        case .bool(let flag): hasher.combine(flag)
        case .int(let value): hasher.combine(Number.int(value))
        case .double(let value): hasher.combine(Number.real(value))
        case .decimal(let value): hasher.combine(Number.decimal(value))
        case .bytes(let bytes): hasher.combine(bytes)
        case .mixed(let value): hasher.combine(ValueOrder.code(value))
        case .link(let key): hasher.combine(key)
        case .group(let values): hasher.combine(values)
        }
    }
}
