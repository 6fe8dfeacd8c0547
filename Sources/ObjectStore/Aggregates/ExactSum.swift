/// A sum of doubles to which values can be added and removed again without rounding errors.
///
/// The sum is kept as a few doubles whose bits do not overlap (Shewchuk's expansion), so that adding a value and
/// removing it again restores the previous sum. `value` is rounded once. A sum has at most about forty parts, usually
/// one to three.
struct ExactSum {
    private var small = Expansion()
    /// The values above 2^900, scaled down so that their sum does not overflow.
    private var large = Expansion()
    private var infinities = 0
    private var negativeInfinities = 0
    private var notNumbers = 0

    private static let threshold = 0x1p900
    private static let scale = 0x1p200

    /// Adds a value.
    mutating func add(_ number: Double) { change(number, by: 1) }

    /// Removes a value that was added.
    mutating func remove(_ number: Double) { change(number, by: -1) }

    private mutating func change(_ number: Double, by count: Int) {
        if number.isNaN {
            notNumbers += count
        } else if number.isInfinite {
            if number > 0 { infinities += count } else { negativeInfinities += count }
        } else if number.magnitude < Self.threshold {
            small.add(count > 0 ? number : -number)
        } else {
            large.add((count > 0 ? number : -number) / Self.scale)
        }
    }

    /// The sum, rounded to the nearest double.
    var value: Double {
        if notNumbers > 0 || (infinities > 0 && negativeInfinities > 0) { return .nan }
        if infinities > 0 { return .infinity }
        if negativeInfinities > 0 { return -.infinity }
        return large.isEmpty ? small.value : large.value * Self.scale + small.value
    }
}

/// Doubles in ascending order of magnitude whose bits do not overlap.
private struct Expansion {
    private var parts: [Double] = []

    var isEmpty: Bool { parts.isEmpty }

    mutating func add(_ number: Double) {
        var rest = number
        var count = 0
        for index in parts.indices {
            var part = parts[index]
            if rest.magnitude < part.magnitude { swap(&rest, &part) }
            let sum = rest + part
            let error = part - (sum - rest)
            if error != 0 {
                parts[count] = error
                count += 1
            }
            rest = sum
        }
        parts.removeSubrange(count...)
        if rest != 0 { parts.append(rest) }
    }

    /// The sum of the parts, added from the greatest down, so that only the last addition rounds.
    var value: Double {
        guard var sum = parts.last else { return 0 }
        var index = parts.count - 1
        var error = 0.0
        while index > 0 {
            index -= 1
            let before = sum
            sum = before + parts[index]
            error = parts[index] - (sum - before)
            if error != 0 { break }
        }
        // The next lower part breaks a tie.
        if index > 0, (error < 0) == (parts[index - 1] < 0), error != 0 {
            let twice = error * 2
            let rounded = sum + twice
            if twice == rounded - sum { sum = rounded }
        }
        return sum
    }
}
