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
    }

    let place: PredicateSyntax
    let shape: Shape
    let shapeRange: Range<Int>

    /// The numbers of the shape.
    var numbers: [PredicateSyntax] {
        let points: [Point]
        var others: [PredicateSyntax] = []
        switch shape {
        case .box(let low, let high): points = [low, high]
        case .circle(let center, let radius): (points, others) = ([center], [radius])
        case .polygon(let loops): points = loops.flatMap(\.self)
        }
        return points.flatMap { [$0.longitude, $0.latitude] } + others
    }
}

extension PredicateParser {
    static let geoShapes = ["geoBox", "geoCircle", "geoPolygon"]

    /// Parses the shape after `geoWithin`, as Realm writes it.
    mutating func parseGeoWithin(
        _ place: PredicateSyntax, from start: QueryToken
    ) throws(QueryFault) -> PredicateSyntax {
        advance()
        let word = current
        guard case .name(let name) = word.kind, next.isSymbol("("),
            let shape = Self.geoShapes.first(where: { $0.lowercased() == name.lowercased() })
        else {
            throw QueryFault(
                "expected geoBox([lon, lat], [lon, lat]), geoCircle([lon, lat], radius) or "
                    + "geoPolygon({[lon, lat], …}) after 'geoWithin', got \(word.description)",
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
