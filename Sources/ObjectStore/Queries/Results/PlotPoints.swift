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
    package static let maxPlotNames = 50

    /// Reads two properties of each object, and optionally one to group by.
    ///
    /// Takes one read for each object and property. Throws `unknown_property` for an unknown path, and `invalid_query`
    /// for lists, for types that have no position on an axis, and for more than ``maxPlotNames`` texts or groups.
    package func plotPoints(x: String, y: String, group: String?) throws -> PlotPoints {
        let horizontal = try axis(x)
        let vertical = try axis(y)
        let grouping = try group.map { try axis($0, isGroup: true) }
        if let (store, _) = source.tracked {
            for path in [x, y] + [group].compactMap(\.self) {
                try store.recordRead(of: query, path: path)
            }
        }
        var points = PlotPoints(
            x: PlotPoints.Axis(type: horizontal.type), y: PlotPoints.Axis(type: vertical.type))
        var groups: [TextKey?: [(x: Double, y: Double)]] = [:]
        for key in try keys() {
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
        guard texts.count < Results.maxPlotNames else {
            throw StoreError(
                .invalidQuery,
                "'\(path)' has more than \(Results.maxPlotNames) different values; count them with group_by or histogram"
            )
        }
        indexes[TextKey(text)] = texts.count
        texts.append(text)
        assert(indexes.count == texts.count, "each text has an index")
        return texts.count - 1
    }
}

/// The frequencies of the values of a property.
package struct Histogram: Sendable, Equatable {
    /// A range of values, or one value, and the number of objects with these values.
    package struct Bar: Sendable, Equatable {
        /// The lowest value of the range.
        package let lower: Value
        /// The beginning of the next range; for a single value, the same as `lower`.
        package let upper: Value
        /// The number of objects with a value in the range.
        package let count: Int
    }

    /// The ranges in order, without gaps; for texts and Boolean values, the most frequent ones.
    package internal(set) var bars: [Bar] = []
    /// The number of objects whose texts are not in a bar.
    package internal(set) var others = 0
    /// The number of objects without a value, or with a number that is not finite.
    package internal(set) var missing = 0
}

extension Results {
    /// Counts how often the values of a property occur.
    ///
    /// Numbers and dates are counted in about `bars` ranges with round bounds, or by single value if there are no more
    /// than `bars` distinct values. For texts, the `bars` most frequent ones are counted. Reads every object. Throws
    /// `unknown_property`, and `invalid_query` for a list or a type without a meaningful order.
    package func histogram(_ path: String, bars: Int = 10) throws -> Histogram {
        let (values, compiled) = try read(path, for: "a histogram")
        let type = compiled.type
        if let (store, _) = source.tracked { try store.recordRead(of: query, path: path) }
        let bars = max(1, min(bars, 1_000))
        switch type {
        case .int, .float, .double, .decimal, .date, .mixed:
            var histogram = Histogram()
            var numbers: [Double] = []
            for key in try keys() {
                if let number = try values.value(key).double, number.isFinite {
                    numbers.append(number)
                } else {
                    histogram.missing += 1
                }
            }
            histogram.bars = NumberBars(type: type, limit: bars).bars(of: numbers)
            return histogram
        case .string, .bool:
            var histogram = Histogram()
            var counts: [Scalar: Int] = [:]
            for key in try keys() {
                let value = try values.value(key)
                if value == .null || value == .nothing {
                    histogram.missing += 1
                } else {
                    counts[value, default: 0] += 1
                }
            }
            let found = counts.sorted { a, b in
                a.value != b.value ? a.value > b.value : (Scalar.order(a.key, b.key) ?? 0) < 0
            }
            histogram.bars = found.prefix(bars).map { scalar, count in
                let value = Self.text(scalar)
                return Histogram.Bar(lower: value, upper: value, count: count)
            }
            histogram.others = found.dropFirst(bars).reduce(0) { $0 + $1.value }
            return histogram
        default:
            throw StoreError(
                .invalidQuery,
                "'\(path)' is \(type.rawValue); a histogram needs numbers, dates, strings or bools")
        }
    }

    private static func text(_ scalar: Scalar) -> Value {
        switch scalar {
        case .bool(let flag): .bool(flag)
        case .bytes(let bytes): .string(String(decoding: bytes, as: UTF8.self))
        default: .null
        }
    }
}

/// The ranges of round numbers for a histogram.
private struct NumberBars {
    let type: PropertyType
    let limit: Int

    private static let second = 1e6
    private static let day = 86_400 * second
    /// Usual time spans, in microseconds.
    private static let spans =
        [
            1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200,
        ].map { $0 * second } + [1, 2, 7, 14, 28, 91, 182, 364].map { $0 * day }

    func bars(of numbers: [Double]) -> [Histogram.Bar] {
        guard let minimum = numbers.min(), let greatest = numbers.max() else { return [] }
        if let counts = countedBySingleValue(numbers) {
            return counts.sorted { $0.key < $1.key }.map { number, count in
                Histogram.Bar(lower: value(number), upper: value(number), count: count)
            }
        }
        let width = width(minimum, greatest)
        let first = (minimum / width).rounded(.down)
        let last = (greatest / width).rounded(.down)
        // Numbers that are too close for round numbers between them share a bar.
        guard width > 0, first.isFinite, last - first < Double(limit + 2), first < last else {
            return [
                Histogram.Bar(lower: value(minimum), upper: value(greatest), count: numbers.count)
            ]
        }
        var counts = [Int](repeating: 0, count: Int(last - first) + 1)
        for number in numbers {
            let position = (number / width).rounded(.down) - first
            counts[Int(max(0, min(position, Double(counts.count - 1))))] += 1
        }
        return counts.enumerated().map { index, count in
            Histogram.Bar(
                lower: value((first + Double(index)) * width),
                upper: value((first + Double(index + 1)) * width), count: count)
        }
    }

    /// Returns how often each value occurs; nil if there are more values than the limit.
    private func countedBySingleValue(_ numbers: [Double]) -> [Double: Int]? {
        var counts: [Double: Int] = [:]
        for number in numbers {
            counts[number, default: 0] += 1
            if counts.count > limit { return nil }
        }
        return counts
    }

    /// Returns a round width with which the number of bars does not exceed the limit.
    private func width(_ minimum: Double, _ greatest: Double) -> Double {
        // The difference is not divided, because it can be infinite.
        let raw = greatest / Double(limit) - minimum / Double(limit)
        if type == .date, let span = Self.spans.first(where: { $0 >= raw }) { return span }
        var power = 1.0
        while power * 10 <= raw { power *= 10 }
        while power > raw, power > 0 { power /= 10 }
        let width = [1, 2, 5, 10].map { $0 * power }.first { $0 >= raw } ?? power * 10
        return type == .int ? max(1, width.rounded(.up)) : width
    }

    private func value(_ number: Double) -> Value {
        let whole = Int64(exactly: number.rounded())
        switch type {
        case .date: return whole.map { .date(Timestamp(microseconds: $0)) } ?? .double(number)
        case .int, .mixed:
            return whole.flatMap { Double($0) == number ? .int($0) : nil } ?? .double(number)
        default: return .double(number)
        }
    }
}
