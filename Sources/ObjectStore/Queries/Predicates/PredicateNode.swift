import ColumnStorage

/// A compiled condition.
///
/// `evaluate` tests a cluster of rows at once, but only the rows in `among`; its result is always a subset of `among`.
protocol PredicateNode: Sendable {
    /// The cost of one row, as a number of integer comparisons.
    var cost: Int { get }
    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits
    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool
}

extension PredicateNode {
    /// The result of a condition without properties, as a constant; the condition itself if evaluating it throws.
    var folded: any PredicateNode {
        let value = try? matches(BoundTables(), ObjectKey(rawValue: 0))
        return value.map(ConstantNode.init) ?? self
    }
}

/// A condition that can only be evaluated row by row.
protocol RowPredicateNode: PredicateNode {}

extension RowPredicateNode {
    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = ClusterBits.zero
        let first = Int64(cluster * Cluster.rows)
        try among.forEachRow { row in
            try tables.step()
            if try matches(tables, ObjectKey(rawValue: first + Int64(row))) { bits.insert(row) }
        }
        return bits
    }
}

/// A condition that matches all rows, or none.
struct ConstantNode: PredicateNode {
    let value: Bool
    var cost: Int { 0 }

    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        value ? among : .zero
    }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool { value }
}

/// A test of a property of the class itself against constants, for whole leaves at once.
struct ColumnNode: PredicateNode {
    let slot: Int
    let source: ColumnSource
    let test: ValueTest
    var cost: Int { test.cost }

    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        try source.matches(test, tables[slot], cluster, among: among)
    }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        try source.matches(test, tables[slot], key)
    }
}

/// A test of the values of a path against constants.
struct PathNode: RowPredicateNode {
    let path: CompiledPath
    let quantifier: Quantifier
    let test: ValueTest
    var cost: Int { path.cost + test.cost }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        try path.matches(test, quantifier: quantifier, tables, key)
    }
}

/// A comparison of two operands that are both computed for each row.
struct ComparisonNode: RowPredicateNode {
    let left: any PredicateExpression
    let right: any PredicateExpression
    let operation: PredicateOperator
    let folding: TextFolding
    /// The quantifier of the left operand or, with `quantifiesRight`, of the right one.
    let quantifier: Quantifier
    let quantifiesRight: Bool
    var cost: Int { left.cost + right.cost + 20 }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        let outer = quantifiesRight ? right : left
        let inner = quantifiesRight ? left : right
        return try quantifier.holds { visit in
            try outer.forEach(tables, key) { first in
                var passes = false
                try inner.forEach(tables, key) { second in
                    passes = try quantifiesRight ? holds(second, first) : holds(first, second)
                    return !passes
                }
                return visit(passes)
            }
        }
    }

    private func holds(_ left: Scalar, _ right: Scalar) throws -> Bool {
        if let comparison = operation.comparison, !folding.isNeeded {
            return Scalar.holds(left, comparison, right)
        }
        if operation == .memberOf, !folding.isNeeded { return Scalar.holds(left, .equal, right) }
        switch (left, right) {
        case (.bytes(let text), .bytes(let other)):
            return try TextTest(operation, other, folding).matches(text.span)
        case (.null, .null): return operation == .equal || operation == .memberOf
        default:
            return operation == .notEqual && left != .nothing && right != .nothing
        }
    }
}

/// A test of computed values against constants.
struct ExpressionTestNode: RowPredicateNode {
    let expression: any PredicateExpression
    /// The quantifier; nil for the one value of an expression, whose absence counts as nil.
    var quantifier: Quantifier?
    let test: ValueTest
    var cost: Int { expression.cost + test.cost }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        guard let quantifier else {
            let value = try expression.value(tables, key)
            return try test.matches(value == .nothing ? .null : value)
        }
        return try quantifier.holds { visit in
            try expression.forEach(tables, key) { try visit(test.matches($0)) }
        }
    }
}

/// A test of whether the values of a path equal some constants, in the same order; for a set, in any order.
struct SequenceNode: RowPredicateNode {
    let path: CompiledPath
    let tests: [ValueTest]
    let isSet: Bool
    /// The test for a single value that is the whole list.
    ///
    /// The test is needed if the path may lead either to the elements or to the whole list: through a link in a mixed
    /// value to a list of values, or to a list in a map.
    var whole: ValueTest?
    var cost: Int { path.cost + tests.count }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        if !isSet, path.hops.isEmpty, case .elements(let slot, let source) = path.terminal,
            try tables[slot].listCount(source.column, key) != tests.count
        {
            return false
        }
        if isSet { return try matchesSet(tables, key) }
        if let whole {
            let values = try values(tables, key)
            if values.count == 1, try whole.matches(values[0]) { return true }
        }
        var position = 0
        let isWhole = try path.forEachValue(tables, key) { value in
            guard position < tests.count, try tests[position].matches(value) else { return false }
            position += 1
            return true
        }
        return isWhole && position == tests.count
    }

    private func values(_ tables: BoundTables, _ key: ObjectKey) throws -> [Scalar] {
        var values: [Scalar] = []
        _ = try path.forEachValue(tables, key) { value in
            values.append(value)
            return true
        }
        return values
    }

    private func matchesSet(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        let values = try values(tables, key)
        return try values.allSatisfy { value in try tests.contains { try $0.matches(value) } }
            && tests.allSatisfy { test in try values.contains(where: test.matches) }
    }
}

/// A test of the number of elements of a list of the class itself, for whole leaves at once.
struct ElementCountNode: PredicateNode {
    let slot: Int
    let column: ColumnID
    let form: ValueTest.Form
    var cost: Int { 1 }

    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        switch form {
        case .always: among
        case .int(let comparison, let bound):
            try tables[slot].matches(column, cluster, .int(comparison, bound), among: among)
        default: .zero
        }
    }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        try ValueTest(form: form, matchesNull: false)
            .matches(.int(Int64(tables[slot].listCount(column, key))))
    }
}

extension [any PredicateNode] {
    /// The nodes in ascending order of cost; nodes of equal cost keep their order in the text.
    fileprivate var cheapestFirst: Self {
        enumerated()
            .sorted { ($0.element.cost, $0.offset) < ($1.element.cost, $1.offset) }
            .map(\.element)
    }
}

/// A conjunction of conditions, the cheapest first; each is evaluated only for the rows that the previous ones leave.
struct ConjunctionNode: PredicateNode {
    let parts: [any PredicateNode]
    let cost: Int

    init(_ parts: [any PredicateNode]) {
        self.parts = parts.cheapestFirst
        cost = parts.reduce(0) { $0 + $1.cost }
    }

    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = among
        for part in parts {
            if bits.isEmpty { return bits }
            bits = try part.evaluate(tables, cluster, among: bits)
        }
        return bits
    }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        try parts.allSatisfy { try $0.matches(tables, key) }
    }
}

/// A disjunction of conditions, the cheapest first; each is evaluated only for rows that do not match yet.
struct DisjunctionNode: PredicateNode {
    let parts: [any PredicateNode]
    let cost: Int

    init(_ parts: [any PredicateNode]) {
        self.parts = parts.cheapestFirst
        cost = parts.reduce(0) { $0 + $1.cost }
    }

    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        var bits = ClusterBits.zero
        for part in parts {
            let rest = among & ~bits
            if rest.isEmpty { return bits }
            bits |= try part.evaluate(tables, cluster, among: rest)
        }
        return bits
    }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        try parts.contains { try $0.matches(tables, key) }
    }
}

/// The negation of a condition.
///
/// The logic has two values: `not (age > 5)` includes nil.
struct NegationNode: PredicateNode {
    let part: any PredicateNode
    var cost: Int { part.cost }

    func evaluate(_ tables: BoundTables, _ cluster: Int, among: ClusterBits) throws -> ClusterBits {
        try among & ~part.evaluate(tables, cluster, among: among)
    }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        try !part.matches(tables, key)
    }
}
