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
        for round in 0..<1500 {
            let width = [0, 4, 8, 12, 16, 24, 32, 40, 62].randomElement(using: &generator)!
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
            let count = [1, 1, 2, 10, 100].randomElement(using: &generator)!
            for _ in 0..<count {
                let row = Int.random(in: 0..<Cluster.rows, using: &generator)
                // Most values differ too little to be new bounds.
                switch Int.random(in: 0..<40 * count, using: &generator) {
                case 0: pair.set(row, word(), isNull: !nulls.contains(row))
                case 1: pair.set(row, UInt64(bitPattern: base - 1))
                default: pair.set(row, word())
                }
            }
            if check(pair, "round \(round), \(kind), \(width) bits") != nil { patched += 1 }
        }
        #expect(patched > 500)
    }

    @Test func `a leaf that is not from the file is packed`() {
        let pair = Pair((0..<Cluster.rows).map { UInt64($0 % 200) }, nulls: [], .int, self)
        pair.set(7, 50)
        #expect(check(pair, "as read") == true)
        pair.leaf.origin = nil
        #expect(check(pair, "no origin") == nil)
    }
}
