#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tests of one text value against bytes.
enum BytesTest {
    private static let longPart = 64

    @inline(__always)
    static func isEqual(_ value: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        value.count == other.count && startsWith(value, other)
    }

    @inline(__always)
    static func startsWith(
        _ value: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer
    ) -> Bool {
        guard let wanted = prefix.baseAddress, prefix.count > 0 else { return true }
        guard let bytes = value.baseAddress, value.count >= prefix.count,
            bytes.load(as: UInt8.self) == wanted.load(as: UInt8.self)
        else { return false }
        return prefix.count == 1 || memcmp(bytes, wanted, prefix.count) == 0
    }

    @inline(__always)
    static func endsWith(
        _ value: UnsafeRawBufferPointer, _ suffix: UnsafeRawBufferPointer
    ) -> Bool {
        guard value.count >= suffix.count else { return false }
        return startsWith(
            UnsafeRawBufferPointer(rebasing: value[(value.count - suffix.count)...]), suffix)
    }

    @inline(__always)
    static func contains(
        _ value: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer
    ) -> Bool {
        guard let wanted = part.baseAddress, part.count > 0 else { return true }
        guard let bytes = value.baseAddress, value.count >= part.count else { return false }
        if part.count > longPart { return containsLong(value, part) }
        let first = Int32(wanted.load(as: UInt8.self))
        let end = bytes + (value.count - part.count + 1)
        var start = bytes
        while start < end, let found = memchr(start, first, end - start) {
            if memcmp(found, wanted, part.count) == 0 { return true }
            start = UnsafeRawPointer(found) + 1
        }
        return false
    }

    /// Returns whether a value contains a long part, in linear time for all texts.
    ///
    /// This is the algorithm of Knuth, Morris and Pratt: for each matched prefix of the part, the next shorter prefix
    /// that also ends there is known.
    private static func containsLong(
        _ value: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer
    ) -> Bool {
        var shorter = [Int](repeating: 0, count: part.count)
        var matched = 0
        for index in 1..<part.count {
            while matched > 0, part[index] != part[matched] { matched = shorter[matched - 1] }
            if part[index] == part[matched] { matched += 1 }
            shorter[index] = matched
        }
        matched = 0
        for byte in value {
            while matched > 0, byte != part[matched] { matched = shorter[matched - 1] }
            if byte == part[matched] { matched += 1 }
            if matched == part.count { return true }
        }
        return false
    }

    /// Compares two values: negative, zero or positive by the first different byte, then by length.
    @inline(__always)
    static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let common = min(left.count, right.count)
        if common > 0, let first = left.baseAddress, let second = right.baseAddress {
            let order = memcmp(first, second, common)
            if order != 0 { return Int(order) }
        }
        return left.count - right.count
    }
}

extension [UInt8] {
    /// Compares the bytes with others: negative, zero or positive by the first different byte, then by length.
    package func compare(with other: [UInt8]) -> Int {
        withUnsafeBytes { bytes in other.withUnsafeBytes { BytesTest.order(bytes, $0) } }
    }
}

/// A set of texts or other bytes in which every row of a column is looked up.
///
/// The values are stored one after the other. A hash table contains their offsets and half of each hash. A bit filter
/// that fits into the L1 cache rejects most other rows before the hash table is read. The set is immutable.
package struct BytesSet: Sendable, Hashable {
    private let content: [UInt8]
    /// The offset of each value in `content`, and the end of the last one.
    private let starts: [Int]
    /// The upper half of a hash, then the number of the value plus one; 0 for an empty slot.
    private let slots: [UInt64]
    /// A Bloom filter with one bit for each value, selected by the upper part of its hash; it has at least sixteen bits
    /// for each value.
    private let filter: [UInt64]
    private let filterShift: UInt64
    /// A random number that differs for each set, so that no prepared values can all hash to one slot.
    private let seed: UInt64

    /// Creates a set of values in any order.
    package init(_ values: [[UInt8]]) {
        var power = 4
        while 1 << power < values.count * 4 { power += 1 }
        var content: [UInt8] = []
        var starts = [0]
        starts.reserveCapacity(values.count + 1)
        var slots = [UInt64](repeating: 0, count: 1 << power)
        let filterShift = UInt64(62 - power)
        var filter = [UInt64](repeating: 0, count: 1 << (power - 4))
        let seed = UInt64.random(in: 1 ... .max)
        for value in values {
            let hash = value.withUnsafeBytes { BytesSet.hash($0, seed) }
            var index = Int(truncatingIfNeeded: hash) & (slots.count - 1)
            var isNew = true
            while isNew, slots[index] != 0 {
                if (slots[index] ^ hash) >> 32 == 0 {
                    let known = Int(truncatingIfNeeded: slots[index] & 0xffff_ffff) - 1
                    isNew = !content[starts[known]..<starts[known + 1]].elementsEqual(value)
                }
                index = (index + 1) & (slots.count - 1)
            }
            guard isNew else { continue }
            content += value
            starts.append(content.count)
            slots[index] = hash & 0xffff_ffff_0000_0000 | UInt64(starts.count - 1)
            let bit = hash >> filterShift
            filter[Int(truncatingIfNeeded: bit >> 6)] |= 1 << (bit & 63)
        }
        assert(4 * (starts.count - 1) <= slots.count, "an empty slot ends each search")
        assert(filter.count << 6 == 1 << (power + 2), "each upper part of a hash has a bit")
        (self.content, self.starts, self.slots, self.seed) = (content, starts, slots, seed)
        (self.filter, self.filterShift) = (filter, filterShift)
    }

    /// The number of values.
    package var count: Int { starts.count - 1 }

    /// The values, in no particular order.
    package var values: [[UInt8]] {
        (0..<count).map { Array(content[starts[$0]..<starts[$0 + 1]]) }
    }

    /// Returns whether some bytes are in the set.
    package func contains(_ bytes: Span<UInt8>) -> Bool {
        bytes.withUnsafeBytes { bytes in withLookup { $0(bytes) } }
    }

    /// Calls `body` with the look-up of one value.
    ///
    /// Many look-ups by one call count no references, which two threads that search the same set would wait for.
    @inline(__always)
    func withLookup<Result, Failure: Error>(
        _ body: ((UnsafeRawBufferPointer) -> Bool) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try filter.withUnsafeBufferPointer { filter throws(Failure) in
            try slots.withUnsafeBufferPointer { slots throws(Failure) in
                try body { contains($0, filter, slots) }
            }
        }
    }

    @inline(__always)
    private func contains(
        _ bytes: UnsafeRawBufferPointer, _ filter: UnsafeBufferPointer<UInt64>,
        _ slots: UnsafeBufferPointer<UInt64>
    ) -> Bool {
        let hash = BytesSet.hash(bytes, seed)
        let bit = hash &>> filterShift
        guard filter[Int(truncatingIfNeeded: bit &>> 6)] &>> (bit & 63) & 1 != 0 else {
            return false
        }
        let mask = slots.count &- 1
        var index = Int(truncatingIfNeeded: hash) & mask
        // The table is at most a quarter full, so an empty slot ends every search.
        while slots[index] != 0 {
            if (slots[index] ^ hash) &>> 32 == 0,
                isValue(Int(truncatingIfNeeded: slots[index] & 0xffff_ffff) &- 1, bytes)
            {
                return true
            }
            index = (index &+ 1) & mask
        }
        return false
    }

    private func isValue(_ index: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = starts[index]
        guard starts[index + 1] - start == bytes.count else { return false }
        guard let other = bytes.baseAddress, bytes.count > 0 else { return true }
        return content.withUnsafeBytes { content in
            content.baseAddress.map { memcmp($0 + start, other, bytes.count) == 0 } ?? false
        }
    }

    @inline(__always)
    private static func hash(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
        var hash = seed ^ UInt64(truncatingIfNeeded: bytes.count) &* 0x9e37_79b9_7f4a_7c15
        // The count is checked too, because empty text in a leaf has an address.
        guard let base = bytes.baseAddress, bytes.count > 0 else { return fold(hash, seed) }
        var offset = 0
        while bytes.count &- offset >= 8 {
            hash = fold(
                hash ^ base.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
                0xe703_7ed1_a0b4_28db)
            offset &+= 8
        }
        var rest: UInt64 = 0
        if bytes.count >= 8 {
            // Reading the last eight bytes, possibly some of them twice, takes less time than reading byte by byte.
            rest = base.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self)
        } else {
            while offset < bytes.count {
                rest = rest &<< 8 | UInt64(base.load(fromByteOffset: offset, as: UInt8.self))
                offset &+= 1
            }
        }
        return fold(hash ^ rest, 0x8ebc_6af0_9c88_c6e3)
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    /// Returns whether both sets contain the same values.
    package static func == (left: BytesSet, right: BytesSet) -> Bool {
        left.count == right.count && left.values.allSatisfy { right.contains($0.span) }
    }

    /// Hashes the number of values, because their order is not fixed.
    package func hash(into hasher: inout Hasher) { hasher.combine(count) }
}

/// A fast filter for many text values, before any of them is compared.
enum TextKernels {
    /// The number of rows from which reading all rows of a cluster costs less than selecting the requested ones.
    private static let denseFrom = 124

    /// Returns those `rows` of a plain leaf with 16-bit ends that may begin with `prefix`, which is not empty.
    ///
    /// The result contains all matching rows, and may contain others. No branch depends on a value, so the time is
    /// independent of the number of matches.
    static func rows(
        of leaf: Leaf, beginningWith prefix: UnsafeRawBufferPointer, among rows: ClusterBits
    ) -> ClusterBits {
        assert(
            leaf.encoding == LeafEncoding.text16 && !leaf.hasLong,
            "the leaf has 16-bit ends and the bytes of all rows")
        let size = leaf.textSize
        guard size > 0, prefix.count > 0 else { return .zero }
        var left = rows
        let isDense = rows.rowCount >= denseFrom
        if isDense { left &= firstBytes(leaf, size, prefix[0]) }
        if size >= 8, prefix.count > 1 || !isDense, !left.isEmpty {
            left = firstWords(leaf, size, prefix, among: left)
        }
        return left
    }

    /// Returns the rows whose first byte is `first`; all of them if the ends are damaged.
    private static func firstBytes(_ leaf: Leaf, _ size: Int, _ first: UInt8) -> ClusterBits {
        let ends = leaf.payload
        let text = ends + 2 &* Cluster.rows
        @inline(__always)
        func start(_ row: Int) -> Int {
            Int(ends.loadUnaligned(fromByteOffset: 2 &* row &- 2, as: UInt16.self))
        }
        // Empty values at the end begin after the last byte.
        var bound = Cluster.rows
        while bound > 1, start(bound &- 1) >= size { bound &-= 1 }
        // All ends are checked at once with vectors, so each row takes two loads.
        var furthest: UInt16 = 0
        var row = 0
        while row < bound &- 1 {
            furthest = max(furthest, ends.loadUnaligned(fromByteOffset: 2 &* row, as: UInt16.self))
            row &+= 1
        }
        guard Int(furthest) < size else { return Cluster.all }
        return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { bytes in
            // because: the allocation is not empty.
            let out = bytes.baseAddress.unsafelyUnwrapped
            out.storeBytes(of: text.load(as: UInt8.self), as: UInt8.self)
            var row = 1
            while row < bound {
                let byte = text.load(fromByteOffset: start(row), as: UInt8.self)
                out.storeBytes(of: byte, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            while row < Cluster.rows {
                out.storeBytes(of: ~first, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            row = 0
            while row < Cluster.rows {
                let isFirst = out.load(fromByteOffset: row, as: UInt8.self) == first
                out.storeBytes(of: isFirst ? 1 : 0, toByteOffset: row, as: UInt8.self)
                row &+= 1
            }
            return IntKernels.bits(UnsafeRawPointer(out))
        }
    }

    /// Returns those `rows` whose first eight bytes equal the prefix, or its length if it is shorter.
    ///
    /// Rows that begin in the last eight bytes of the leaf's text are also included.
    private static func firstWords(
        _ leaf: Leaf, _ size: Int, _ prefix: UnsafeRawBufferPointer, among rows: ClusterBits
    ) -> ClusterBits {
        let ends = leaf.payload
        let text = ends + 2 &* Cluster.rows
        var wanted: UInt64 = 0
        var mask: UInt64 = 0
        var byte = 0
        while byte < min(prefix.count, 8) {
            wanted |= UInt64(prefix[byte]) &<< UInt64(8 &* byte)
            mask |= 0xff &<< UInt64(8 &* byte)
            byte &+= 1
        }
        let last = size &- 8
        return rows.keeping { row in
            // Row 0 begins at 0: its own end is read but not used.
            let before = ends.loadUnaligned(
                fromByteOffset: max(2 &* row &- 2, 0), as: UInt16.self)
            let start = row == 0 ? 0 : Int(before)
            // Damaged ends must not cause reads outside of the leaf.
            let word = UInt64(
                littleEndian: text.loadUnaligned(
                    fromByteOffset: min(start, last), as: UInt64.self))
            return ((word ^ wanted) & mask == 0 ? 1 : 0) | (start > last ? 1 : 0)
        }
    }
}
