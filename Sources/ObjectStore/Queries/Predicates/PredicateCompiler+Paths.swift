import ColumnStorage

extension PredicateCompiler {
    mutating func path(
        _ syntax: PathSyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
        try checkVariable(syntax, range, scope)
        var walk = Walk(reached: scope.classSchema, description: "'\(scope.classSchema.name)'")
        var index = 0
        while index < syntax.components.count {
            let component = syntax.components[index]
            if let key = key(component, after: walk) {
                walk.terminal = key
                index += 1
                if let base = mixedPath(walk), !component.brackets.isEmpty {
                    return try inside(
                        walk, base, component.brackets[...], syntax, from: index, range, scope)
                }
                try refuse(component.brackets[...], walk)
                continue
            }
            if let base = mixedPath(walk), !Self.concernsCollection(component, walk) {
                return try inside(walk, base, [], syntax, from: index, range, scope)
            }
            guard component.isAggregate else {
                let brackets = try step(&walk, component)
                index += 1
                if let base = mixedPath(walk), !brackets.isEmpty {
                    return try inside(walk, base, brackets, syntax, from: index, range, scope)
                }
                if case .size? = component.bracket?.form {
                    return try size(walk, syntax, index - 1, scope)
                }
                try refuse(brackets, walk)
                continue
            }
            if let bracket = component.bracket {
                throw QueryFault("'@\(component.name)' has no elements", at: bracket.range)
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
        return try finish(walk, syntax, range, scope)
    }

    func checkVariable(
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

    private mutating func finish(
        _ walk: Walk, _ syntax: PathSyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> PredicateOperand {
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
        if !walk.components.isEmpty { depend(on: walk.components, in: scope) }
        var path = CompiledPath(
            hops: hops, terminal: terminal, isPartOfMany: scope.isPartOfMany)
        // A quantifier applies to the elements of a mixed value.
        if syntax.quantifier != nil, !path.isToMany { path = path.elementsOfMixed ?? path }
        try checkQuantifier(syntax, path.isToMany, walk.description, range)
        let typeName = walk.last?.typeName ?? scope.classSchema.name
        return PredicateOperand(
            form: .path(path), type: type, description: "\(walk.description) (\(typeName))",
            range: range, quantifier: syntax.quantifier,
            isBacklinks: walk.last?.isBacklinks ?? false,
            components: scope.prefix + walk.components)
    }

    func checkQuantifier(
        _ syntax: PathSyntax, _ isToMany: Bool, _ description: String, _ range: Range<Int>
    ) throws(QueryFault) {
        guard let quantifier = syntax.quantifier, !isToMany else { return }
        throw QueryFault(
            "'\(quantifier)' needs a list in the path; \(description) is reached without one",
            at: range)
    }
}
