import ColumnStorage
import Decimals

/// An operand that is computed for each row.
protocol PredicateExpression: Sendable {
    /// Whether one row may have several values or none.
    var isToMany: Bool { get }
    /// The cost of one row, as a number of integer comparisons.
    var cost: Int { get }
    /// Calls `body` with every value of the row until it returns false.
    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws
}

extension PredicateExpression {
    var isToMany: Bool { false }

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
    let operation: AggregateOperation
    let path: CompiledPath
    /// Whether values that are not numbers are ignored; true for mixed properties.
    var numbersOnly = false
    var cost: Int { path.cost }

    func forEach(_ tables: BoundTables, _ key: ObjectKey, _ body: (Scalar) throws -> Bool) throws {
        var aggregate = Aggregate(operation)
        _ = try path.forEachValue(tables, key) { value in
            if !numbersOnly || value.number != nil { aggregate.add(value) }
            return true
        }
        _ = try body(aggregate.result)
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

/// The four operations that compute one number from many.
enum AggregateOperation: String, Sendable {
    case sum, minimum = "min", maximum = "max", average = "avg"
}

/// An aggregate of values that are added one by one, or column by column.
///
/// Nulls do not count. The minimum and the maximum ignore NaN, which would otherwise be the minimum of every column that
/// contains it; sums and averages of NaN are NaN.
struct Aggregate {
    private let operation: AggregateOperation
    private var total = NumberTotal()
    private var extreme = Scalar.nothing

    init(_ operation: AggregateOperation) {
        self.operation = operation
    }

    mutating func add(_ value: Scalar) {
        switch operation {
        case .minimum: addExtreme(value, -1)
        case .maximum: addExtreme(value, 1)
        case .sum, .average: total.change(value, by: 1)
        }
    }

    private mutating func addExtreme(_ value: Scalar, _ order: Int) {
        switch value {
        case .null, .nothing: return
        default: guard value.isExtremeCandidate else { return }
        }
        if case .nothing = extreme { extreme = value }
        if Scalar.order(value, extreme) == order { extreme = value }
    }

    /// Adds all values of another aggregate of the same operation.
    mutating func add(_ other: Aggregate) {
        if case .nothing = other.extreme {} else { add(other.extreme) }
        total.add(other.total)
    }

    /// Adds the values of a column of numbers in some rows of a cluster.
    mutating func add(
        _ source: ColumnSource, of rows: TableReader, _ cluster: Int, _ bits: ClusterBits
    ) throws {
        let column = source.column
        let isWhole = source.type == .int || source.type == .date
        switch operation {
        case .minimum:
            try add(
                isWhole
                    ? rows.minInt(column, cluster, among: bits).map(Scalar.int) ?? .null
                    : rows.minDouble(column, cluster, among: bits).map(Scalar.double) ?? .null)
        case .maximum:
            try add(
                isWhole
                    ? rows.maxInt(column, cluster, among: bits).map(Scalar.int) ?? .null
                    : rows.maxDouble(column, cluster, among: bits).map(Scalar.double) ?? .null)
        case .sum, .average: try total.add(source, of: rows, cluster, bits)
        }
    }

    /// The aggregate; `.nothing` for the minimum, maximum and average of no values, and 0 for their sum.
    var result: Scalar {
        switch operation {
        case .minimum, .maximum: extreme
        case .sum: total.sum
        case .average: total.average
        }
    }
}
