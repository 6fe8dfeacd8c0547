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
        case (.int(let a), .int(let b)): ValueOrder.compare(a, b)
        case (.double(let a), .double(let b)): RealOrder.compare(a, b)
        case (.bytes(let a), .bytes(let b)): ValueOrder.bytes(a, b)
        case (.bool(let a), .bool(let b)): a == b ? 0 : a ? 1 : -1
        case (.link(let a), .link(let b)): ValueOrder.compare(a, b)
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

extension Scalar {
    /// Creates a scalar from a stored value or element of a type.
    init(_ element: ListElement, of type: PropertyType) {
        switch (type, element) {
        case (_, .null): self = .null
        case (.bool, .int(let number)): self = .bool(number != 0)
        case (.object, .int(let number)): self = .link(ObjectKey(rawValue: number))
        case (_, .int(let number)): self = .int(number)
        case (_, .float(let number)): self = .double(Double(number))
        case (_, .double(let number)): self = .double(number)
        case (.decimal, .bytes(let bytes)):
            self = DecimalValue(bytes: bytes).map(Scalar.decimal) ?? .null
        case (.mixed, .bytes(let bytes)): self = Scalar(mixed: MixedCoding.decode(bytes))
        case (_, .bytes(let bytes)): self = .bytes(bytes)
        }
    }

    /// Creates a scalar from the value of a mixed property, for comparisons; numbers, Booleans and strings have the
    /// same form as in properties of their types.
    init(mixed value: Value) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .int(let number): self = .int(number)
        case .float(let number): self = .double(Double(number))
        case .double(let number): self = .double(number)
        case .decimal(let number): self = .decimal(number)
        case .string(let text): self = .bytes(Array(text.utf8))
        case .data, .date, .fixed, .object, .list, .dictionary: self = .mixed(value)
        }
    }

    /// Converts a value whose type was known when the predicate was compiled to the value of a mixed property.
    init(mixed scalar: Scalar, _ type: OperandType) {
        switch (type, scalar) {
        // ``PredicateCompiler`` has already rounded a constant between two microseconds to a bound.
        case (.value(.date), .decimal(let number)):
            self = .mixed(.date(Timestamp(microseconds: number.floorInt?.value ?? 0)))
        case (.value(.string), _): self = scalar
        case (.value(let type), .int), (.value(let type), .bytes):
            self = Scalar(mixed: scalar.value(of: type))
        case (.object(let table), .link):
            self = Scalar(mixed: scalar.value(of: .object, target: table))
        default: self = scalar
        }
    }

    /// Returns the equivalent value of a type; `target` is the table of linked objects.
    func value(of type: PropertyType, target: TableID? = nil) -> Value {
        switch self {
        case .null, .nothing: .null
        case .group(let values): .list(values.map(\.value))
        case .bool(let flag): .bool(flag)
        case .int(let number):
            type == .date ? .date(Timestamp(microseconds: number)) : .int(number)
        case .double(let number): type == .float ? .float(Float(number)) : .double(number)
        case .decimal(let number): .decimal(number)
        case .mixed(let value): value
        case .link(let key):
            target.map { .object(ObjectReference(table: $0, key: key)) } ?? .null
        case .bytes(let bytes):
            switch type {
            case .data, .fixed: Value(.bytes(bytes), of: type)
            default: .string(String(decoding: bytes, as: UTF8.self))
            }
        }
    }

    /// The equivalent value of a mixed property.
    var value: Value { value(of: .mixed) }

    /// Bytes whose order and equality are those of mixed values; nil for nil.
    var mixedCode: [UInt8]? {
        let value = value
        return value == .null ? nil : ValueOrder.code(value)
    }
}

/// The values of an operand converted to values of a mixed property, for comparisons with one.
struct MixedExpression: PredicateExpression {
    let operand: any PredicateExpression
    let type: OperandType
    var isToMany: Bool { operand.isToMany }
    var cost: Int { operand.cost + 10 }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        try operand.forEach(tables, key) { try body(Scalar(mixed: $0, type)) }
    }
}
