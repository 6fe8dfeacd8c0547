import ColumnStorage

// Paths into mixed values: `extra.key`, `extra['key']`, `extra[1]`, `extra[*]`, `extra.@type`, and further through
// links.
extension PredicateCompiler {
    /// The maximum number of links inside mixed values that one path follows.
    ///
    /// Each step may be a key of a map or a property of any class, so the number of paths multiplies.
    private static let mostLinkedPaths = 1000
    private static let deepestLinkedPath = 12

    /// Returns the path into mixed values that begins here; nil if the path has not reached mixed values.
    func mixedPath(_ walk: Walk) -> MixedPath? {
        walk.last?.type == .mixed ? walk.terminal.inside : nil
    }

    /// Returns whether a component after a collection of mixed values applies to the collection, not to its values.
    static func concernsCollection(_ component: PathSyntax.Component, _ walk: Walk) -> Bool {
        guard component.isAggregate, case .elements = walk.terminal else { return false }
        return component.name.lowercased() != "type"
    }

    /// Compiles a path inside mixed values: `brackets` are the brackets after the property, `start` is the first
    /// component after them.
    mutating func inside(
        _ walk: Walk, _ base: MixedPath, _ brackets: ArraySlice<PathSyntax.Bracket>,
        from start: Int, in context: PathContext
    ) throws(QueryFault) -> PredicateOperand {
        var path = base
        depend(on: walk.components, in: context.scope)
        for bracket in brackets { path.steps.append(try step(to: bracket)) }
        var index = start
        while index < context.syntax.components.count {
            let component = context.syntax.components[index]
            index += 1
            guard component.isAggregate else {
                path.steps.append(try name(component, walk, path, at: index - 1, in: context))
                for bracket in component.brackets { path.steps.append(try step(to: bracket)) }
                continue
            }
            let name = component.name.lowercased()
            if let bracket = component.bracket, name != "values" {
                throw QueryFault("'@\(component.name)' has no elements", at: bracket.range)
            }
            switch name {
            case "values":
                path.steps.append(.elements)
                for bracket in component.brackets { path.steps.append(try step(to: bracket)) }
                continue
            case "keys":
                path.steps.append(.keys)
                if index < context.syntax.components.count,
                    ["count", "size"].contains(context.syntax.components[index].name.lowercased())
                {
                    guard index + 1 == context.syntax.components.count else {
                        throw QueryFault(
                            "a count must be the end of a path",
                            at: context.syntax.components[index + 1].range)
                    }
                    try checkQuantifier(isToMany: false, of: "a count", in: context)
                    let keys = CompiledPath(hops: walk.hops, terminal: .mixed(path))
                    return PredicateOperand(
                        form: .expression(CountExpression(paths: [keys])), type: .value(.int),
                        description: "a count", range: context.range)
                }
            case "count", "size": path.steps.append(.count)
            case "type": path.steps.append(.type)
            case "sum", "min", "max", "avg":
                return try aggregate(walk, path, at: index - 1, in: context)
            default:
                let known = ["type", "count", "size", "keys", "values", "sum", "min", "max", "avg"]
                throw QueryFault(
                    "'@\(component.name)' is not valid inside a mixed value"
                        + NearestName.hint(for: component.name, among: known), at: component.range)
            }
            if index < context.syntax.components.count {
                throw QueryFault(
                    "'@\(component.name)' must be the end of a path",
                    at: context.syntax.components[index].range)
            }
        }
        return try operand(path, walk, in: context)
    }

    private func operand(_ inside: MixedPath, _ walk: Walk, in context: PathContext)
        throws(QueryFault) -> PredicateOperand
    {
        let ends = inside.steps.dropLast().contains { [.count, .keys, .type].contains($0) }
        guard !ends else {
            throw QueryFault(
                "a count, a key or a type must be the end of a path", at: context.range)
        }
        var path = CompiledPath(
            hops: walk.hops, terminal: .mixed(inside), isPartOfMany: context.scope.isPartOfMany)
        // A quantifier applies to the elements, at any position.
        if context.syntax.quantifier != nil, !path.isToMany, inside.isMixed {
            path = path.elementsOfMixed ?? path
        }
        try checkQuantifier(isToMany: path.isToMany, of: walk.description, in: context)
        let type: PropertyType
        let description: String
        switch inside.steps.last {
        case .keys: (type, description) = (.string, "a key in \(walk.description)")
        case .count: (type, description) = (.int, "a count")
        case .type: (type, description) = (.string, "the type of a mixed value")
        default: (type, description) = (.mixed, "the content of \(walk.description) (mixed)")
        }
        return PredicateOperand(
            form: .path(path), type: .value(type), description: description, range: context.range,
            quantifier: context.syntax.quantifier,
            components: context.scope.prefix + walk.components,
            isTypeName: inside.steps.last == .type)
    }

    private func step(to bracket: PathSyntax.Bracket) throws(QueryFault) -> MixedPath.Step {
        let form = try form(of: bracket)
        switch form {
        case .index(let index):
            guard index >= 1 else {
                throw QueryFault(
                    "elements are counted from 1: the first is [1] or [first]", at: bracket.range)
            }
            return .index(Int(index - 1))
        case .first: return .index(0)
        case .last: return .last
        case .size: return .count
        case .every: return .elements
        case .key(let key): return .key(TextKey(key))
        case .argument:
            throw QueryFault(
                "expected an index from 1, a key, 'first', 'last', 'size' or * in brackets after a mixed value",
                at: bracket.range)
        }
    }

    /// Compiles a name inside a mixed value: a key of a map, and a property of linked objects.
    private mutating func name(
        _ component: PathSyntax.Component, _ walk: Walk, _ inside: MixedPath, at index: Int,
        in context: PathContext
    ) throws(QueryFault) -> MixedPath.Step {
        let isPartOfMany =
            context.scope.isPartOfMany
            || CompiledPath(hops: walk.hops, terminal: .mixed(inside)).isToMany
        var targets: [TableID: LinkedPaths.Target] = [:]
        guard let last = walk.components.last else { return .key(TextKey(component.name)) }
        var rest = context.syntax
        rest.quantifier = nil
        rest.components = Array(context.syntax.components[index...])
        for classSchema in schema.classes
        where !classSchema.isEmbedded && classSchema.property(named: component.name) != nil {
            linkedPaths = min(linkedPaths, Self.mostLinkedPaths) + 1
            if context.scope.linksInside >= Self.deepestLinkedPath {
                linkedPaths = Self.mostLinkedPaths + 1
            }
            guard linkedPaths <= Self.mostLinkedPaths else {
                throw QueryFault(
                    "this path can go through links inside mixed values in too many ways; write the keys of maps "
                        + "in brackets: ['\(component.name)']", at: component.range)
            }
            var inner = Scope(
                classSchema: classSchema, variable: context.scope.variable,
                prefix: context.scope.prefix + walk.components.dropLast()
                    + [last.leading(to: classSchema)])
            inner.linksInside = context.scope.linksInside + 1
            inner.isPartOfMany = isPartOfMany
            do {
                let operand = try path(
                    PathContext(syntax: rest, range: context.range, scope: inner))
                guard let expression = operand.expression else { continue }
                targets[classSchema.table] = .init(expression: expression, type: operand.type)
            } catch {
                // The rest is not valid for this class, whose objects have no value there.
                guard linkedPaths <= Self.mostLinkedPaths else { throw error }
            }
        }
        let name = TextKey(component.name)
        return targets.isEmpty ? .key(name) : .name(name, LinkedPaths(targets))
    }

    /// Compiles an aggregate of the numbers among the elements: `extra.@sum`, `extra.scores.@max`, `extra.@sum.price`.
    private mutating func aggregate(
        _ walk: Walk, _ inside: MixedPath, at index: Int, in context: PathContext
    ) throws(QueryFault) -> PredicateOperand {
        let sign = context.syntax.components[index]
        guard let kind = AggregateKind(word: sign.name.lowercased()) else {
            throw QueryFault("unknown operation '@\(sign.name)'", at: sign.range)
        }
        var path = inside
        if !path.isToMany { path.steps.append(.elements) }
        for (position, component) in context.syntax.components.enumerated().dropFirst(index + 1) {
            guard !component.isAggregate else {
                throw QueryFault(
                    "'@\(component.name)' cannot follow '@\(sign.name)'", at: component.range)
            }
            path.steps.append(try name(component, walk, path, at: position, in: context))
            for bracket in component.brackets { path.steps.append(try step(to: bracket)) }
        }
        try checkQuantifier(isToMany: false, of: "'@\(sign.name)'", in: context)
        return PredicateOperand(
            form: .expression(
                AggregateExpression(
                    kind: kind,
                    path: CompiledPath(hops: walk.hops, terminal: .mixed(path)), numbersOnly: true)),
            type: .value(.double), description: "'@\(sign.name)'", range: context.range)
    }
}

extension PredicateCompiler {
    /// Compiles a comparison of types: `extra.@type == 'int'`, `extra.@type in {'string', 'Dog'}`.
    func typeTest(
        _ left: PredicateOperand, _ right: PredicateOperand, _ syntax: ComparisonSyntax
    ) throws(QueryFault) -> any PredicateNode {
        let operands = left.isTypeName ? (left, right) : (right, left)
        let (path, names) = operands
        guard case .path = path.form, !syntax.ignoresCase, !syntax.ignoresDiacritics
        else { throw typeFault(syntax) }
        var members: [Scalar]
        switch (names.form, syntax.comparison) {
        case (.constant(let name), .equal), (.constant(let name), .notEqual): members = [name]
        case (.list(let list), .memberOf) where left.isTypeName: members = list.map(\.value)
        default: throw typeFault(syntax)
        }
        var codes: Set<Int64> = []
        for member in members {
            switch member {
            case .null: codes.insert(MixedType.null)
            case .bytes(let bytes):
                let name = String(decoding: bytes, as: UTF8.self)
                guard let found = MixedType.codes(named: name, in: schema) else {
                    throw QueryFault(
                        "'\(name)' is neither a type nor a class"
                            + NearestName.hint(for: name, among: MixedType.known(in: schema)),
                        at: names.range)
                }
                codes.formUnion(found)
            default: throw typeFault(syntax)
            }
        }
        if syntax.comparison == .notEqual {
            codes = Set(MixedType.all(in: schema)).subtracting(codes)
        }
        return node(
            path,
            ValueTest(
                form: .intIn(IntSet(Array(codes))), matchesNull: codes.contains(MixedType.null)))
    }

    private func typeFault(_ syntax: ComparisonSyntax) -> QueryFault {
        QueryFault(
            "'@type' is compared with names of types: @type == 'int', @type != 'string', @type in {'list', 'map'}",
            at: syntax.operatorRange)
    }

    /// Compares a mixed value that is a list with a list of constants; nil for other operands.
    func wholeList(
        _ path: PredicateOperand, _ members: [(value: Scalar, type: OperandType)],
        _ operation: PredicateOperator
    ) -> (any PredicateNode)? {
        guard path.type.isMixed, path.quantifier == nil, !path.isToMany, operation == .equal,
            case .path = path.form
        else { return nil }
        return node(path, Self.equal(to: members))
    }

    /// Returns the test for a mixed value that is a list of the given values.
    static func equal(to members: [(value: Scalar, type: OperandType)]) -> ValueTest {
        if members.contains(where: { isBetweenMicroseconds($0.value, $0.type) }) {
            return ValueTest(form: .never, matchesNull: false)
        }
        let values = members.map { Scalar(mixed: $0.value, $0.type).value }
        return ValueTest(form: .compare(.equal, .mixed(.list(values))), matchesNull: false)
    }
}

extension CompiledPath {
    /// The path to every element of the lists and maps in the mixed values; nil for other paths.
    var elementsOfMixed: CompiledPath? {
        if case .elements = terminal { return nil }
        guard isMixed, var inside = terminal.inside else { return nil }
        inside.steps.append(.elements)
        return CompiledPath(hops: hops, terminal: .mixed(inside))
    }
}

extension CompiledPath.Terminal {
    /// The path into the mixed values at the end, or that begins there; nil for other ends.
    fileprivate var inside: MixedPath? {
        switch self {
        case .mixed(let inside): inside
        case .value(let slot, let source):
            MixedPath(slot: slot, column: source.column, base: .value, steps: [])
        case .elements(let slot, let source):
            MixedPath(slot: slot, column: source.column, base: .elements, steps: [])
        case .element(let slot, let source, let position):
            MixedPath(slot: slot, column: source.column, base: .element(position), steps: [])
        default: nil
        }
    }
}
