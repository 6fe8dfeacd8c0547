#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
        bytes.withUnsafeBytes { contains($0) }
    }

    func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let hash = BytesSet.hash(bytes, seed)
        let bit = hash &>> filterShift
        guard filter[Int(truncatingIfNeeded: bit &>> 6)] &>> (bit & 63) & 1 != 0 else {
            return false
        }
        let mask = slots.count &- 1
        return slots.withUnsafeBufferPointer { slots in
            var index = Int(truncatingIfNeeded: hash) & mask
            while true {
                let slot = slots[index]
                // The table is at most a quarter full, so an empty slot ends every search.
                if slot == 0 { return false }
                if (slot ^ hash) &>> 32 == 0,
                    isValue(Int(truncatingIfNeeded: slot & 0xffff_ffff) &- 1, bytes)
                {
                    return true
                }
                index = (index &+ 1) & mask
            }
        }
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
