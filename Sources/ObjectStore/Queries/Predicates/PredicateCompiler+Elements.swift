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
