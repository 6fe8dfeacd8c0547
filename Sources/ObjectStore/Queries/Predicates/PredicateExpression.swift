import ColumnStorage
import Decimals

/// An operand that is computed for each row.
protocol PredicateExpression: Sendable {
    /// Whether one row may have several values or none.
    var isToMany: Bool { get }
    /// Whether the values are numbers of different types, such as the sums of mixed values.
    var hasAnyNumbers: Bool { get }
    /// The cost of one row, as a number of integer comparisons.
    var cost: Int { get }
    /// Calls `body` with every value of the row until it returns false.
    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws
}

extension PredicateExpression {
    var isToMany: Bool { false }
    var hasAnyNumbers: Bool { false }

    func value(_ tables: BoundTables, _ key: ObjectKey) throws -> Scalar {
        var result = Scalar.nothing
        try forEach(tables, key) {
            result = $0
            return false
        }
        return result
    }
}

/// An expression with the same value for every row.
struct ConstantExpression: PredicateExpression {
    let constant: Scalar
    var cost: Int { 0 }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        _ = try body(constant)
    }
}

/// The values of a path.
struct PathExpression: PredicateExpression {
    let path: CompiledPath
    var isToMany: Bool { path.isToMany }
    var cost: Int { path.cost }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        _ = try path.forEachValue(tables, key, body)
    }
}

/// The total number of values of some paths.
struct CountExpression: PredicateExpression {
    let paths: [CompiledPath]
    var cost: Int { paths.reduce(20) { $0 + $1.cost } }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        _ = try body(.int(Int64(paths.reduce(0) { try $0 + $1.count(tables, key) })))
    }
}

/// The number of objects of a collection that satisfy a nested condition.
struct SubqueryExpression: PredicateExpression {
    let collection: CompiledPath
    let condition: any PredicateNode
    var cost: Int { collection.cost + 10 * condition.cost }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        var count: Int64 = 0
        _ = try collection.forEachObject(tables, key) { object in
            if let object, try condition.matches(tables, object) { count += 1 }
            return true
        }
        _ = try body(.int(count))
    }
}

/// An aggregate such as `@sum` over the values of a path.
struct AggregateExpression: PredicateExpression {
    let kind: AggregateKind
    let path: CompiledPath
    /// The type of the values; of mixed values, only numbers count.
    let type: PropertyType
    var cost: Int { path.cost }

    /// The type with which the result is compared.
    var resultType: PropertyType {
        type == .mixed || !kind.isExtreme && type != .decimal ? .double : type
    }

    // The sum of many ints can be a double.
    var hasAnyNumbers: Bool { type == .mixed || type == .int && kind == .sum }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        var aggregate = Aggregate(kind, numbersOnly: type == .mixed)
        _ = try path.forEachValue(tables, key) { value in
            aggregate.add(value)
            return true
        }
        _ = try body(kind == .sum ? aggregate.result.sum(of: type) : aggregate.result)
    }
}

/// A calculation with numbers.
///
/// The result is nil if an operand is nil. `/` is always floating-point division, as in Lua.
struct ArithmeticExpression: PredicateExpression {
    let operation: ArithmeticOperator
    let left: any PredicateExpression
    let right: any PredicateExpression
    var isToMany: Bool { left.isToMany || right.isToMany }
    var cost: Int { left.cost + right.cost + 20 }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        var continues = true
        try left.forEach(tables, key) { first in
            try right.forEach(tables, key) { second in
                continues = try body(ArithmeticExpression.compute(operation, first, second))
                return continues
            }
            return continues
        }
    }

    static func compute(
        _ operation: ArithmeticOperator, _ left: Scalar, _ right: Scalar
    ) -> Scalar {
        if case .int(let a) = left, case .int(let b) = right {
            let exact: (partialValue: Int64, overflow: Bool)? =
                switch operation {
                case .plus: a.addingReportingOverflow(b)
                case .minus: a.subtractingReportingOverflow(b)
                case .times: a.multipliedReportingOverflow(by: b)
                case .divided: nil
                }
            if let exact, !exact.overflow { return .int(exact.partialValue) }
        }
        if left == .nothing || right == .nothing { return .nothing }
        if case .decimal = left { return compute(operation, left.decimal, right.decimal) }
        if case .decimal = right { return compute(operation, left.decimal, right.decimal) }
        guard let a = left.double, let b = right.double else { return .null }
        return switch operation {
        case .plus: .double(a + b)
        case .minus: .double(a - b)
        case .times: .double(a * b)
        case .divided: .double(a / b)
        }
    }
}

extension ArithmeticExpression {
    private static func compute(
        _ operation: ArithmeticOperator, _ left: DecimalValue?, _ right: DecimalValue?
    ) -> Scalar {
        guard let left, let right else { return .null }
        return switch operation {
        case .plus: .decimal(left + right)
        case .minus: .decimal(left - right)
        case .times: .decimal(left * right)
        case .divided: .decimal(left / right)
        }
    }
}

extension Scalar {
    /// The scalar as the sum of values of a type; without values, every sum is the int 0.
    func sum(of type: PropertyType) -> Scalar {
        switch (self, type) {
        case (.int(let zero), .float), (.int(let zero), .double): .double(Double(zero))
        case (.int(let zero), .decimal): .decimal(DecimalValue(zero))
        default: self
        }
    }
}
