import ColumnStorage

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
