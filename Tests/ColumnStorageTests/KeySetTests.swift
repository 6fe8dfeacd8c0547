import TestThreads
import Testing

@testable import ColumnStorage

@Suite struct KeySetTests {
    private func randomKeys(_ generator: inout SeededGenerator) -> Set<Int64> {
        let bound = Int64.random(in: 1...300, using: &generator)
        let count = Int.random(
            in: 0...Int.random(in: 0...200, using: &generator), using: &generator)
        return Set((0..<count).map { _ in Int64.random(in: 0..<bound, using: &generator) })
    }

    private func set(_ keys: some Sequence<Int64>) -> KeySet {
        KeySet(unordered: keys.map { ObjectKey(rawValue: $0) })
    }

    private func expect(
        _ set: KeySet, equals model: Set<Int64>, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let sorted = model.sorted()
        #expect(set.map(\.rawValue) == sorted, sourceLocation: sourceLocation)
        #expect(set.count == sorted.count, sourceLocation: sourceLocation)
        #expect(set.isEmpty == sorted.isEmpty, sourceLocation: sourceLocation)
        #expect(set == self.set(sorted), sourceLocation: sourceLocation)
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `a key set behaves like a plain set under insertion and removal`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var set = KeySet()
        var model: Set<Int64> = []
        for _ in 0..<300 {
            let raw = Int64.random(in: 0..<200, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                set.insert(ObjectKey(rawValue: raw))
                model.insert(raw)
            case 2, 3:
                set.subtract(KeySet(rawRange: raw...raw))
                model.remove(raw)
            default:
                let end = raw + Int64.random(in: 0..<20, using: &generator)
                if Bool.random(using: &generator) {
                    set.insert(rawRange: raw...end)
                    model.formUnion(raw...end)
                } else {
                    set.subtract(KeySet(rawRange: raw...end))
                    model.subtract(raw...end)
                }
            }
            expect(set, equals: model)
        }
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func `a key set does set algebra like a plain set`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let left = randomKeys(&generator)
        let right = randomKeys(&generator)
        let a = set(left)
        let b = set(right)
        for raw in Int64(-1)...301 {
            #expect(a.contains(ObjectKey(rawValue: raw)) == left.contains(raw))
        }
        expect(a.union(b), equals: left.union(right))
        expect(a.subtracting(b), equals: left.subtracting(right))
        expect(a.intersection(b), equals: left.intersection(right))
        #expect(a.intersects(b) == !left.isDisjoint(with: right))
        var copy = a
        copy.formUnion(b)
        expect(copy, equals: left.union(right))
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func `a key set adds the bitmap of a cluster`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var set = KeySet()
        var model: Set<Int64> = []
        for cluster in 0..<4 {
            var bits = ClusterBits()
            for word in 0..<8 {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bits[word] = .max
                case 1: bits[word] = generator.next()
                case 2: bits[word] = 1 << UInt64.random(in: 0..<64, using: &generator)
                default: break
                }
            }
            let base = Int64(cluster * 512)
            set.insert(base: base, bits: bits)
            for bit in 0..<512 where bits[bit / 64] >> UInt64(bit % 64) & 1 == 1 {
                model.insert(base + Int64(bit))
            }
        }
        expect(set, equals: model)
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func `a key set reads its own output, and detects damage`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var set = set(randomKeys(&generator))
        if seed % 3 == 0 { set.insert(rawRange: 1 << 40...(1 << 40) + 5) }
        if seed % 5 == 0 { set.insert(ObjectKey(rawValue: .max - 2)) }
        var writer = ByteWriter()
        set.encode(into: &writer)
        let bytes = writer.bytes
        let read = try bytes.withUnsafeBytes {
            var reader = ByteReader($0, of: "keys")
            return try KeySet(from: &reader)
        }
        #expect(read == set)
        for _ in 0..<50 {
            var damaged = bytes
            let index = Int.random(in: 0..<damaged.count, using: &generator)
            damaged[index] = UInt8.random(in: 0...255, using: &generator)
            if Bool.random(using: &generator) { damaged.removeLast() }
            damaged.withUnsafeBytes {
                var reader = ByteReader($0, of: "keys")
                // Damaged bytes that are a valid set by chance must behave as a set.
                if let other = try? KeySet(from: &reader), other.count < 10_000 {
                    #expect(KeySet(unordered: Array(other)) == other)
                }
            }
        }
    }
}
