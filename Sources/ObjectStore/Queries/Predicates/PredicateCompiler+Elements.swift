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
        let path = CompiledPath(hops: walk.hops, terminal: walk.terminal)
        let type: PropertyType =
            last.type != .mixed && (kind.isExtreme || last.type == .decimal)
            ? last.type : .double
        return PredicateOperand(
            form: .expression(
                AggregateExpression(
                    kind: kind, path: path, numbersOnly: last.type == .mixed)),
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

/// A test whether a place is in a region.
struct GeoNode: RowPredicateNode {
    /// Where the coordinates of a place are read.
    struct Place {
        let longitude: any PredicateExpression
        let latitude: any PredicateExpression
        /// The type of the place, which must be `Point`; nil if it has none.
        let type: (any PredicateExpression)?
    }

    /// The possible places of a row; the first with coordinates counts.
    let places: [Place]
    let region: GeoRegion

    var cost: Int { 20 + places.reduce(0) { $0 + $1.longitude.cost + $1.latitude.cost } }

    func matches(_ tables: BoundTables, _ key: ObjectKey) throws -> Bool {
        for place in places {
            guard let longitude = try place.longitude.value(tables, key).double,
                let latitude = try place.latitude.value(tables, key).double
            else { continue }
            if let type = place.type, try type.value(tables, key) != .bytes(Array("Point".utf8)) {
                return false
            }
            return GeoPoint(longitude: longitude, latitude: latitude).map(region.contains) ?? false
        }
        return false
    }
}

// `geoWithin`, for places in embedded objects, maps and mixed values.
extension PredicateCompiler {
    mutating func geoWithin(
        _ geo: GeoSyntax, _ scope: Scope
    ) throws(QueryFault) -> any PredicateNode {
        GeoNode(places: try places(geo.place, scope), region: try region(geo, scope))
    }

    /// Compiles the left side of `geoWithin` to the paths of its coordinates.
    mutating func places(
        _ syntax: PredicateSyntax, _ scope: Scope
    ) throws(QueryFault) -> [GeoNode.Place] {
        let operand = try operand(syntax, scope)
        guard case .path(let path) = syntax.form, !operand.isConstant else {
            throw QueryFault(
                "'geoWithin' tests a place, not \(operand.description)", at: syntax.range)
        }
        let last = operand.components.last?.property
        let isMap = last?.collection == .map && path.components.last?.brackets.isEmpty == true
        guard isMap || operand.quantifier == nil && operand.expression?.isToMany != true else {
            throw QueryFault(
                "'geoWithin' tests one place; for a collection, write subquery(places, $p, $p geoWithin …).@count > 0",
                at: syntax.range)
        }
        let context = PathContext(syntax: path, range: syntax.range, scope: scope)
        if isMap, last?.type != .object {
            return [
                GeoNode.Place(
                    longitude: try inside(context, key: "longitude"),
                    latitude: try inside(context, key: "latitude"), type: nil)
            ]
        }
        switch operand.type {
        case .object(let table):
            guard let place = schema.find(table: table) else { break }
            if let coordinates = place.property(named: "coordinates"),
                coordinates.collection == .list,
                coordinates.type.isNumeric || coordinates.type == .mixed
            {
                let type = place.property(named: "type")
                return [
                    GeoNode.Place(
                        longitude: try inside(context, "coordinates", index: 1),
                        latitude: try inside(context, "coordinates", index: 2),
                        type: type?.type == .string && type?.isSingle == true
                            ? try inside(context, "type") : nil)
                ]
            }
            let names = ["longitude", "latitude"]
            let numbers = names.compactMap(place.property(named:)).filter {
                $0.isSingle && $0.type.isNumeric
            }
            guard numbers.count == 2 else {
                throw QueryFault(
                    "'\(place.name)' is not a place: it needs 'coordinates' (a list of longitude and latitude), or the "
                        + "numbers 'longitude' and 'latitude'", at: syntax.range)
            }
            return [
                GeoNode.Place(
                    longitude: try inside(context, "longitude"),
                    latitude: try inside(context, "latitude"), type: nil)
            ]
        case .value(.mixed):
            return [
                GeoNode.Place(
                    longitude: try inside(context, "coordinates", index: 1),
                    latitude: try inside(context, "coordinates", index: 2),
                    type: try inside(context, "type")),
                GeoNode.Place(
                    longitude: try inside(context, "longitude"),
                    latitude: try inside(context, "latitude"), type: nil),
            ]
        default: break
        }
        throw QueryFault(
            "\(operand.description) is not a place: a place is an embedded object with 'coordinates', or a map with "
                + "'longitude' and 'latitude'", at: syntax.range)
    }

    /// Returns a path that continues another one by a name, and by an index counted from 1.
    private mutating func inside(
        _ context: PathContext, _ name: String, index: Int64? = nil
    ) throws(QueryFault) -> any PredicateExpression {
        var context = context
        context.syntax.components.append(
            .init(
                name: name, isAggregate: false, range: context.range,
                brackets: index.map { [.init(form: .index($0), range: context.range)] } ?? []))
        return try read(context)
    }

    /// Returns a path that continues another one by the key of a map.
    private mutating func inside(
        _ context: PathContext, key: String
    ) throws(QueryFault) -> any PredicateExpression {
        var context = context
        let last = context.syntax.components.count - 1
        context.syntax.components[last].brackets.append(
            .init(form: .key(key), range: context.range))
        return try read(context)
    }

    private mutating func read(_ context: PathContext) throws(QueryFault) -> any PredicateExpression
    {
        let operand = try path(context)
        guard let expression = operand.expression, !expression.isToMany else {
            throw QueryFault("\(operand.description) is not one number", at: context.range)
        }
        return expression
    }

    /// Compiles the shape on the right side of `geoWithin`.
    private mutating func region(
        _ geo: GeoSyntax, _ scope: Scope
    ) throws(QueryFault) -> GeoRegion {
        switch geo.shape {
        case .box(let first, let second):
            let (low, high) = (try point(first, scope), try point(second, scope))
            guard low.latitude <= high.latitude else {
                throw QueryFault(
                    "the first corner of geoBox is the southwestern one, the second the northeastern one",
                    at: geo.shapeRange)
            }
            return .box(low, high)
        case .circle(let center, let radius):
            let length = try number(radius, "the radius, in radians", scope)
            guard length >= 0 else {
                throw QueryFault("the radius cannot be negative", at: radius.range)
            }
            return .circle(try point(center, scope).vector, radius: length)
        case .polygon(let loops):
            var closed: [GeoLoop] = []
            for loop in loops {
                var points: [GeoPoint] = []
                for corner in loop { points.append(try point(corner, scope)) }
                guard let made = GeoLoop(points) else {
                    throw QueryFault(
                        "a loop of geoPolygon needs at least three different places",
                        at: loop[0].range)
                }
                closed.append(made)
            }
            return .polygon(closed)
        }
    }

    private mutating func point(
        _ point: GeoSyntax.Point, _ scope: Scope
    ) throws(QueryFault) -> GeoPoint {
        let longitude = try number(point.longitude, "the longitude", scope)
        let latitude = try number(point.latitude, "the latitude", scope)
        guard let place = GeoPoint(longitude: longitude, latitude: latitude) else {
            throw QueryFault(
                "a place is [longitude, latitude], from -180 to 180 and from -90 to 90 degrees",
                at: point.range)
        }
        return place
    }

    private mutating func number(
        _ syntax: PredicateSyntax, _ purpose: String, _ scope: Scope
    ) throws(QueryFault) -> Double {
        let operand = try operand(syntax, scope)
        guard case .constant(let value) = operand.form, let number = value.double, number.isFinite
        else {
            throw QueryFault(
                "\(purpose) must be a number, got \(operand.description)", at: syntax.range)
        }
        return number
    }
}
