import ColumnStorage

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
        guard let operation = AggregateOperation(rawValue: name), start.isToMany
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
        let isMoment =
            walk.last?.type == .date && (operation == .minimum || operation == .maximum)
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
        let path = CompiledPath(hops: walk.hops, terminal: walk.terminal)
        let type: PropertyType =
            last.type != .mixed
                && (operation == .minimum || operation == .maximum || last.type == .decimal)
            ? last.type : .double
        return PredicateOperand(
            form: .expression(
                AggregateExpression(
                    operation: operation, path: path, numbersOnly: last.type == .mixed)),
            type: .value(type), description: "'@\(sign.name)'", range: context.range)
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
