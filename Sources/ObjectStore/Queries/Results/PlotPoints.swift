/// The values of two properties of each object, for a scatter plot.
package struct PlotPoints: Sendable {
    /// An axis: the type of its property and, for texts, the texts whose indexes are the coordinates.
    package struct Axis: Sendable, Equatable {
        /// The type of the property.
        package let type: PropertyType
        /// The texts in order; empty for numbers and dates.
        package internal(set) var texts: [String] = []
    }

    /// The points of the objects that share a value of the grouping property.
    package struct Group: Sendable {
        /// The shared value; nil without a grouping property.
        package let name: String?
        /// The coordinates; dates are seconds since 1970.
        package internal(set) var points: [(x: Double, y: Double)] = []
    }

    /// The horizontal axis.
    package internal(set) var x: Axis
    /// The vertical axis.
    package internal(set) var y: Axis
    /// The groups, the largest first.
    package internal(set) var groups: [Group] = []
    /// The number of objects without a value, or with a number that is not finite.
    package internal(set) var missing = 0
}

extension Results {
    /// The maximum number of groups, and of texts on an axis.
    package static let mostPlotNames = 50

    /// Reads two properties of each object, and optionally one to group by.
    ///
    /// Takes one read for each object and property. Throws `unknown_property` for an unknown path, and `invalid_query`
    /// for lists, for types that have no position on an axis, and for more than ``mostPlotNames`` texts or groups.
    package func plotPoints(x: String, y: String, group: String?) throws -> PlotPoints {
        let horizontal = try axis(x)
        let vertical = try axis(y)
        let grouping = try group.map { try axis($0, isGroup: true) }
        if let (store, _) = source.tracked {
            for path in [x, y] + [group].compactMap(\.self) {
                try store.noteRead(of: query, path: path)
            }
        }
        var points = PlotPoints(
            x: PlotPoints.Axis(type: horizontal.type), y: PlotPoints.Axis(type: vertical.type))
        var groups: [TextKey?: [(x: Double, y: Double)]] = [:]
        for key in try keys() {
            try StoreError.step()
            guard let px = try horizontal.number(key), let py = try vertical.number(key) else {
                points.missing += 1
                continue
            }
            let name = try grouping.map { TextKey(try $0.text(key)) }
            groups[name, default: []].append((px, py))
        }
        points.x.texts = horizontal.texts
        points.y.texts = vertical.texts
        points.groups = groups.map { PlotPoints.Group(name: $0.key?.text, points: $0.value) }.sorted
        {
            $0.points.count != $1.points.count
                ? $0.points.count > $1.points.count : ($0.name ?? "") < ($1.name ?? "")
        }
        return points
    }

    private func axis(_ path: String, isGroup: Bool = false) throws -> PlotAxisReader {
        let (values, compiled) = try read(path, for: "a plot")
        let type = compiled.type
        switch type {
        case .int, .float, .double, .decimal, .date, .mixed, .string, .bool: break
        default:
            guard isGroup, type != .data, type != .object else {
                throw StoreError(
                    .invalidQuery,
                    "'\(path)' is \(type.rawValue); a plot needs numbers, dates, strings or bools")
            }
        }
        return PlotAxisReader(path: path, type: type) { try values.value($0) }
    }
}

/// Reads the coordinate of one axis.
private final class PlotAxisReader {
    let path: String
    let type: PropertyType
    private(set) var texts: [String] = []
    private var indexes: [TextKey: Int] = [:]
    private let value: (ObjectKey) throws -> Scalar

    init(path: String, type: PropertyType, value: @escaping (ObjectKey) throws -> Scalar) {
        self.path = path
        self.type = type
        self.value = value
    }

    /// Returns the position on the axis; nil for an object without a value.
    func number(_ key: ObjectKey) throws -> Double? {
        let scalar = try value(key)
        if let number = scalar.double {
            guard number.isFinite else { return nil }
            return type == .date ? number / 1e6 : number
        }
        switch scalar {
        case .bool(let flag): return Double(try index(of: flag ? "true" : "false"))
        case .bytes(let bytes): return Double(try index(of: String(decoding: bytes, as: UTF8.self)))
        default: return nil
        }
    }

    /// Returns the value as text, for the name of a group.
    func text(_ key: ObjectKey) throws -> String {
        let value = try value(key).value(of: type)
        let text = value.text ?? value.summary
        _ = try index(of: text)
        return text
    }

    private func index(of text: String) throws -> Int {
        if let index = indexes[TextKey(text)] { return index }
        guard texts.count < Results.mostPlotNames else {
            throw StoreError(
                .invalidQuery,
                "'\(path)' has more than \(Results.mostPlotNames) different values; count them with group_by or histogram"
            )
        }
        indexes[TextKey(text)] = texts.count
        texts.append(text)
        return texts.count - 1
    }
}
