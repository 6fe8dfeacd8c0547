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
        switch operand.form {
        case .constant, .path:
            guard operand.type == .value(.bool) else { break }
            return node(operand, ValueTest(form: .bool(true), matchesNull: false))
        default: break
        }
        throw QueryFault(
            "expected a condition, got \(operand.description); compare it with a value",
            at: operand.range)
    }

    /// Returns the node that compares an operand with constants.
    func node(_ operand: PredicateOperand, _ test: ValueTest) -> any PredicateNode {
        let quantifier = operand.quantifier ?? .any
        guard case .path(let path) = operand.form else {
            // A list of constants is compared with nothing here.
            guard let expression = operand.expression else { return ConstantNode(value: false) }
            let node = ExpressionTestNode(
                expression: expression, quantifier: quantifier, test: test)
            return operand.isConstant ? node.folded : node
        }
        if path.hops.isEmpty, case .value(let slot, let source) = path.terminal {
            return ColumnNode(slot: slot, source: source, test: test)
        }
        return PathNode(path: path, quantifier: quantifier, test: test)
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

    func value(
        ofArgument position: Int, _ range: Range<Int>
    ) throws(QueryFault) -> Value {
        guard position <= arguments.count else {
            let count = arguments.count
            let given =
                count == 0 ? "none was given" : count == 1 ? "1 was given" : "\(count) were given"
            throw QueryFault("there is no argument $\(position): \(given)", at: range)
        }
        return arguments[position - 1]
    }

    func argument(
        _ position: Int, _ range: Range<Int>
    ) throws(QueryFault) -> PredicateOperand {
        let value = try value(ofArgument: position, range)
        if case .list(let values) = value {
            // Lists and maps in the list are compared only with mixed values.
            let members = values.map {
                PredicateCompiler.constant($0) ?? (Scalar(mixed: $0), .value(.mixed))
            }
            return PredicateOperand(
                form: .list(members), type: .null, description: "a list", range: range)
        }
        guard let operand = PredicateCompiler.operand(value, range) else {
            throw QueryFault(
                "argument $\(position) is a \(value.typeName), which cannot be "
                    + "compared", at: range)
        }
        return operand
    }

    /// Returns a constant; nil for lists and dictionaries.
    private static func operand(_ value: Value, _ range: Range<Int>) -> PredicateOperand? {
        guard let (scalar, type) = constant(value) else { return nil }
        let name = value.typeName
        let vowels: [UInt8] = [UInt8(ascii: "a"), UInt8(ascii: "i"), UInt8(ascii: "o")]
        let article =
            name == "nil" ? "" : name.utf8.first.map(vowels.contains) == true ? "an " : "a "
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

extension PredicateCompiler {
    /// The state of a path while its components are compiled one by one.
    struct Walk {
        var components: [PropertyPath.Component] = []
        var hops: [CompiledPath.Hop] = []
        var terminal = CompiledPath.Terminal.object
        /// The class of the objects at the end of the path so far; nil after a value.
        var reached: ClassSchema?
        var description: String
        /// Whether the path contains `.@values`, after which a name is not a key of the map.
        var isEveryValue = false

        var isToMany: Bool { CompiledPath(hops: hops, terminal: terminal).isToMany }
        var last: Property? { components.last?.property }
    }

    /// Compiles one property, and returns the brackets after it that were not used.
    mutating func step(
        _ walk: inout Walk, _ component: PathSyntax.Component
    ) throws(QueryFault) -> ArraySlice<PathSyntax.Bracket> {
        guard let owner = walk.reached else {
            throw QueryFault(
                "\(walk.description) is \(walk.last?.typeName ?? "a value"), not a link, and has no"
                    + " property '\(component.name)'", at: component.range)
        }
        guard let property = owner.property(named: component.name) else {
            let hint =
                walk.components.isEmpty && component.name.lowercased() == "self"
                ? "; write the property without 'SELF.'"
                : NearestName.hint(for: component.name, among: owner.properties.map(\.name))
            throw QueryFault(
                "'\(owner.name)' has no property '\(component.name)'" + hint, at: component.range,
                isUnknownName: true)
        }
        walk.components.append(PropertyPath.Component(property, of: owner, in: schema))
        walk.description = "'\(owner.name).\(property.name)'"
        walk.reached = schema.target(of: property)
        if property.leadsToObjects {
            try hop(&walk, through: property, of: owner, at: component)
            return component.brackets.dropFirst()
        } else {
            let slot = slot(owner.table)
            let source = ColumnSource(property)
            if property.type == .mixed, property.collection == nil {
                walk.terminal = .value(slot: slot, source)
                return component.brackets[...]
            }
            if let position = try selectedElement(of: component, in: property, walk.description) {
                walk.terminal = .element(slot: slot, source, position)
            } else {
                walk.terminal =
                    property.collection != nil
                    ? .elements(slot: slot, source) : .value(slot: slot, source)
            }
            return component.brackets.dropFirst()
        }
    }

    /// Throws for brackets after a value without elements.
    func refuse(
        _ brackets: ArraySlice<PathSyntax.Bracket>, _ walk: Walk
    ) throws(QueryFault) {
        guard let bracket = brackets.first else { return }
        throw QueryFault(
            "an element of \(walk.description) cannot be indexed", at: bracket.range)
    }

    private mutating func hop(
        _ walk: inout Walk, through property: Property, of owner: ClassSchema,
        at component: PathSyntax.Component
    ) throws(QueryFault) {
        let range = component.range
        let position = try selectedElement(of: component, in: property, walk.description)
        guard walk.reached != nil else {
            throw QueryFault("\(walk.description) links to a class that does not exist", at: range)
        }
        if property.isBacklinks {
            guard let origin = walk.components.last?.origin else {
                throw QueryFault(
                    "\(walk.description) follows a link that does not exist", at: range)
            }
            let slot = slot(origin.table)
            let isMixed =
                schema.find(table: origin.table)?.property(in: origin.column)?.type == .mixed
            if let position {
                guard !isMixed else {
                    throw QueryFault(
                        "an element of \(walk.description) cannot be indexed", at: range)
                }
                walk.hops.append(.backlink(slot: slot, origin.column, position))
                return
            }
            walk.hops.append(
                isMixed
                    ? .holders(slot: slot, origin.column, target: owner.table)
                    : .backlinks(slot: slot, origin.column))
        } else if let position {
            walk.hops.append(.element(slot: slot(owner.table), property.column, position))
        } else if property.collection == .map {
            walk.hops.append(.entries(slot: slot(owner.table), property.column))
        } else if property.collection != nil {
            walk.hops.append(.list(slot: slot(owner.table), property.column))
        } else {
            walk.hops.append(.link(slot: slot(owner.table), property.column))
        }
    }

    /// Compiles `@links.Person.dogs`: the objects of another class that link to this one.
    mutating func stepBack(
        _ walk: inout Walk, _ syntax: PathSyntax, _ index: Int
    ) throws(QueryFault) {
        let start = syntax.components[index]
        guard let target = walk.reached else {
            throw QueryFault(
                "\(walk.description) is a value, which has no backlinks", at: start.range)
        }
        guard index + 2 < syntax.components.count, !syntax.components[index + 1].isAggregate,
            !syntax.components[index + 2].isAggregate
        else {
            throw QueryFault(
                "write '@links.Class.property', where property is the link to this class",
                at: start.range)
        }
        let className = syntax.components[index + 1]
        let propertyName = syntax.components[index + 2]
        if let bracket = className.bracket ?? propertyName.bracket {
            throw QueryFault("backlinks have no order; remove the brackets", at: bracket.range)
        }
        guard let source = schema.find(className.name) else {
            throw QueryFault(
                "there is no class '\(className.name)'"
                    + NearestName.hint(for: className.name, among: schema.classes.map(\.name)),
                at: className.range)
        }
        guard let link = source.property(named: propertyName.name) else {
            throw QueryFault(
                "'\(source.name)' has no property '\(propertyName.name)'"
                    + NearestName.hint(
                        for: propertyName.name, among: source.properties.map(\.name)),
                at: propertyName.range, isUnknownName: true)
        }
        guard link.type == .mixed || link.type == .object && link.target == target.name else {
            throw QueryFault(
                "'\(source.name).\(link.name)' does not link to '\(target.name)'",
                at: propertyName.range)
        }
        let property = Property(
            "@links.\(source.name).\(link.name)", .backlinks,
            origin: Property.Origin(className: source.name, property: link.name))
        walk.components.append(PropertyPath.Component(property, of: target, in: schema))
        walk.description = "'@links.\(source.name).\(link.name)'"
        walk.reached = source
        try hop(&walk, through: property, of: target, at: start)
    }
}

/// A path that is being compiled.
struct PathContext {
    var syntax: PathSyntax
    /// The range of the whole path in the text.
    let range: Range<Int>
    /// The objects that the path begins at.
    let scope: PredicateCompiler.Scope
}

extension PredicateCompiler {
    mutating func path(_ context: PathContext) throws(QueryFault) -> PredicateOperand {
        try checkVariable(in: context)
        var walk = Walk(
            reached: context.scope.classSchema, description: "'\(context.scope.classSchema.name)'")
        var index = isItself(context) ? 1 : 0
        while index < context.syntax.components.count {
            let component = context.syntax.components[index]
            if let key = key(component, after: walk) {
                walk.terminal = key
                index += 1
                if let base = mixedPath(walk), !component.brackets.isEmpty {
                    return try inside(walk, base, component.brackets[...], from: index, in: context)
                }
                try refuse(component.brackets[...], walk)
                continue
            }
            if let base = mixedPath(walk), !Self.concernsCollection(component, walk) {
                return try inside(walk, base, [], from: index, in: context)
            }
            guard component.isAggregate else {
                let brackets = try step(&walk, component)
                index += 1
                if let base = mixedPath(walk), !brackets.isEmpty {
                    return try inside(walk, base, brackets, from: index, in: context)
                }
                if case .size? = component.bracket?.form {
                    return try size(walk, at: index - 1, in: context)
                }
                try refuse(brackets, walk)
                continue
            }
            if let bracket = component.bracket {
                throw QueryFault("'@\(component.name)' has no elements", at: bracket.range)
            }
            switch component.name.lowercased() {
            case "links":
                let next = context.syntax.components.dropFirst(index + 1).first
                if next?.isAggregate == true, next?.name == "count" {
                    return try linkCount(walk, at: index, in: context)
                }
                try stepBack(&walk, context.syntax, index)
                index += 3
            case "count", "size":
                return try count(walk, at: index, in: context)
            case "sum", "min", "max", "avg":
                return try aggregate(walk, at: index, in: context)
            case "keys":
                return try keys(walk, at: index, in: context)
            case "values":
                // A path to a map refers to its values, but a name after the map would be a key.
                guard walk.last?.collection == .map else {
                    throw QueryFault(
                        "'@\(component.name)' needs a map before it; \(walk.description) is not one",
                        at: component.range)
                }
                walk.isEveryValue = true
                index += 1
            case "type":
                throw QueryFault(
                    "'@type' is for mixed values; \(walk.description) is "
                        + (walk.last?.typeName ?? "none"), at: component.range)
            default:
                let hint = NearestName.hint(
                    for: component.name,
                    among: [
                        "count", "size", "sum", "min", "max", "avg", "links", "keys", "values",
                        "type",
                    ])
                throw QueryFault(
                    "unknown operation '@\(component.name)'\(hint)", at: component.range)
            }
        }
        return try finish(walk, in: context)
    }

    /// Whether the path is `SELF`, the object itself.
    private func isItself(_ context: PathContext) -> Bool {
        guard context.syntax.components.count == 1, let component = context.syntax.components.first,
            !component.isAggregate, component.bracket == nil
        else { return false }
        return component.name.lowercased() == "self"
            && context.scope.classSchema.property(named: component.name) == nil
    }

    func checkVariable(in context: PathContext) throws(QueryFault) {
        if context.syntax.variable == context.scope.variable { return }
        if let variable = context.syntax.variable {
            throw QueryFault(
                context.scope.variable.map {
                    "unknown variable '$\(variable)'; only '$\($0)' can be used here"
                } ?? "unknown variable '$\(variable)'; arguments are numbered: $1, $2, …",
                at: context.range)
        }
        throw QueryFault(
            "inside the subquery a path begins with its variable: '$\(context.scope.variable ?? "").…'",
            at: context.range)
    }

    private mutating func finish(_ walk: Walk, in context: PathContext) throws(QueryFault)
        -> PredicateOperand
    {
        let type: OperandType
        var hops = walk.hops
        var terminal = walk.terminal
        if let reached = walk.reached {
            type = .object(reached.table)
            // The last link is read but not followed: `owner == nil` needs no owner.
            if case .link(let slot, _)? = hops.last, let link = walk.last {
                hops.removeLast()
                terminal = .value(slot: slot, ColumnSource(link))
            }
        } else {
            type = .value(walk.last?.type ?? .bool)
        }
        if !walk.components.isEmpty { depend(on: walk.components, in: context.scope) }
        var path = CompiledPath(
            hops: hops, terminal: terminal, isPartOfMany: context.scope.isPartOfMany)
        // A quantifier applies to the elements of a mixed value.
        if context.syntax.quantifier != nil, !path.isToMany { path = path.elementsOfMixed ?? path }
        try checkQuantifier(isToMany: path.isToMany, of: walk.description, in: context)
        let typeName = walk.last?.typeName ?? context.scope.classSchema.name
        return PredicateOperand(
            form: .path(path), type: type, description: "\(walk.description) (\(typeName))",
            range: context.range, quantifier: context.syntax.quantifier,
            isBacklinks: walk.last?.isBacklinks == true
                && context.syntax.components.last?.brackets.isEmpty != false,
            components: context.scope.prefix + walk.components)
    }

    func checkQuantifier(isToMany: Bool, of description: String, in context: PathContext)
        throws(QueryFault)
    {
        guard let quantifier = context.syntax.quantifier, !isToMany else { return }
        throw QueryFault(
            "'\(quantifier)' needs a list in the path; \(description) is reached without one",
            at: context.range)
    }
}
