import ColumnStorage

extension Scalar {
    /// The section key of a mixed value; equal numbers of different types have the same key.
    var mixedSectionKey: Scalar { Scalar(mixed: value.inSimplestForm) }
}

extension Value {
    /// The value with each number as an int or a double if one equals it exactly, also inside lists and maps.
    fileprivate var inSimplestForm: Value {
        switch self {
        case .float(let number): return Value.double(Double(number)).inSimplestForm
        case .double(let number):
            if number.isNaN { return .double(.nan) }
            return Int64(exactly: number).map(Value.int) ?? self
        case .decimal(let number):
            if let whole = number.exactInt { return .int(whole) }
            let (double, isExact) = number.floorDouble
            return isExact ? .double(double) : self
        case .list(let elements): return .list(elements.map(\.inSimplestForm))
        case .dictionary(let entries): return .dictionary(entries.mapValues(\.inSimplestForm))
        default: return self
        }
    }
}

/// A test of a computed value against constants.
struct ExpressionTestNode: RowPredicateNode {
    let expression: any PredicateExpression
    let test: ValueTest
    var cost: Int { expression.cost + test.cost }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        let value = try expression.value(tables, key)
        return try test.matches(value == .nothing ? .null : value)
    }
}
