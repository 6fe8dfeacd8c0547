/// Tests of a whole leaf of integers against a range.
///
/// The loops are plain `while` loops over narrow integers without branches, which the compiler
/// turns into vector instructions.
enum IntKernels {
    /// Returns the rows with `low <= value <= high`, without checking for nulls.
    static func rows(of leaf: Leaf, from low: Int64, through high: Int64) -> ClusterBits {
        guard low <= high else { return .zero }
        let lowest = leaf.minimum
        let encoding = leaf.encoding
        if encoding == LeafEncoding.constant {
            return lowest >= low && lowest <= high ? Cluster.all : .zero
        }
        // Unpacked leaves do not have bounds; packed leaves that are not constant have two different ones.
        if leaf.maximum > lowest {
            if leaf.maximum < low || lowest > high { return .zero }
            if lowest >= low && leaf.maximum <= high { return Cluster.all }
        }
        if encoding == LeafEncoding.bits1 {
            let ones = Leaf.bitmap(at: leaf.payload)
            let zeroMatches = lowest >= low && lowest <= high
            let oneMatches = lowest &+ 1 >= low && lowest &+ 1 <= high
            if zeroMatches { return oneMatches ? Cluster.all : ~ones & Cluster.all }
            return oneMatches ? ones : .zero
        }
        // The range is converted to unsigned offsets from the least value: first ... first + span.
        let first = low <= lowest ? 0 : UInt64(bitPattern: low &- lowest)
        let last = UInt64(bitPattern: high &- lowest)
        switch encoding {
        case LeafEncoding.bits8:
            return scan(leaf.payload, from: first, through: last, as: UInt8.self)
        case LeafEncoding.bits16:
            return scan(leaf.payload, from: first, through: last, as: UInt16.self)
        case LeafEncoding.bits32:
            return scan(leaf.payload, from: first, through: last, as: UInt32.self)
        default:
            // Wide leaves on the heap have the least value 0 and values of either sign.
            return scanSigned(leaf, low, high)
        }
    }

    @inline(__always)
    private static func scan<T: FixedWidthInteger & UnsignedInteger>(
        _ payload: UnsafeRawPointer, from first: UInt64, through last: UInt64, as _: T.Type
    ) -> ClusterBits {
        guard first <= UInt64(T.max) else { return .zero }
        let start = T(truncatingIfNeeded: first)
        let span = T(truncatingIfNeeded: min(last, UInt64(T.max)) &- first)
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { flags in
            // because: the allocation is not empty.
            let out = flags.baseAddress.unsafelyUnwrapped
            var row = 0
            while row < Cluster.rows {
                let value = payload.loadUnaligned(
                    fromByteOffset: row &* MemoryLayout<T>.size, as: T.self)
                out.storeBytes(
                    of: (value &- start) <= span ? 1 : 0, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            return bits(UnsafeRawPointer(out))
        }
    }

    private static func scanSigned(_ leaf: Leaf, _ low: Int64, _ high: Int64) -> ClusterBits {
        let payload = leaf.payload
        let lowest = leaf.minimum
        let span = UInt64(bitPattern: high &- low)
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { flags in
            let out = flags.baseAddress.unsafelyUnwrapped
            var row = 0
            while row < Cluster.rows {
                let value =
                    lowest &+ payload.loadUnaligned(fromByteOffset: 8 &* row, as: Int64.self)
                let isInside = UInt64(bitPattern: value &- low) <= span
                out.storeBytes(of: isInside ? 1 : 0, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            return bits(UnsafeRawPointer(out))
        }
    }

    /// Returns the sum of some rows of a leaf of offsets of up to 32 bits.
    @inline(__always)
    static func sum<T: FixedWidthInteger & UnsignedInteger>(
        of leaf: Leaf, _ rows: ClusterBits, _: T.Type
    ) -> Int128 {
        assert(T.bitWidth <= 32, "the sum of all offsets fits into 64 bits")
        let payload = leaf.payload
        var offsets: UInt64 = 0
        rows.forEachRow { row in
            offsets &+= UInt64(
                truncatingIfNeeded: payload.loadUnaligned(
                    fromByteOffset: row &* MemoryLayout<T>.size, as: T.self))
        }
        return total(of: rows, lowest: leaf.minimum, offsets: offsets)
    }

    /// Returns the sum of the values of rows, given the least value and the sum of the offsets.
    static func total(of rows: ClusterBits, lowest: Int64, offsets: UInt64) -> Int128 {
        Int128(lowest) &* Int128(rows.rowCount) &+ Int128(offsets)
    }

    /// Packs 496 bytes that are 0 or 1 into bits, eight at a time with one multiplication.
    ///
    /// The code is unrolled, because a loop compiles to vector code that is four times slower.
    @inline(__always)
    static func bits(_ flags: UnsafeRawPointer) -> ClusterBits {
        let last =
            (eight(flags, 448) | eight(flags, 456) &<< 8)
            | (eight(flags, 464) &<< 16 | eight(flags, 472) &<< 24)
            | (eight(flags, 480) &<< 32 | eight(flags, 488) &<< 40)
        return ClusterBits(
            word(flags), word(flags + 64), word(flags + 128), word(flags + 192),
            word(flags + 256), word(flags + 320), word(flags + 384), last)
    }

    @inline(__always)
    private static func word(_ flags: UnsafeRawPointer) -> UInt64 {
        let first = eight(flags, 0) | eight(flags, 8) &<< 8
        let second = eight(flags, 16) &<< 16 | eight(flags, 24) &<< 24
        let third = eight(flags, 32) &<< 32 | eight(flags, 40) &<< 40
        let fourth = eight(flags, 48) &<< 48 | eight(flags, 56) &<< 56
        return (first | second) | (third | fourth)
    }

    @inline(__always)
    private static func eight(_ flags: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        let bytes = flags.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return (bytes &* 0x0102_0408_1020_4080) &>> 56
    }
}

/// Tests of a whole leaf of floats or doubles, in the order that ``RealOrder`` defines.
///
/// NaN comes before all numbers, so "less" is computed as "not greater or equal" with one vector comparison, as for the
/// order of IEEE 754.
enum DoubleKernels {
    static func rows(of leaf: Leaf, _ comparison: Comparison, _ value: Double) -> ClusterBits {
        if value.isNaN { return rowsComparedWithNaN(leaf, comparison) }
        return switch comparison {
        case .equal: scan(leaf, from: value, through: value) { $0 == value }
        case .notEqual: scan(leaf, from: nil, through: nil) { $0 != value }
        case .less: scan(leaf, from: nil, through: value) { !($0 >= value) }
        case .lessOrEqual: scan(leaf, from: nil, through: value) { !($0 > value) }
        case .greater: scan(leaf, from: value, through: nil) { $0 > value }
        case .greaterOrEqual: scan(leaf, from: value, through: nil) { $0 >= value }
        }
    }

    private static func rowsComparedWithNaN(_ leaf: Leaf, _ comparison: Comparison) -> ClusterBits {
        switch comparison {
        case .equal, .lessOrEqual: scan(leaf, from: nil, through: nil) { $0 != $0 }
        case .notEqual, .greater: scan(leaf, from: nil, through: nil) { $0 == $0 }
        case .less: .zero
        case .greaterOrEqual: Cluster.all
        }
    }

    static func rows(of leaf: Leaf, from low: Double, through high: Double) -> ClusterBits {
        if low.isNaN { return rows(of: leaf, .lessOrEqual, high) }
        // Only NaN is not greater than NaN, and it is less than `low`.
        if high.isNaN { return .zero }
        return scan(leaf, from: low, through: high) { ($0 >= low) && ($0 <= high) }
    }

    /// Evaluates a test for every row; numbers outside `low` and `high` never match.
    ///
    /// A leaf with NaN and other numbers has infinite bounds, so it is never skipped.
    @inline(__always)
    private static func scan(
        _ leaf: Leaf, from low: Double?, through high: Double?, _ test: (Double) -> Bool
    ) -> ClusterBits {
        let encoding = leaf.encoding
        if encoding == LeafEncoding.constant {
            return test(leaf.minimumDouble) ? Cluster.all : .zero
        }
        // Unpacked leaves have both bounds 0, which have no meaning.
        if leaf.minimumDouble < leaf.maximumDouble {
            if let low, leaf.maximumDouble < low { return .zero }
            if let high, leaf.minimumDouble > high { return .zero }
        }
        let payload = leaf.payload
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { flags in
            let out = flags.baseAddress.unsafelyUnwrapped
            var row = 0
            if encoding == LeafEncoding.double {
                while row < Cluster.rows {
                    let value = payload.loadUnaligned(
                        fromByteOffset: 8 &* row, as: Double.self)
                    out.storeBytes(of: test(value) ? 1 : 0, toByteOffset: row, as: UInt8.self)
                    row &+= 1
                }
            } else {
                while row < Cluster.rows {
                    let value = Double(
                        payload.loadUnaligned(fromByteOffset: 4 &* row, as: Float.self))
                    out.storeBytes(of: test(value) ? 1 : 0, toByteOffset: row, as: UInt8.self)
                    row &+= 1
                }
            }
            return IntKernels.bits(UnsafeRawPointer(out))
        }
    }
}

/// A set of integers in which every row of a column is looked up.
///
/// Values that are close together are stored as bits, others in a hash table. In both forms a test takes one or two
/// loads, independent of the number of values. The set is immutable.
package struct IntSet: Sendable, Hashable {
    /// The values, ascending and without duplicates.
    package let values: [Int64]
    private let bits: [UInt64]
    private let slots: [Int64]
    /// The content of an empty slot: an integer that is not in the set.
    private let empty: Int64
    private let shift: UInt64

    /// Creates a set of values in any order.
    ///
    /// Sorts the values. The parameter is an array, because sorting a sequence whose type is known only at run time
    /// takes twenty times as long.
    package init(_ unordered: [Int64]) {
        let sorted = unordered.sorted()
        var values: [Int64] = []
        values.reserveCapacity(sorted.count)
        for value in sorted where values.last != value { values.append(value) }
        self.values = values
        var empty = Int64.min
        for value in values where value == empty { empty += 1 }
        assert(!values.contains(empty), "no value of the set marks an empty slot")
        self.empty = empty
        guard let first = values.first, let last = values.last else {
            (bits, slots, shift) = ([], [], 0)
            return
        }
        let span = UInt64(bitPattern: last &- first)
        if span < UInt64(values.count) * 256 {
            var bits = [UInt64](repeating: 0, count: Int(span / 64) + 1)
            for value in values {
                let index = UInt64(bitPattern: value &- first)
                bits[Int(index / 64)] |= 1 << (index % 64)
            }
            (self.bits, slots, shift) = (bits, [], 0)
            return
        }
        var power: UInt64 = 4
        while 1 << power < values.count * 4 { power += 1 }
        var slots = [Int64](repeating: empty, count: 1 << Int(power))
        assert(4 * values.count <= slots.count, "an empty slot ends each search")
        for value in values {
            var index = IntSet.slot(of: value, 64 - power)
            while slots[index] != empty { index = (index + 1) & (slots.count - 1) }
            slots[index] = value
        }
        (bits, self.slots, shift) = ([], slots, 64 - power)
    }

    @inline(__always)
    private static func slot(of value: Int64, _ shift: UInt64) -> Int {
        Int(truncatingIfNeeded: (UInt64(bitPattern: value) &* 0x9e37_79b9_7f4a_7c15) &>> shift)
    }

    /// The number of values.
    package var count: Int { values.count }

    /// The form of the set for explanations: `bits` or `hash`.
    package var form: String { slots.isEmpty ? "bits" : "hash" }

    /// Returns whether a value is in the set.
    package func contains(_ value: Int64) -> Bool {
        guard let first = values.first, let last = values.last, value >= first, value <= last
        else { return false }
        if slots.isEmpty {
            let index = UInt64(bitPattern: value &- first)
            return bits[Int(index / 64)] >> (index % 64) & 1 != 0
        }
        if value == empty { return false }
        var index = IntSet.slot(of: value, shift)
        // The table is at most a quarter full, so an empty slot ends every search.
        while slots[index] != value {
            if slots[index] == empty { return false }
            index = (index + 1) & (slots.count - 1)
        }
        return true
    }

    /// Returns whether both sets contain the same values.
    package static func == (left: IntSet, right: IntSet) -> Bool { left.values == right.values }

    /// Hashes the values.
    package func hash(into hasher: inout Hasher) { hasher.combine(values) }

    /// Returns the rows of a leaf of integers whose value minus `offset` is in the set, without checking for nulls.
    func rows(of leaf: Leaf, offset: Int64, among: ClusterBits) -> ClusterBits {
        guard let first = values.first, let last = values.last else { return .zero }
        if leaf.encoding == LeafEncoding.constant {
            return contains(leaf.minimum &- offset) ? among : .zero
        }
        // Unpacked leaves do not have bounds; packed leaves that are not constant have two different ones.
        if leaf.maximum > leaf.minimum,
            leaf.maximum &- offset < first || leaf.minimum &- offset > last
        {
            return .zero
        }
        let span = UInt64(bitPattern: last &- first)
        if slots.isEmpty {
            return bits.withUnsafeBufferPointer { bits in
                among.keeping { row in
                    let index = UInt64(bitPattern: leaf.int(row) &- offset &- first)
                    guard index <= span else { return 0 }
                    return bits[Int(truncatingIfNeeded: index &>> 6)] &>> (index & 63) & 1
                }
            }
        }
        let mask = slots.count - 1
        return slots.withUnsafeBufferPointer { slots in
            among.keeping { row in
                let value = leaf.int(row) &- offset
                guard UInt64(bitPattern: value &- first) <= span, value != empty else { return 0 }
                var index = IntSet.slot(of: value, shift)
                while slots[index] != value {
                    if slots[index] == empty { return 0 }
                    index = (index &+ 1) & mask
                }
                return 1
            }
        }
    }

    /// Returns the rows of a leaf of floats or doubles whose bit patterns are in the set.
    func rows(ofReals leaf: Leaf, isFloat: Bool, among: ClusterBits) -> ClusterBits {
        if leaf.encoding == LeafEncoding.constant {
            return contains(RealSet.pattern(leaf.minimumDouble)) ? among : .zero
        }
        return among.keeping { row in
            let value = isFloat ? Double(leaf.float(row)) : leaf.double(row)
            return contains(RealSet.pattern(value)) ? 1 : 0
        }
    }
}

/// A set of floats or doubles; values that are equal in ``RealOrder`` count as one.
package struct RealSet: Sendable, Hashable {
    let patterns: IntSet

    /// Creates a set of values.
    package init(_ values: [Double]) {
        patterns = IntSet(values.map(RealSet.pattern))
    }

    /// The number of values.
    package var count: Int { patterns.count }

    /// Returns whether a value is in the set.
    package func contains(_ value: Double) -> Bool { patterns.contains(RealSet.pattern(value)) }

    @inline(__always)
    static func pattern(_ value: Double) -> Int64 {
        Int64(bitPattern: RealOrder.canonical(value).bitPattern)
    }
}

/// A test of the values of one column, evaluated for a whole cluster at once.
///
/// Null rows never match, except `isNull` and the two forms of "not equal", which they always match.
/// Floats and doubles compare as ``RealOrder`` defines.
package enum ColumnTest: Sendable, Hashable {
    case isNull
    case notNull
    /// A comparison of integers; links are compared by their key, `list` columns by their count.
    case int(Comparison, Int64)
    /// A range of integers, with both ends included.
    case intBetween(Int64, Int64)
    case intIn(IntSet)
    /// A comparison of floats or doubles, which are compared as doubles.
    case double(Comparison, Double)
    /// A range of doubles, with both ends included.
    case doubleBetween(Double, Double)
    case doubleIn(RealSet)
    case bool(Bool)
    case bytesEqual([UInt8])
    case bytesNotEqual([UInt8])
    case bytesPrefix([UInt8])
    case bytesSuffix([UInt8])
    case bytesContain([UInt8])
    /// A comparison by bytes.
    case bytesCompare(Comparison, [UInt8])
    case bytesIn(BytesSet)

    /// Returns the test of ``double(_:_:)``: a float is compared as the equal double.
    package static func float(_ comparison: Comparison, _ value: Double) -> ColumnTest {
        .double(comparison, value)
    }
}

extension Comparison {
    /// Returns whether the comparison holds for the sign of an order: negative, zero or positive.
    @inlinable @inline(__always)
    package func holds(_ order: Int) -> Bool {
        switch self {
        case .equal: order == 0
        case .notEqual: order != 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        }
    }
}
