import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

@Suite struct ResultKeysTests {
    /// Keys as a bitmap and as a list, from none to many, dense and sparse.
    private static func samples() -> [ResultKeys] {
        var random = SeededGenerator(seed: 5)
        var samples = [ResultKeys([]), ResultKeys(clusters: [])]
        for count in [1, 2, 5, 40] {
            for density in [0, 1, 2, 3] {
                samples.append(
                    ResultKeys(
                        clusters: (0..<count).map { _ in
                            var bits = ClusterBits.random(in: 0 ... .max, using: &random)
                            for _ in 0..<density {
                                bits &= ClusterBits.random(in: 0 ... .max, using: &random)
                            }
                            if density == 3, Bool.random(using: &random) { bits = .zero }
                            for row in Cluster.rows..<Cluster.words * 64 { bits.remove(row) }
                            return bits
                        }))
            }
        }
        samples += [1, 63, 64, 65, 1000].map { count in
            ResultKeys(
                (0..<count).map { _ in ObjectKey(rawValue: .random(in: 0...9999, using: &random)) })
        }
        return samples
    }

    @Test func `An iterator returns the same keys one by one, in parts, and in a mixture of both`()
    {
        var random = SeededGenerator(seed: 6)
        for keys in Self.samples() {
            #expect(Array(keys) == keys.array)
            var iterator = keys.makeIterator()
            var inParts: [ObjectKey] = []
            var part: [ObjectKey] = []
            repeat {
                iterator.fill(&part)
                inParts += part
            } while !part.isEmpty
            #expect(inParts == keys.array)
            #expect(iterator.next() == nil)

            iterator = keys.makeIterator()
            var mixed: [ObjectKey] = []
            var isAtEnd = false
            while !isAtEnd {
                if Bool.random(using: &random) {
                    iterator.fill(&part)
                    mixed += part
                    isAtEnd = part.isEmpty
                } else if let key = iterator.next() {
                    mixed.append(key)
                } else {
                    isAtEnd = true
                }
            }
            #expect(mixed == keys.array)
        }
    }
}
