import ColumnStorage

extension PredicateCompiler {
    /// A path while it is followed from one component to the next.
    struct Walk {
        var components: [PropertyPath.Component] = []
        var hops: [CompiledPath.Hop] = []
        var terminal = CompiledPath.Terminal.object
        /// The class of the objects that the path has reached; nil behind a value.
        var reached: ClassSchema?
        var description: String

        var isToMany: Bool { CompiledPath(hops: hops, terminal: terminal).isToMany }
        var last: Property? { components.last?.property }
    }

    mutating func path(
        _ syntax: PathSyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        try checkVariable(syntax, range, scope)
        var walk = Walk(reached: scope.classSchema, description: "'\(scope.classSchema.name)'")
        var index = 0
        while index < syntax.components.count {
            let component = syntax.components[index]
            guard component.isAggregate else {
                try step(&walk, component)
                if case .size? = component.place?.form {
                    return try size(walk, syntax, index, scope)
                }
                index += 1
                continue
            }
            if let place = component.place {
                throw QueryFault("'@\(component.name)' has no elements", at: place.range)
            }
            switch component.name.lowercased() {
            case "links":
                if syntax.components.dropFirst(index + 1).first?.name == "count" {
                    return try linkCount(walk, syntax, index, range, scope)
                }
                try stepBack(&walk, syntax, index)
                index += 3
            case "count", "size":
                return try count(walk, syntax, index, range, scope)
            case "sum", "min", "max", "avg":
                return try aggregate(walk, syntax, index, range, scope)
            case "keys":
                return try keys(walk, syntax, index, range, scope)
            case "values":
                // The values of a map are what a path to it means anyway.
                guard walk.last?.collection == .map else {
                    throw QueryFault(
                        "'@\(component.name)' needs a map before it; \(walk.description) is none",
                        at: component.range)
                }
                index += 1
            default:
                let hint = NearestName.hint(
                    for: component.name,
                    among: [
                        "count", "size", "sum", "min", "max", "avg", "links", "keys", "values",
                    ])
                throw QueryFault(
                    "unknown operation '@\(component.name)'\(hint)", at: component.range)
            }
        }
        return try finish(walk, syntax, range, scope)
    }

    private func checkVariable(
        _ syntax: PathSyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) {
        if syntax.variable == scope.variable { return }
        if let variable = syntax.variable {
            throw QueryFault(
                scope.variable.map {
                    "unknown variable '$\(variable)'; only '$\($0)' can be used here"
                } ?? "unknown variable '$\(variable)'; arguments are numbered: $1, $2, …",
                at: range)
        }
        throw QueryFault(
            "inside the subquery a path begins with its variable: '$\(scope.variable ?? "").…'",
            at: range)
    }

    /// Follows one property.
    private mutating func step(
        _ walk: inout Walk, _ component: PathSyntax.Component
    ) throws(QueryFault) {
        guard let owner = walk.reached else {
            throw QueryFault(
                "\(walk.description) is \(walk.last?.typeName ?? "a value"), not a link, and has no"
                    + " property '\(component.name)'", at: component.range)
        }
        guard let property = owner.property(named: component.name) else {
            throw QueryFault(
                "'\(owner.name)' has no property '\(component.name)'"
                    + NearestName.hint(for: component.name, among: owner.properties.map(\.name)),
                at: component.range)
        }
        walk.components.append(PropertyPath.Component(property, of: owner, in: schema))
        walk.description = "'\(owner.name).\(property.name)'"
        walk.reached = schema.target(of: property)
        if property.leadsToObjects {
            try hop(&walk, property, owner, component)
        } else {
            let slot = slot(owner.table)
            let source = ColumnSource(property)
            if let place = try place(of: component, in: property, walk.description) {
                walk.terminal = .element(slot: slot, source, place)
            } else {
                walk.terminal =
                    property.collection != nil
                    ? .elements(slot: slot, source) : .value(slot: slot, source)
            }
        }
    }

    private mutating func hop(
        _ walk: inout Walk, _ property: Property, _ owner: ClassSchema,
        _ component: PathSyntax.Component
    ) throws(QueryFault) {
        let range = component.range
        let place = try place(of: component, in: property, walk.description)
        guard walk.reached != nil else {
            throw QueryFault("\(walk.description) leads to a class that does not exist", at: range)
        }
        if property.isBacklinks {
            guard let origin = walk.components.last?.origin else {
                throw QueryFault(
                    "\(walk.description) follows a link that does not exist", at: range)
            }
            walk.hops.append(.backlinks(slot: slot(origin.table), origin.column))
        } else if let place {
            walk.hops.append(.element(slot: slot(owner.table), property.column, place))
        } else if property.collection != nil {
            walk.hops.append(.list(slot: slot(owner.table), property.column))
        } else {
            walk.hops.append(.link(slot: slot(owner.table), property.column))
        }
    }

    /// Follows `@links.Person.dogs`: the links of another class, backwards.
    private mutating func stepBack(
        _ walk: inout Walk, _ syntax: PathSyntax, _ index: Int
    ) throws(QueryFault) {
        let start = syntax.components[index]
        guard let target = walk.reached else {
            throw QueryFault("\(walk.description) is a value; nothing links to it", at: start.range)
        }
        guard index + 2 < syntax.components.count, !syntax.components[index + 1].isAggregate,
            !syntax.components[index + 2].isAggregate
        else {
            throw QueryFault(
                "write '@links.Class.property', the property whose links lead here",
                at: start.range)
        }
        let className = syntax.components[index + 1]
        let propertyName = syntax.components[index + 2]
        if let place = className.place ?? propertyName.place {
            throw QueryFault("what links here has no order to take an element by", at: place.range)
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
                at: propertyName.range)
        }
        guard link.type == .object, link.target == target.name else {
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
        try hop(&walk, property, target, start)
    }

    private mutating func finish(
        _ walk: Walk, _ syntax: PathSyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        let type: OperandType
        var hops = walk.hops
        var terminal = walk.terminal
        if let reached = walk.reached {
            type = .object(reached.table)
            // The last link is read, not followed: `owner == nil` needs no owner.
            if case .link(let slot, _)? = hops.last, let link = walk.last {
                hops.removeLast()
                terminal = .value(slot: slot, ColumnSource(link))
            }
        } else {
            type = .value(walk.last?.type ?? .bool)
        }
        if !walk.components.isEmpty { depend(on: walk.components, in: scope) }
        let path = CompiledPath(hops: hops, terminal: terminal)
        try checkQuantifier(syntax, path.isToMany, walk.description, range)
        let typeName = walk.last?.typeName ?? scope.classSchema.name
        return PredicateOperand(
            form: .path(path), type: type, description: "\(walk.description) (\(typeName))",
            range: range, quantifier: syntax.quantifier,
            isBacklinks: walk.last?.isBacklinks ?? false,
            components: scope.prefix + walk.components)
    }

    private func checkQuantifier(
        _ syntax: PathSyntax, _ isToMany: Bool, _ description: String, _ range: Range<Int>
    ) throws(QueryFault) {
        guard let quantifier = syntax.quantifier, !isToMany else { return }
        throw QueryFault(
            "'\(quantifier)' needs a list in the path; \(description) is reached without one",
            at: range)
    }

    private mutating func linkCount(
        _ walk: Walk, _ syntax: PathSyntax, _ index: Int, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        guard let target = walk.reached, index + 2 == syntax.components.count else {
            throw QueryFault(
                "'@links.@count' counts the links to an object and ends the path",
                at: syntax.components[index].range)
        }
        try checkQuantifier(syntax, false, "a count", range)
        var paths: [CompiledPath] = []
        for link in schema.links(to: target.table) + schema.mixedProperties {
            let property = Property(
                "@links.\(link.classSchema.name).\(link.property.name)", .backlinks,
                origin: Property.Origin(
                    className: link.classSchema.name, property: link.property.name))
            depend(
                on: walk.components + [.init(property, of: target, in: schema)], in: scope)
            let slot = slot(link.classSchema.table)
            let last: CompiledPath.Hop =
                link.property.type == .mixed
                ? .holders(slot: slot, link.property.column, target: target.table)
                : .backlinks(slot: slot, link.property.column)
            paths.append(CompiledPath(hops: walk.hops + [last], terminal: .object))
        }
        return PredicateOperand(
            form: .expression(CountExpression(paths: paths)), type: .value(.int),
            description: "a count", range: range)
    }

    mutating func count(
        _ walk: Walk, _ syntax: PathSyntax, _ index: Int, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        let sign = syntax.components[index]
        guard index + 1 == syntax.components.count else {
            throw QueryFault(
                "nothing can follow '@\(sign.name)'", at: syntax.components[index + 1].range)
        }
        guard let last = walk.last else {
            throw QueryFault("'@\(sign.name)' needs a property before it", at: sign.range)
        }
        depend(on: walk.components, in: scope)
        if case .value(let slot, let source) = walk.terminal {
            guard last.type == .string || last.type == .data else {
                throw QueryFault(
                    "'@\(sign.name)' counts lists, links and the bytes of strings;"
                        + " \(walk.description) is \(last.typeName)", at: sign.range)
            }
            let path = CompiledPath(
                hops: walk.hops, terminal: .size(slot: slot, source.column))
            try checkQuantifier(syntax, path.isToMany, walk.description, range)
            return PredicateOperand(
                form: .path(path), type: .value(.int), description: "a size", range: range,
                quantifier: syntax.quantifier)
        }
        if case .element = walk.terminal {
            throw QueryFault("\(walk.description) is one value here, not a list", at: sign.range)
        }
        try checkQuantifier(syntax, false, "a count", range)
        let path = CompiledPath(hops: walk.hops, terminal: walk.terminal)
        return PredicateOperand(
            form: .expression(CountExpression(paths: [path])), type: .value(.int),
            description: "a count", range: range)
    }

    private mutating func aggregate(
        _ start: Walk, _ syntax: PathSyntax, _ index: Int, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        let sign = syntax.components[index]
        let name = sign.name.lowercased()
        guard let operation = AggregateOperation(rawValue: name), start.isToMany
        else {
            throw QueryFault(
                "'@\(sign.name)' needs a list before it; \(start.description) is none",
                at: sign.range)
        }
        var walk = start
        for component in syntax.components[(index + 1)...] {
            guard !component.isAggregate else {
                throw QueryFault(
                    "'@\(component.name)' cannot follow '@\(sign.name)'", at: component.range)
            }
            try step(&walk, component)
            if walk.components.last?.isToMany == true {
                throw QueryFault(
                    "\(walk.description) is a list; '@\(sign.name)' needs one value of each element",
                    at: component.range)
            }
        }
        let isMoment =
            walk.last?.type == .date && (operation == .minimum || operation == .maximum)
        guard walk.reached == nil, let last = walk.last, last.type.isNumeric || isMoment else {
            throw QueryFault(
                walk.reached == nil
                    ? "'@\(sign.name)' needs numbers; \(walk.description) is \(walk.last?.typeName ?? "none")"
                    : "'@\(sign.name)' needs a property of '\(walk.reached?.name ?? "")' after it, "
                        + "as in '@\(sign.name).price'", at: sign.range)
        }
        try checkQuantifier(syntax, false, "'@\(sign.name)'", range)
        depend(on: walk.components, in: scope)
        let path = CompiledPath(hops: walk.hops, terminal: walk.terminal)
        let type: PropertyType =
            operation == .minimum || operation == .maximum || last.type == .decimal
            ? last.type : .double
        return PredicateOperand(
            form: .expression(AggregateExpression(operation: operation, path: path)),
            type: .value(type), description: "'@\(sign.name)'", range: range)
    }

    mutating func subquery(
        _ syntax: SubquerySyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        guard syntax.variable != scope.variable else {
            throw QueryFault(
                "the variable '$\(syntax.variable)' is taken by the subquery around this one",
                at: range)
        }
        try checkVariable(syntax.collection, syntax.collectionRange, scope)
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
                    "'@\(component.name)' is no list of objects", at: component.range)
            }
            try step(&walk, component)
            index += 1
        }
        guard let element = walk.reached, walk.isToMany else {
            throw QueryFault(
                "a subquery needs a list of objects; \(walk.description) is none",
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
