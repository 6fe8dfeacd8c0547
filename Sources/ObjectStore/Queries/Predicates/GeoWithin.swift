#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A test of a place: `location geoWithin geoCircle([lon, lat], radius)`.
struct GeoSyntax {
    /// A place in brackets: `[longitude, latitude]`.
    struct Point {
        let longitude: PredicateSyntax
        let latitude: PredicateSyntax
        let range: Range<Int>
    }

    enum Shape {
        case box(Point, Point)
        case circle(Point, radius: PredicateSyntax)
        case polygon([[Point]])
        /// The shape is in an argument of the query, counted from 1.
        case argument(Int)
    }

    let place: PredicateSyntax
    let shape: Shape
    let shapeRange: Range<Int>
}

extension Value {
    fileprivate var double: Double? { number.flatMap { Scalar($0).double } }
}

extension PredicateParser {
    static let geoShapes = ["geoBox", "geoCircle", "geoPolygon"]

    /// Parses the shape after `geoWithin`, as Realm writes it.
    mutating func parseGeoWithin(
        _ place: PredicateSyntax, from start: QueryToken
    ) throws(QueryFault) -> PredicateSyntax {
        advance()
        let word = current
        if case .argument(let position) = word.kind {
            advance()
            let geo = GeoSyntax(
                place: place, shape: .argument(position), shapeRange: range(from: word))
            return PredicateSyntax(form: .geoWithin(geo), range: range(from: start))
        }
        guard case .name(let name) = word.kind, next.isSymbol("("),
            let shape = Self.geoShapes.first(where: { $0.lowercased() == name.lowercased() })
        else {
            throw QueryFault(
                "expected geoBox([lon, lat], [lon, lat]), geoCircle([lon, lat], radius), "
                    + "geoPolygon({[lon, lat], …}) or an argument such as $1 after 'geoWithin', got \(word.description)",
                at: word.range)
        }
        advance()
        advance()
        let form: GeoSyntax.Shape
        switch shape {
        case "geoBox":
            let low = try parseGeoPoint()
            try expect(",", "between the corners of the box")
            form = .box(low, try parseGeoPoint())
        case "geoCircle":
            let center = try parseGeoPoint()
            try expect(",", "between the center and the radius")
            form = .circle(center, radius: try parseSum())
        default:
            var loops: [[GeoSyntax.Point]] = []
            repeat {
                try expect("{", "to open a loop of places")
                var loop: [GeoSyntax.Point] = []
                repeat { loop.append(try parseGeoPoint()) } while takeSymbol(",")
                try expect("}", "to close the loop")
                loops.append(loop)
            } while takeSymbol(",")
            form = .polygon(loops)
        }
        try expect(")", "to close '\(shape)('")
        let geo = GeoSyntax(place: place, shape: form, shapeRange: range(from: word))
        return PredicateSyntax(form: .geoWithin(geo), range: range(from: start))
    }

    /// Parses `[longitude, latitude]`; a third number, the altitude, is ignored.
    private mutating func parseGeoPoint() throws(QueryFault) -> GeoSyntax.Point {
        let start = current
        try expect("[", "to open a place: [longitude, latitude]")
        let longitude = try parseSum()
        try expect(",", "between longitude and latitude")
        let latitude = try parseSum()
        if takeSymbol(",") { _ = try parseSum() }
        try expect("]", "to close the place")
        return GeoSyntax.Point(
            longitude: longitude, latitude: latitude, range: range(from: start))
    }
}

/// A place on the earth, in degrees.
struct GeoPoint: Hashable, Sendable {
    let longitude: Double
    let latitude: Double

    /// Creates a place; nil for a longitude outside -180 to 180 or a latitude outside -90 to 90.
    init?(longitude: Double, latitude: Double) {
        guard abs(longitude) <= 180, abs(latitude) <= 90 else { return nil }
        (self.longitude, self.latitude) = (longitude, latitude)
    }

    /// Creates a place from a latitude and a longitude; nil for another value.
    init?(_ value: Value) {
        guard case .list(let degrees) = value, degrees.count == 2,
            let latitude = degrees[0].double, let longitude = degrees[1].double
        else { return nil }
        self.init(longitude: longitude, latitude: latitude)
    }

    /// Returns the places of a list; nil for another value.
    static func list(_ value: Value?) -> [GeoPoint]? {
        guard case .list(let values)? = value else { return nil }
        let places = values.compactMap(GeoPoint.init)
        return places.count == values.count ? places : nil
    }

    /// The place on the unit sphere.
    var vector: SIMD3<Double> {
        let (east, north) = (longitude * .pi / 180, latitude * .pi / 180)
        return [cos(north) * cos(east), cos(north) * sin(east), sin(north)]
    }
}

/// A region of the earth, which is taken as a sphere.
enum GeoRegion: Sendable {
    /// The places between two latitudes and from the first longitude eastward to the second.
    case box(GeoPoint, GeoPoint)
    /// The places whose angular distance from the center is at most the radius, in radians.
    case circle(SIMD3<Double>, radius: Double)
    /// The places inside the first loop and outside all others.
    case polygon([GeoLoop])

    /// The radius of the earth in meters, as in Realm.
    private static let earth = 6_378_100.0

    /// Creates a region from its parts, in which a place is a latitude and a longitude and a radius has meters; nil for
    /// other parts, and for parts that are not a region.
    init?(_ parts: ValueMap) {
        func loops(_ value: Value?) -> [GeoLoop]? {
            guard case .list(let loops)? = value else { return nil }
            let closed = loops.compactMap { loop in GeoPoint.list(loop).flatMap(GeoLoop.init) }
            return closed.count == loops.count ? closed : nil
        }
        switch Set(parts.keys) {
        case ["circle", "radius"]:
            guard let center = parts["circle"].flatMap(GeoPoint.init),
                let meters = parts["radius"]?.double, meters >= 0, meters.isFinite
            else { return nil }
            self = .circle(center.vector, radius: meters / Self.earth)
        case ["box"]:
            guard let corners = GeoPoint.list(parts["box"]), corners.count == 2,
                corners[0].latitude <= corners[1].latitude
            else { return nil }
            self = .box(corners[0], corners[1])
        case ["polygon"], ["polygon", "holes"]:
            guard let outer = GeoPoint.list(parts["polygon"]).flatMap(GeoLoop.init),
                let holes = loops(parts["holes"] ?? .list([]))
            else { return nil }
            self = .polygon([outer] + holes)
        default: return nil
        }
    }

    /// Returns whether a place is in the region.
    func contains(_ place: GeoPoint) -> Bool {
        switch self {
        case .box(let low, let high):
            guard (low.latitude...high.latitude).contains(place.latitude) else { return false }
            let (west, east) = (low.longitude, high.longitude)
            return west <= east
                ? (west...east).contains(place.longitude)
                : place.longitude >= west || place.longitude <= east
        case .circle(let center, let radius):
            return center.angle(to: place.vector) <= radius
        case .polygon(let loops):
            let vector = place.vector
            return loops[0].contains(vector)
                && !loops.dropFirst().contains { $0.contains(vector) }
        }
    }
}

/// A closed line of great-circle arcs, which encloses the smaller of the two parts of the sphere.
struct GeoLoop: Sendable {
    /// The corners, counterclockwise around the inside.
    private let corners: [SIMD3<Double>]

    /// Creates a loop; the last place may repeat the first.
    ///
    /// Returns nil for less than three different places.
    init?(_ places: [GeoPoint]) {
        var places = places
        if places.count > 1, places.first == places.last { places.removeLast() }
        guard Set(places).count >= 3 else { return nil }
        let vectors = places.map(\.vector)
        // The sum of the signed areas of triangles is the area to the left of the loop, up to whole spheres.
        var area = 0.0
        for index in 1..<vectors.count - 1 {
            let (a, b, c) = (vectors[0], vectors[index], vectors[index + 1])
            area += 2 * atan2(a.dot(b.cross(c)), 1 + a.dot(b) + b.dot(c) + c.dot(a))
        }
        area = area.truncatingRemainder(dividingBy: 4 * .pi)
        if area < 0 { area += 4 * .pi }
        corners = area <= 2 * .pi ? vectors : vectors.reversed()
    }

    /// Returns whether the loop encloses a place, or the place is one of its corners.
    func contains(_ place: SIMD3<Double>) -> Bool {
        // Seen from a place inside, the corners turn once counterclockwise; from outside, not at all or clockwise.
        let axis: SIMD3<Double> = abs(place.z) < 0.9 ? [0, 0, 1] : [1, 0, 0]
        let east = axis.cross(place)
        let north = place.cross(east)
        func direction(_ corner: SIMD3<Double>) -> (x: Double, y: Double) {
            (corner.dot(east), corner.dot(north))
        }
        var turn = 0.0
        var last = direction(corners[corners.count - 1])
        for corner in corners {
            if corner == place { return true }
            let next = direction(corner)
            turn += atan2(last.x * next.y - last.y * next.x, last.x * next.x + last.y * next.y)
            last = next
        }
        return turn > .pi
    }
}

extension SIMD3<Double> {
    fileprivate func dot(_ other: Self) -> Double { (self * other).sum() }

    fileprivate func cross(_ other: Self) -> Self {
        [
            y * other.z - z * other.y, z * other.x - x * other.z, x * other.y - y * other.x,
        ]
    }

    /// Returns the angle between two unit vectors.
    fileprivate func angle(to other: Self) -> Double {
        let normal = cross(other)
        return atan2(normal.dot(normal).squareRoot(), dot(other))
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
        case .argument(let position):
            let value = try value(ofArgument: position, geo.shapeRange)
            guard case .dictionary(let parts) = value, let region = GeoRegion(parts) else {
                throw QueryFault(
                    "argument $\(position) is not a region: { circle = { latitude, longitude }, radius = meters }, "
                        + "{ box = { southwest, northeast } } or { polygon = { places }, holes = { polygons } }",
                    at: geo.shapeRange)
            }
            return region
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
                guard let created = GeoLoop(points) else {
                    throw QueryFault(
                        "a loop of geoPolygon needs at least three different places",
                        at: loop[0].range)
                }
                closed.append(created)
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
