import TestThreads
import Testing

@testable import ColumnStorage

/// Compares patching a leaf with the simple method, packing it again.
@Suite struct LeafPatchingTests {
    private let packer = LeafPacker()
    private let other = LeafPacker()
    private let pool = LeafPool()

    /// A committed leaf of some values, and an unpacked leaf created from it.
    private final class Pair {
        let stored: UnsafeMutableRawBufferPointer
        let leaf: UnpackedLeaf
        let kind: ColumnKind

        init(_ words: [UInt64], nulls: Set<Int>, _ kind: ColumnKind, _ test: LeafPatchingTests) {
            self.kind = kind
            let first = test.pool.take(width: 8)
            first.unpack(Leaf(LeafDefaults.zeros), kind, text: nil)
            for (row, word) in words.enumerated() {
                first.setWord(row, word)
                first.setNull(row, nulls.contains(row))
            }
            let packed = test.other.pack(first, kind, present: ~.zero, long: .zero)
            stored = .allocate(byteCount: packed.count, alignment: 16)
            stored.copyMemory(from: packed)
            leaf = test.pool.take(width: 8)
            let address = UnsafeRawPointer(stored.baseAddress!)
            leaf.unpack(Leaf(address), kind, text: nil)
            leaf.origin = address
        }

        deinit { stored.deallocate() }

        func set(_ row: Int, _ word: UInt64, isNull: Bool? = nil) {
            leaf.mark(row)
            leaf.setWord(row, word)
            if let isNull { leaf.setNull(row, isNull) }
        }
    }

    /// Returns nil if the leaf could not be patched.
    private func check(_ pair: Pair, _ label: String) -> Bool? {
        guard let patched = packer.patch(pair.leaf, pair.kind) else { return nil }
        let packed = other.pack(pair.leaf, pair.kind, present: ~.zero, long: .zero)
        let (left, right) = (Leaf(patched.baseAddress!), Leaf(packed.baseAddress!))
        #expect(patched.count == packed.count, "\(label)")
        #expect(left.encoding == right.encoding && left.flags == right.flags, "\(label)")
        if pair.kind == .double {
            // Positive and negative zero are the same bound.
            #expect(left.minimumDouble == right.minimumDouble, "\(label)")
            #expect(left.maximumDouble == right.maximumDouble, "\(label)")
        } else {
            #expect(left.minimum == right.minimum && left.maximum == right.maximum, "\(label)")
        }
        #expect(
            patched[LeafFormat.headerSize...].elementsEqual(packed[LeafFormat.headerSize...]),
            "\(label)")
        return true
    }

    @Test func `a patched leaf equals a packed leaf, for numbers of any width`() {
        var generator = SeededGenerator(seed: 41)
        var patched = 0
        for round in 0..<3000 {
            let width = [4, 8, 12, 16, 24, 32, 40, 62].randomElement(using: &generator)!
            let base = Int64.random(in: -1000...1000, using: &generator)
            let kind = [ColumnKind.int, .link, .bool, .list, .double].randomElement(
                using: &generator)!
            func word() -> UInt64 {
                if kind == .double {
                    let special = [0, -0.0, .nan, .infinity, -.infinity, 7]
                    let isSpecial = Int.random(in: 0..<400, using: &generator) == 0
                    let value =
                        isSpecial
                        ? special.randomElement(using: &generator)!
                        : Double.random(in: -10...10, using: &generator)
                    return value.bitPattern
                }
                let offset = Int64.random(in: 0..<(1 << width), using: &generator)
                return UInt64(bitPattern: base &+ offset)
            }
            let words = (0..<Cluster.rows).map { _ in word() }
            let nulls = Set((0..<2).map { _ in Int.random(in: 0..<2000, using: &generator) })
            let pair = Pair(words, nulls: nulls, kind, self)
            for _ in 0..<[1, 1, 2, 10].randomElement(using: &generator)! {
                pair.set(Int.random(in: 0..<Cluster.rows, using: &generator), word())
            }
            if check(pair, "round \(round), \(kind), \(width) bits") != nil { patched += 1 }
        }
        #expect(patched > 1500)
    }

    @Test func `patching keeps the minimum and the maximum`() {
        let words = (0..<Cluster.rows).map { UInt64($0 % 200) }
        for row in [0, 199, 200, 399] {
            let pair = Pair(words, nulls: [], .int, self)
            pair.set(row, 50)
            #expect(check(pair, "row \(row)") == nil)
        }
        let doubles = (0..<Cluster.rows).map { Double($0 % 200).bitPattern }
        for row in [0, 199] {
            let pair = Pair(doubles, nulls: [], .double, self)
            pair.set(row, 50.0.bitPattern)
            #expect(check(pair, "double of row \(row)") == nil)
        }
    }

    @Test func `a patched leaf has its new bounds, or is packed again`() {
        let words = (0..<Cluster.rows).map { UInt64($0 % 200) }
        let within = Pair(words, nulls: [], .int, self)
        within.set(7, 255)
        #expect(check(within, "as far as the width goes") == true)
        let wider = Pair(words, nulls: [], .int, self)
        wider.set(7, 256)
        #expect(check(wider, "beyond the width") == nil)
        let lower = Pair(words, nulls: [], .int, self)
        lower.set(7, UInt64(bitPattern: -1))
        #expect(check(lower, "below the least value") == nil)
        let doubles = (0..<Cluster.rows).map { Double($0).bitPattern }
        let both = Pair(doubles, nulls: [], .double, self)
        both.set(7, (-5.0).bitPattern)
        both.set(8, 5000.0.bitPattern)
        #expect(check(both, "doubles") == true)
        for value in [Double.nan, .infinity, -.infinity] {
            let odd = Pair(doubles, nulls: [], .double, self)
            odd.set(7, value.bitPattern)
            #expect(check(odd, "\(value)") == nil)
        }
    }

    @Test func `changed nulls, many values and new leaves are packed again`() {
        let words = (0..<Cluster.rows).map { UInt64($0 % 200) }
        let null = Pair(words, nulls: [], .int, self)
        null.set(7, 0, isNull: true)
        #expect(check(null, "a null") == nil)
        let value = Pair(words, nulls: [7], .int, self)
        value.set(7, 5, isNull: false)
        #expect(check(value, "no null") == nil)
        let many = Pair(words, nulls: [], .int, self)
        for row in 1..<100 { many.set(row, 5) }
        #expect(check(many, "many") == nil)
        let lost = Pair(words, nulls: [], .int, self)
        lost.set(7, 5)
        lost.leaf.origin = nil
        #expect(check(lost, "no origin") == nil)
        let constant = Pair(Array(repeating: 3, count: Cluster.rows), nulls: [], .int, self)
        constant.set(7, 5)
        #expect(check(constant, "a constant") == nil)
    }
}
