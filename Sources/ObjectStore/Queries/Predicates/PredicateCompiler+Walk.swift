import ColumnStorage

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
