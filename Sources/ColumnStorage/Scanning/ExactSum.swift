/// The exact sum of doubles, rounded only when it is read.
///
/// The sum does not depend on the order of the values, and removing a value restores the sum without it. It is kept as
/// a few doubles whose bits do not overlap (Shewchuk's expansion): at most about forty, usually one to three.
package struct ExactSum: Sendable {
    private var small = Expansion()
    /// The values above 2^900, scaled down so that their sum does not overflow.
    private var large = Expansion()
    private var infinities = 0
    private var negativeInfinities = 0
    private var notNumbers = 0

    private static let threshold = 0x1p900
    private static let scale = 0x1p200

    package init() {}

    /// Adds a value.
    package mutating func add(_ number: Double) { change(number, by: 1) }

    /// Adds all values of another sum.
    package mutating func add(_ other: ExactSum) {
        small.add(other.small)
        large.add(other.large)
        infinities += other.infinities
        negativeInfinities += other.negativeInfinities
        notNumbers += other.notNumbers
    }

    /// Adds a value, or removes one that was added if `count` is -1.
    package mutating func change(_ number: Double, by count: Int) {
        if number.magnitude < Self.threshold {
            small.add(count > 0 ? number : -number)
        } else if number.isNaN {
            notNumbers += count
        } else if number.isInfinite {
            if number > 0 { infinities += count } else { negativeInfinities += count }
        } else {
            large.add((count > 0 ? number : -number) / Self.scale)
        }
    }

    /// The sum, rounded to the nearest double.
    package var value: Double {
        if notNumbers > 0 || (infinities > 0 && negativeInfinities > 0) { return .nan }
        if infinities > 0 { return .infinity }
        if negativeInfinities > 0 { return -.infinity }
        return large.isEmpty ? small.value : large.value * Self.scale + small.value
    }
}

/// Doubles in ascending order of magnitude whose bits do not overlap.
private struct Expansion {
    /// The parts except for the greatest, which needs no allocation.
    private var rest: [Double] = []
    private var greatest = 0.0

    var isEmpty: Bool { greatest == 0 && rest.isEmpty }

    mutating func add(_ number: Double) {
        var carried = number
        var count = 0
        for index in rest.indices {
            let (sum, error) = Self.sum(carried, rest[index])
            if error != 0 {
                rest[count] = error
                count += 1
            }
            carried = sum
        }
        rest.removeSubrange(count...)
        let (sum, error) = Self.sum(carried, greatest)
        if error != 0 { rest.append(error) }
        greatest = sum
        if sum == 0, let next = rest.popLast() { greatest = next }
        assert(
            rest.last.map { $0.magnitude < greatest.magnitude } ?? true,
            "the parts ascend in magnitude")
    }

    mutating func add(_ other: Expansion) {
        for part in other.rest + [other.greatest] { add(part) }
    }

    /// Returns the rounded sum of two numbers, and what the rounding removed.
    private static func sum(_ first: Double, _ second: Double) -> (sum: Double, error: Double) {
        let sum = first + second
        return first.magnitude < second.magnitude
            ? (sum, first - (sum - second)) : (sum, second - (sum - first))
    }

    /// The sum of the parts, added from the greatest down, so that only the last addition rounds.
    var value: Double {
        var sum = greatest
        var index = rest.count
        var error = 0.0
        while index > 0, error == 0 {
            index -= 1
            (sum, error) = Self.sum(sum, rest[index])
        }
        // The next lower part breaks a tie.
        if index > 0, error != 0, (error < 0) == (rest[index - 1] < 0) {
            let twice = error * 2
            let rounded = sum + twice
            if twice == rounded - sum { sum = rounded }
        }
        return sum
    }
}

// The values of a leaf are added without rounding in vectors. A number whose last bit is much greater than a value cuts
// the value into a multiple of that bit and a remainder: S = s + x, q = S - s, and x - q are exact while S and s have
// the same exponent. S then sums the multiples exactly, and the same is done again with the remainders.
extension ExactSum {
    /// Adds the doubles or floats in some rows of a leaf.
    mutating func add(_ leaf: Leaf, _ rows: ClusterBits, isFloat: Bool) {
        withUnsafeTemporaryAllocation(byteCount: 8 * Cluster.rows, alignment: 32) { buffer in
            // because: the allocation is not empty.
            let buffer = buffer.baseAddress.unsafelyUnwrapped
            let minimum = leaf.minimumDouble
            let greatest = leaf.maximumDouble
            // Unpacked leaves do not have bounds.
            if leaf.encoding == LeafEncoding.double, minimum < greatest {
                add(
                    leaf.payload, rows, bound: max(-minimum, greatest),
                    minimum: max(minimum, -greatest), buffer)
                return
            }
            let values = buffer.initializeMemory(
                as: Double.self, repeating: 0, count: Cluster.rows)
            var bound = 0.0
            rows.forEachRow { row in
                let value = isFloat ? Double(leaf.float(row)) : leaf.double(row)
                values[row] = value
                bound = max(bound, value.isNaN ? .infinity : value.magnitude)
            }
            add(buffer, rows, bound: bound, minimum: 0, buffer)
        }
    }

    /// Adds 496 values whose magnitudes are between `minimum`, if it is positive, and `bound`.
    ///
    /// `buffer` receives remainders, and can be the memory of the values.
    private mutating func add(
        _ values: UnsafeRawPointer, _ rows: ClusterBits, bound: Double, minimum: Double,
        _ buffer: UnsafeMutableRawPointer
    ) {
        var values = values
        var power = bound
        while power > 0x1p-800, power < Self.threshold {
            power = power.binade * 2
            let hasRemainders =
                minimum > power * 0x1p-39
                ? split(values, rows, power, into: nil) : split(values, rows, power, into: buffer)
            guard hasRemainders else { return }
            values = UnsafeRawPointer(buffer)
            power *= 0x1p-90
        }
        guard power > 0 else { return }
        rows.forEachRow { add(values.loadUnaligned(fromByteOffset: 8 &* $0, as: Double.self)) }
    }

    /// The masks for each combination of four bits, which keep the selected values of four rows and clear the others.
    private static let lanes: [SIMD4<UInt64>] = (0..<16).map { bits in
        var lanes = SIMD4<UInt64>.zero
        for lane in 0..<4 where bits >> lane & 1 != 0 { lanes[lane] = .max }
        return lanes
    }

    /// Adds the multiples of `power` * 2^-89 in values that are less than `power`, and returns whether there are
    /// remainders.
    ///
    /// Each of eight lanes sums 62 values, so the sum of the multiples of `power` * 2^-44 fits into 53 bits. Without a
    /// buffer for remainders, all values are multiples of `power` * 2^-92, so that the sum of their remainders fits too.
    @inline(__always)
    private mutating func split(
        _ values: UnsafeRawPointer, _ rows: ClusterBits, _ power: Double,
        into buffer: UnsafeMutableRawPointer?
    ) -> Bool {
        assert(power.significand == 1, "the lanes add multiples of a power of two")
        let start = SIMD4(repeating: power * 384)
        let lowStart = SIMD4(repeating: buffer == nil ? 0 : power * (384 * 0x1p-45))
        var even = (high: start, low: lowStart)
        var odd = even
        var remainders = SIMD4<UInt64>.zero
        Self.lanes.withUnsafeBufferPointer { lanes in
            withUnsafeBytes(of: rows) { rows in
                // because: sixteen lanes, and indexes of four bits.
                let lanes = lanes.baseAddress.unsafelyUnwrapped
                var row = 0
                while row < Cluster.rows {
                    let bits = rows.load(fromByteOffset: row &>> 3, as: UInt8.self)
                    let address = values + 8 &* row
                    let first = address.loadUnaligned(as: SIMD4<UInt64>.self)
                    let second = address.loadUnaligned(fromByteOffset: 32, as: SIMD4<UInt64>.self)
                    let evenRest = Self.add(
                        first & lanes[Int(truncatingIfNeeded: bits & 15)], to: &even, buffer != nil)
                    let oddRest = Self.add(
                        second & lanes[Int(truncatingIfNeeded: bits &>> 4)], to: &odd,
                        buffer != nil)
                    if let buffer {
                        remainders |= evenRest | oddRest
                        (buffer + 8 &* row).storeBytes(of: evenRest, as: SIMD4<UInt64>.self)
                        (buffer + 8 &* (row + 4)).storeBytes(of: oddRest, as: SIMD4<UInt64>.self)
                    }
                    row &+= 8
                }
            }
        }
        add(((even.high - start) + (odd.high - start)).sum())
        add(((even.low - lowStart) + (odd.low - lowStart)).sum())
        // The remainder of a negative zero is one.
        return remainders &<< 1 != .zero
    }

    @inline(__always)
    private static func add(
        _ bits: SIMD4<UInt64>, to sum: inout (high: SIMD4<Double>, low: SIMD4<Double>),
        _ hasBuffer: Bool
    ) -> SIMD4<UInt64> {
        let value = unsafeBitCast(bits, to: SIMD4<Double>.self)
        let high = sum.high + value
        let rest = value - (high - sum.high)
        sum.high = high
        let low = sum.low + rest
        defer { sum.low = low }
        return hasBuffer
            ? unsafeBitCast(rest - (low - sum.low), to: SIMD4<UInt64>.self) : .zero
    }
}

/// The order of floats and doubles, which scans, indexes, sets and sorting share.
///
/// NaN equals every NaN, independent of its bits, and comes before all other numbers. -0.0 equals 0.0. This is a total
/// order, unlike that of IEEE 754, whose NaN has no position in a sorted column.
package enum RealOrder {
    /// Compares two values: negative if the first precedes the second, zero if they are equal, otherwise positive.
    @inline(__always)
    package static func compare(_ left: Double, _ right: Double) -> Int {
        if left < right { return -1 }
        if left > right { return 1 }
        if left == right { return 0 }
        return (left.isNaN ? 0 : 1) - (right.isNaN ? 0 : 1)
    }

    /// Returns whether both values are equal in this order.
    @inline(__always)
    package static func isEqual(_ left: Double, _ right: Double) -> Bool {
        left == right || (left.isNaN && right.isNaN)
    }

    /// Returns the representative of all values that equal this one: one NaN, and 0.0 for -0.0.
    @inline(__always)
    package static func canonical(_ value: Double) -> Double {
        value.isNaN ? .nan : value + 0
    }

    /// Returns an unsigned integer with the same order as the value, and equal for equal values.
    ///
    /// It is never 0 or `UInt64.max`, which are reserved for nil before or after all values.
    @inline(__always)
    package static func code(_ value: Double) -> UInt64 {
        if value.isNaN { return codeOfNaN }
        let bits = (value + 0).bitPattern
        return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    }

    /// The code of NaN, which is less than that of negative infinity.
    package static let codeOfNaN: UInt64 = 1

    /// Returns the value of a code from ``code(_:)``.
    package static func value(ofCode code: UInt64) -> Double {
        if code == codeOfNaN { return .nan }
        return Double(bitPattern: code >> 63 == 1 ? code ^ (1 << 63) : ~code)
    }
}
