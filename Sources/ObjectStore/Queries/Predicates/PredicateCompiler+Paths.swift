import ColumnStorage

extension PredicateCompiler {
    /// Returns the element selected by brackets after a list, a set or a map; nil without brackets and for `[size]`.
    func selectedElement(
        of component: PathSyntax.Component, in property: Property, _ description: String
    ) throws(QueryFault) -> CompiledPath.ElementPosition? {
        guard let bracket = component.bracket else { return nil }
        let collection = property.isBacklinks ? .list : property.collection
        if case .every = bracket.form, collection != nil { return nil }
        guard let collection else {
            throw QueryFault(
                "\(description) is \(property.typeName), not a list, and has no elements",
                at: bracket.range)
        }
        let form = try form(of: bracket)
        switch (form, collection) {
        case (.size, _): return nil
        case (.key(let name), .map): return .key(Array(name.utf8))
        case (.first, .list), (.first, .set): return .index(0)
        case (.last, .list), (.last, .set): return .last
        case (.index(let index), .list), (.index(let index), .set):
            return try listPosition(index, bracket.range)
        default:
            let expected =
                collection == .map ? "a key such as ['name']" : "an index from 1, 'first' or 'last'"
            throw QueryFault(
                "use \(expected) for an element of \(description)", at: bracket.range)
        }
    }

    /// Returns the contents of brackets; for an argument, the index or key that was passed.
    func form(of bracket: PathSyntax.Bracket) throws(QueryFault) -> PathSyntax.Bracket.Form {
        guard case .argument(let position) = bracket.form else { return bracket.form }
        let given = try argument(position, bracket.range)
        return switch given.form {
        case .constant(.int(let index)): .index(index)
        case .constant(.bytes(let name)) where given.type == .value(.string):
            .key(String(decoding: name, as: UTF8.self))
        default: bracket.form
        }
    }

    /// Returns the value of `notes.food` in a map `notes` of values; nil for other components.
    func key(
        _ component: PathSyntax.Component, after walk: Walk
    ) -> CompiledPath.Terminal? {
        guard case .elements(let slot, let source) = walk.terminal, walk.last?.collection == .map,
            !component.isAggregate, !walk.isEveryValue
        else { return nil }
        return .element(slot: slot, source, .key(Array(component.name.utf8)))
    }

    /// Compiles `m.@keys`: the keys of a map, which are strings.
    mutating func keys(_ walk: Walk, at index: Int, in context: PathContext) throws(QueryFault)
        -> PredicateOperand
    {
        let sign = context.syntax.components[index]
        guard let (slot, column, hops) = mapColumn(of: walk) else {
            throw QueryFault(
                "'@\(sign.name)' needs a map before it; \(walk.description) is not one",
                at: sign.range
            )
        }
        depend(on: walk.components, in: context.scope)
        let path = CompiledPath(hops: hops, terminal: .keys(slot: slot, column))
        if index + 2 == context.syntax.components.count,
            context.syntax.components[index + 1].isAggregate,
            ["count", "size"].contains(context.syntax.components[index + 1].name.lowercased())
        {
            return PredicateOperand(
                form: .expression(CountExpression(paths: [path])), type: .value(.int),
                description: "a count", range: context.range)
        }
        guard index + 1 == context.syntax.components.count else {
            throw QueryFault(
                "only '@count' can follow '@\(sign.name)'",
                at: context.syntax.components[index + 1].range)
        }
        return PredicateOperand(
            form: .path(path), type: .value(.string), description: "a key of \(walk.description)",
            range: context.range, quantifier: context.syntax.quantifier)
    }

    /// Returns the map at the end of a path, and the path to its owner.
    private func mapColumn(
        of walk: Walk
    ) -> (slot: Int, column: ColumnID, hops: [CompiledPath.Hop])? {
        guard walk.last?.collection == .map else { return nil }
        if case .elements(let slot, let source) = walk.terminal {
            return (slot, source.column, walk.hops)
        }
        if case .entries(let slot, let column)? = walk.hops.last {
            return (slot, column, Array(walk.hops.dropLast()))
        }
        return nil
    }

    private func listPosition(
        _ index: Int64, _ range: Range<Int>
    ) throws(QueryFault) -> CompiledPath.ElementPosition {
        guard index >= 1 else {
            throw QueryFault("elements are counted from 1: the first is [1] or [first]", at: range)
        }
        return .index(Int(index - 1))
    }

    /// Compiles `items[size]`, which equals `items.@count`.
    mutating func size(
        _ walk: Walk, at index: Int, in context: PathContext
    ) throws(QueryFault) -> PredicateOperand {
        let components = context.syntax.components
        let range = components[index].bracket?.range ?? components[index].range
        var counted = context
        counted.syntax.components = Array(components[...index])
        counted.syntax.components.append(.init(name: "size", isAggregate: true, range: range))
        counted.syntax.components += components[(index + 1)...]
        return try count(walk, at: index + 1, in: counted)
    }
}

// Expressions that compute one value from many: `@count`, `@sum` and other operations, and subqueries.
extension PredicateCompiler {
    mutating func linkCount(_ walk: Walk, at index: Int, in context: PathContext) throws(QueryFault)
        -> PredicateOperand
    {
        guard let target = walk.reached, index + 2 == context.syntax.components.count else {
            throw QueryFault(
                "'@links.@count' must be the end of a path",
                at: context.syntax.components[index].range)
        }
        try checkQuantifier(isToMany: false, of: "a count", in: context)
        var paths: [CompiledPath] = []
        for link in schema.links(to: target.table) + schema.mixedProperties {
            let property = Property(
                "@links.\(link.classSchema.name).\(link.property.name)", .backlinks,
                origin: Property.Origin(
                    className: link.classSchema.name, property: link.property.name))
            depend(
                on: walk.components + [.init(property, of: target, in: schema)], in: context.scope)
            let slot = slot(link.classSchema.table)
            let last: CompiledPath.Hop =
                link.property.type == .mixed
                ? .holders(slot: slot, link.property.column, target: target.table)
                : .backlinks(slot: slot, link.property.column)
            paths.append(CompiledPath(hops: walk.hops + [last], terminal: .object))
        }
        return PredicateOperand(
            form: .expression(CountExpression(paths: paths)), type: .value(.int),
            description: "a count", range: context.range)
    }

    mutating func count(_ walk: Walk, at index: Int, in context: PathContext) throws(QueryFault)
        -> PredicateOperand
    {
        let sign = context.syntax.components[index]
        guard index + 1 == context.syntax.components.count else {
            throw QueryFault(
                "'@\(sign.name)' must be the end of a path",
                at: context.syntax.components[index + 1].range)
        }
        guard let last = walk.last else {
            throw QueryFault("'@\(sign.name)' needs a property before it", at: sign.range)
        }
        depend(on: walk.components, in: context.scope)
        if case .value(let slot, let source) = walk.terminal {
            guard last.type == .string || last.type == .data else {
                throw QueryFault(
                    "'@\(sign.name)' counts lists, links and the bytes of strings;"
                        + " \(walk.description) is \(last.typeName)", at: sign.range)
            }
            let path = CompiledPath(
                hops: walk.hops, terminal: .size(slot: slot, source.column))
            try checkQuantifier(isToMany: path.isToMany, of: walk.description, in: context)
            return PredicateOperand(
                form: .path(path), type: .value(.int), description: "a size", range: context.range,
                quantifier: context.syntax.quantifier)
        }
        if case .element = walk.terminal {
            throw QueryFault("\(walk.description) is one value here, not a list", at: sign.range)
        }
        try checkQuantifier(isToMany: false, of: "a count", in: context)
        let path = CompiledPath(hops: walk.hops, terminal: walk.terminal)
        return PredicateOperand(
            form: .expression(CountExpression(paths: [path])), type: .value(.int),
            description: "a count", range: context.range)
    }

    mutating func aggregate(_ start: Walk, at index: Int, in context: PathContext)
        throws(QueryFault) -> PredicateOperand
    {
        let sign = context.syntax.components[index]
        let name = sign.name.lowercased()
        guard let kind = AggregateKind(word: name), start.isToMany
        else {
            throw QueryFault(
                "'@\(sign.name)' needs a list before it; \(start.description) is not one",
                at: sign.range)
        }
        var walk = start
        for component in context.syntax.components[(index + 1)...] {
            guard !component.isAggregate else {
                throw QueryFault(
                    "'@\(component.name)' cannot follow '@\(sign.name)'", at: component.range)
            }
            try refuse(try step(&walk, component), walk)
            if walk.components.last?.isToMany == true {
                throw QueryFault(
                    "\(walk.description) is a list; '@\(sign.name)' needs one value of each element",
                    at: component.range)
            }
        }
        let isMoment = walk.last?.type == .date && kind.isExtreme
        guard walk.reached == nil, let last = walk.last,
            last.type.isNumeric || isMoment || last.type == .mixed
        else {
            throw QueryFault(
                walk.reached == nil
                    ? "'@\(sign.name)' needs numbers; \(walk.description) is \(walk.last?.typeName ?? "none")"
                    : "'@\(sign.name)' needs a property of '\(walk.reached?.name ?? "")' after it, "
                        + "as in '@\(sign.name).price'", at: sign.range)
        }
        try checkQuantifier(isToMany: false, of: "'@\(sign.name)'", in: context)
        depend(on: walk.components, in: context.scope)
        return PredicateOperand(
            AggregateExpression(
                kind: kind, path: CompiledPath(hops: walk.hops, terminal: walk.terminal),
                type: last.type),
            name: sign.name, range: context.range)
    }

    mutating func subquery(
        _ syntax: SubquerySyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        guard syntax.variable != scope.variable else {
            throw QueryFault(
                "the variable '$\(syntax.variable)' is already used by the enclosing subquery",
                at: range)
        }
        try checkVariable(
            in: PathContext(
                syntax: syntax.collection, range: syntax.collectionRange, scope: scope))
        var walk = Walk(reached: scope.classSchema, description: "'\(scope.classSchema.name)'")
        var index = 0
        while index < syntax.collection.components.count {
            let component = syntax.collection.components[index]
            if component.isAggregate, component.name.lowercased() == "links" {
                try stepBack(&walk, syntax.collection, index)
                index += 3
                continue
            }
            guard !component.isAggregate else {
                throw QueryFault(
                    "'@\(component.name)' is not a list of objects", at: component.range)
            }
            try refuse(try step(&walk, component), walk)
            index += 1
        }
        guard let element = walk.reached, walk.isToMany else {
            throw QueryFault(
                "a subquery needs a list of objects; \(walk.description) is not one",
                at: syntax.collectionRange)
        }
        depend(on: walk.components, in: scope)
        let inner = Scope(
            classSchema: element, variable: syntax.variable,
            prefix: scope.prefix + walk.components)
        let expression = SubqueryExpression(
            collection: CompiledPath(hops: walk.hops, terminal: .object),
            condition: try condition(syntax.condition, inner))
        return PredicateOperand(
            form: .expression(expression), type: .value(.int), description: "a count", range: range)
    }
}

// Paths into mixed values: `extra.key`, `extra['key']`, `extra[1]`, `extra[*]`, `extra.@type`, and further through
// links.
extension PredicateCompiler {
    /// The maximum number of links inside mixed values that one path follows.
    ///
    /// Each step may be a key of a map or a property of any class, so the number of paths multiplies.
    private static let maxLinkedPaths = 1000
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
            linkedPaths = min(linkedPaths, Self.maxLinkedPaths) + 1
            if context.scope.linksInside >= Self.deepestLinkedPath {
                linkedPaths = Self.maxLinkedPaths + 1
            }
            guard linkedPaths <= Self.maxLinkedPaths else {
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
                guard linkedPaths <= Self.maxLinkedPaths else { throw error }
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
            AggregateExpression(
                kind: kind, path: CompiledPath(hops: walk.hops, terminal: .mixed(path)),
                type: .mixed),
            name: sign.name, range: context.range)
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
