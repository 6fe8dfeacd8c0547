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
