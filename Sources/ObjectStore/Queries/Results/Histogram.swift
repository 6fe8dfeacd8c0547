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
        if let (store, _) = source.tracked { try store.noteRead(of: query, path: path) }
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
        guard let least = numbers.min(), let greatest = numbers.max() else { return [] }
        if let counts = countedBySingleValue(numbers) {
            return counts.sorted { $0.key < $1.key }.map { number, count in
                Histogram.Bar(lower: value(number), upper: value(number), count: count)
            }
        }
        let width = width(least, greatest)
        let first = (least / width).rounded(.down)
        let last = (greatest / width).rounded(.down)
        // Numbers that are too close for round numbers between them share a bar.
        guard width > 0, first.isFinite, last - first < Double(limit + 2), first < last else {
            return [
                Histogram.Bar(lower: value(least), upper: value(greatest), count: numbers.count)
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
    private func width(_ least: Double, _ greatest: Double) -> Double {
        // The difference is not divided, because it can be infinite.
        let raw = greatest / Double(limit) - least / Double(limit)
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
