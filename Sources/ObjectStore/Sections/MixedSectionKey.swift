import ColumnStorage

extension Scalar {
    /// A mixed value as the key of its section: equal numbers of different types have the same one.
    var mixedSectionKey: Scalar { Scalar(mixed: value.inSimplestForm) }
}

extension Value {
    /// The value with numbers as ints where they are whole, as doubles where those are exact; also inside lists and maps.
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

/// A value that is computed for each object against constants.
struct ExpressionTestNode: RowPredicateNode {
    let expression: any PredicateExpression
    let test: ValueTest
    var cost: Int { expression.cost + test.cost }

    func matches(_ tables: BoundTables, _ key: ObjectKey) -> Bool {
        let value = expression.value(tables, key)
        return test.matches(value == .nothing ? .null : value)
    }
}
