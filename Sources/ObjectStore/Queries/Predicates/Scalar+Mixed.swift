import ColumnStorage

extension Scalar {
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
        case .data, .date, .uuid, .objectID, .object, .list, .dictionary: self = .mixed(value)
        }
    }

    /// Converts a value whose type was known when the predicate was compiled to the value of a mixed property.
    init(mixed scalar: Scalar, _ type: OperandType) {
        switch (type, scalar) {
        // ``PredicateCompiler`` has already rounded a constant between two microseconds to a bound.
        case (.value(.date), .decimal(let number)):
            self = .mixed(.date(Timestamp(microseconds: number.floorInt?.value ?? 0)))
        case (.value(.date), .int(let number)):
            self = .mixed(.date(Timestamp(microseconds: number)))
        case (.value(.data), .bytes(let bytes)): self = .mixed(.data(bytes))
        case (.value(.uuid), .bytes(let bytes)):
            self = UUIDValue(bytes: bytes).map { .mixed(.uuid($0)) } ?? .null
        case (.value(.objectID), .bytes(let bytes)):
            self = ObjectIDValue(bytes: bytes).map { .mixed(.objectID($0)) } ?? .null
        case (.object(let table), .link(let key)):
            self = .mixed(.object(ObjectReference(table: table, key: key)))
        default: self = scalar
        }
    }

    /// The equivalent value of a mixed property.
    var value: Value {
        switch self {
        case .nothing, .null, .link: .null
        case .bool(let flag): .bool(flag)
        case .int(let number): .int(number)
        case .double(let number): .double(number)
        case .decimal(let number): .decimal(number)
        case .bytes(let bytes): .string(String(decoding: bytes, as: UTF8.self))
        case .mixed(let value): value
        case .group(let values): .list(values.map(\.value))
        }
    }

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
