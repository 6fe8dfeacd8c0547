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
