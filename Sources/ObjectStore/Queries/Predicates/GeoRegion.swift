#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A place on the earth, in degrees.
struct GeoPoint: Hashable, Sendable {
    let longitude: Double
    let latitude: Double

    /// Creates a place; nil for a longitude outside -180 to 180 or a latitude outside -90 to 90.
    init?(longitude: Double, latitude: Double) {
        guard abs(longitude) <= 180, abs(latitude) <= 90 else { return nil }
        (self.longitude, self.latitude) = (longitude, latitude)
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
