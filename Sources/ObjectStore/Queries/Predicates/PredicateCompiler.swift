import ColumnStorage

/// Compiles a parsed predicate: looks up names as columns, checks types, and converts comparisons with constants to
/// tests of whole leaves.
struct PredicateCompiler {
    /// The class to which names without a variable belong; inside a subquery, the class of its variable.
    struct Scope {
        let classSchema: ClassSchema
        let variable: String?
        /// The path from the queried class to this scope, for the dependencies.
        let prefix: [PropertyPath.Component]
        /// The number of links inside mixed values on the path to this scope.
        var linksInside = 0
        /// Whether the path to this scope may have any number of values, so that a nil link yields none.
        var isPartOfMany = false
    }

    let schema: Schema
    let arguments: [Value]
    private(set) var tables: [TableID] = []
    private(set) var dependencies: [PropertyPath] = []
    /// The searches that determine the order of `@rank`.
    var searches: [TextSearch] = []
    /// The number of links inside mixed values that were followed to objects of some class.
    var linkedPaths = 0
    private var known: Set<PropertyPath> = []

    init(schema: Schema, arguments: [Value]) {
        self.schema = schema
        self.arguments = arguments
    }

    /// Returns the slot of a table in ``BoundTables``.
    mutating func slot(_ table: TableID) -> Int {
        if let slot = tables.firstIndex(of: table) { return slot }
        tables.append(table)
        return tables.count - 1
    }

    mutating func depend(on components: [PropertyPath.Component], in scope: Scope) {
        let path = PropertyPath(scope.prefix + components)
        if known.insert(path).inserted { dependencies.append(path) }
    }

    /// Compiles an expression that must be a condition.
    mutating func condition(
        _ syntax: PredicateSyntax, _ scope: Scope
    ) throws(QueryFault) -> any PredicateNode {
        try QueryFault.step()
        switch syntax.form {
        case .always(let value):
            return ConstantNode(value: value)
        case .and(let parts):
            return ConjunctionNode(try conditions(parts, scope))
        case .or(let parts):
            return DisjunctionNode(try conditions(parts, scope))
        case .not(let part):
            return NegationNode(part: try condition(part, scope))
        case .comparison(let comparison):
            return try compile(comparison, syntax.range, scope)
        case .geoWithin(let geo):
            return try geoWithin(geo, scope)
        default:
            return try bare(try operand(syntax, scope))
        }
    }

    private mutating func conditions(
        _ parts: [PredicateSyntax], _ scope: Scope
    ) throws(QueryFault) -> [any PredicateNode] {
        var nodes: [any PredicateNode] = []
        for part in parts { nodes.append(try condition(part, scope)) }
        return nodes
    }

    /// Compiles an operand without a comparison, which must be a Boolean value.
    private func bare(_ operand: PredicateOperand) throws(QueryFault) -> any PredicateNode {
        if operand.type == .value(.bool) {
            if case .constant(let value) = operand.form {
                return ConstantNode(value: value == .bool(true))
            }
            if case .path(let path) = operand.form {
                return node(path, operand, ValueTest(form: .bool(true), matchesNull: false))
            }
        }
        throw QueryFault(
            "expected a condition, got \(operand.description); compare it with a value",
            at: operand.range)
    }

    /// Returns the node that compares a path with constants.
    func node(
        _ path: CompiledPath, _ operand: PredicateOperand, _ test: ValueTest
    ) -> any PredicateNode {
        if path.hops.isEmpty, case .value(let slot, let source) = path.terminal {
            return ColumnNode(slot: slot, source: source, test: test)
        }
        return PathNode(path: path, quantifier: operand.quantifier ?? .any, test: test)
    }

    /// Compiles an expression that must be a value.
    mutating func operand(
        _ syntax: PredicateSyntax, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        let range = syntax.range
        func constant(
            _ value: Scalar, _ type: OperandType, _ description: String
        ) -> PredicateOperand {
            PredicateOperand(
                form: .constant(value), type: type, description: description, range: range)
        }
        switch syntax.form {
        case .value(let value):
            guard let operand = PredicateCompiler.operand(value, range) else {
                throw QueryFault("a \(value.typeName) cannot be compared", at: range)
            }
            return operand
        case .number(let value, nil): return constant(.double(value), .value(.double), "a double")
        case .number(let value, let written?):
            return constant(.double(value), .literal(written), "a double")
        case .date(let moment): return constant(Scalar(moment), .value(.date), "a date")
        case .argument(let position):
            return try argument(position, range)
        case .list(let elements):
            return try list(elements, range, scope)
        case .path(let path):
            return try self.path(PathContext(syntax: path, range: range, scope: scope))
        case .subquery(let subquery):
            return try self.subquery(subquery, range, scope)
        case .negated(let inner):
            let zero = PredicateSyntax(form: .value(.int(0)), range: inner.range)
            return try arithmetic(.minus, zero, inner, at: range, in: scope)
        case .arithmetic(let operation, let left, let right):
            return try arithmetic(operation, left, right, at: range, in: scope)
        case .always, .comparison, .geoWithin, .and, .or, .not:
            throw QueryFault("expected a value, got a condition", at: range)
        }
    }

    func argument(
        _ position: Int, _ range: Range<Int>
    ) throws(QueryFault) -> PredicateOperand {
        guard position <= arguments.count else {
            let count = arguments.count
            let given =
                count == 0 ? "none was given" : count == 1 ? "1 was given" : "\(count) were given"
            throw QueryFault("there is no argument $\(position): \(given)", at: range)
        }
        if case .list(let values) = arguments[position - 1] {
            // Lists and maps in the list are compared only with mixed values.
            let members = values.map {
                PredicateCompiler.constant($0) ?? (Scalar(mixed: $0), .value(.mixed))
            }
            return PredicateOperand(
                form: .list(members), type: .null, description: "a list", range: range)
        }
        guard let operand = PredicateCompiler.operand(arguments[position - 1], range) else {
            throw QueryFault(
                "argument $\(position) is a \(arguments[position - 1].typeName), which cannot be "
                    + "compared", at: range)
        }
        return operand
    }

    /// Returns a constant; nil for lists and dictionaries.
    private static func operand(_ value: Value, _ range: Range<Int>) -> PredicateOperand? {
        guard let (scalar, type) = constant(value) else { return nil }
        let name = value.typeName
        let article = name == "nil" ? "" : "aio".contains(name.prefix(1)) ? "an " : "a "
        return PredicateOperand(
            form: .constant(scalar), type: type, description: article + name, range: range)
    }

    /// Converts a value to a constant; nil for lists and dictionaries.
    static func constant(_ value: Value) -> (value: Scalar, type: OperandType)? {
        if value == .null { return (.null, .null) }
        guard let type = value.type else { return nil }
        let scalar = Scalar(value.listElement, of: type)
        if case .object(let reference) = value { return (scalar, .object(reference.table)) }
        return (scalar, .value(type))
    }

    private mutating func list(
        _ elements: [PredicateSyntax], _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        var members: [(value: Scalar, type: OperandType)] = []
        for element in elements {
            let operand = try operand(element, scope)
            guard case .constant(let value) = operand.form else {
                throw QueryFault(
                    "a list can contain constants and arguments, not \(operand.description)",
                    at: element.range)
            }
            members.append((value, operand.type))
        }
        return PredicateOperand(
            form: .list(members), type: .null, description: "a list", range: range)
    }

    private mutating func arithmetic(
        _ operation: ArithmeticOperator, _ leftSyntax: PredicateSyntax,
        _ rightSyntax: PredicateSyntax, at range: Range<Int>, in scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        let left = try operand(leftSyntax, scope)
        let right = try operand(rightSyntax, scope)
        var expressions: [any PredicateExpression] = []
        for side in [left, right] {
            guard side.type.isNumeric || side.type.isMixed, let expression = side.expression else {
                throw QueryFault(
                    "'\(operation.rawValue)' calculates with numbers, not \(side.description)",
                    at: side.range)
            }
            guard side.quantifier == nil else {
                throw QueryFault("a quantifier is not allowed inside a calculation", at: side.range)
            }
            expressions.append(expression)
        }
        let isDecimal = left.type == .value(.decimal) || right.type == .value(.decimal)
        let type = OperandType.value(isDecimal ? .decimal : .double)
        if isDecimal {
            for (index, side) in [left, right].enumerated() {
                guard case .constant(let value) = side.form else { continue }
                expressions[index] = ConstantExpression(
                    constant: PredicateCompiler.constant(value, side.type, beside: type))
            }
        }
        if case .constant(let a) = left.form, case .constant(let b) = right.form {
            let value = ArithmeticExpression.compute(operation, a, b)
            return PredicateOperand(
                form: .constant(value), type: type, description: "a number", range: range)
        }
        return PredicateOperand(
            form: .expression(
                ArithmeticExpression(
                    operation: operation, left: expressions[0], right: expressions[1])),
            type: type, description: "a calculation", range: range)
    }
}
