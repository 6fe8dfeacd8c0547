/// An axis with a range and labeled ticks at round values.
struct Scale {
    struct Tick {
        var value: Double
        var label: String
    }

    let lower: Double
    let upper: Double
    private(set) var ticks: [Tick] = []

    /// Creates a scale for a range of values with at most about `count` ticks.
    ///
    /// An axis of numbers extends to the next tick on both sides; other axes end at the values.
    init(_ range: ClosedRange<Double>, kind: Plot.Kind, count: Int) {
        let count = max(2, count)
        switch kind {
        case .names(let names):
            (lower, upper) = (-0.5, Double(max(1, names.count)) - 0.5)
            let step = max(1, (names.count + count - 1) / count)
            ticks = stride(from: 0, to: names.count, by: step).map {
                Tick(value: Double($0), label: names[$0])
            }
        case .date:
            let isSingle = range.lowerBound == range.upperBound
            lower = isSingle ? range.lowerBound - 43_200 : range.lowerBound
            upper = isSingle ? range.upperBound + 43_200 : range.upperBound
            ticks = CivilTime.ticks(lower...upper, count: count)
        case .number, .integer:
            var (low, high) = (range.lowerBound, range.upperBound)
            if low == high { (low, high) = low == 0 ? (0, 1) : (min(0, low), max(0, high)) }
            var step = Self.step(low, high, count)
            if kind == .integer { step = max(1, step) }
            guard step > 0, step.isFinite, abs(low / step) < 1e15, abs(high / step) < 1e15 else {
                // There are no round values between numbers that are so close together or so large.
                (lower, upper) = (low, high)
                ticks = [low, high].map { Tick(value: $0, label: "\($0)") }
                return
            }
            let first = (low / step).rounded(.down)
            let last = (high / step).rounded(.up)
            // Rounding can exceed the range of floating-point numbers.
            lower = max(first * step, -.greatestFiniteMagnitude)
            upper = min(last * step, .greatestFiniteMagnitude)
            ticks = (0...Int(last - first)).map { index in
                let value = (first + Double(index)) * step
                return Tick(value: value, label: Self.label(value, step: step))
            }
        }
    }

    /// Returns the position of a value on the axis, between 0 and 1.
    func position(_ value: Double) -> Double {
        // The values are halved first, because the difference of two large numbers can be infinite.
        let span = upper / 2 - lower / 2
        return span > 0 ? min(max((value / 2 - lower / 2) / span, 0), 1) : 0.5
    }

    /// Returns a round distance between ticks: 1, 2 or 5 times a power of ten.
    private static func step(_ low: Double, _ high: Double, _ count: Int) -> Double {
        let raw = high / Double(count) - low / Double(count)
        guard raw > 0, raw.isFinite else { return 0 }
        var power = 1.0
        while power * 10 <= raw { power *= 10 }
        while power > raw, power > 1e-300 { power /= 10 }
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= raw } ?? power * 10
    }

    /// Returns a value with the decimal places that the step needs, and with thousands separators.
    static func label(_ value: Double, step: Double) -> String {
        if value == 0 { return "0" }
        if abs(value) >= 1e12 || step < 1e-6 { return "\(value)" }
        var decimals = 0
        var unit = step
        while decimals < 6, abs(unit - unit.rounded()) > unit * 1e-6 {
            unit *= 10
            decimals += 1
        }
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int64((abs(value) * scale).rounded())
        let divisor = Int64(scale)
        var digits = Array(String(scaled / divisor))
        var position = digits.count - 3
        while position > 0 {
            digits.insert(",", at: position)
            position -= 3
        }
        var text = (value < 0 ? "-" : "") + String(digits)
        if decimals > 0 {
            let fraction = String(scaled % divisor)
            text += "." + String(repeating: "0", count: decimals - fraction.count) + fraction
        }
        return text
    }
}
