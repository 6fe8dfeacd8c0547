import ColumnStorage

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
                if context.syntax.components.dropFirst(index + 1).first?.name == "count" {
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
            isBacklinks: walk.last?.isBacklinks ?? false,
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
