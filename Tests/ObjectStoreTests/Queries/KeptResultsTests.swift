import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

/// Results that exist while the store changes, and are evaluated inside writes, after commits and after canceled
/// writes.
@Suite struct KeptResultsTests {
    private func check(_ kept: [(name: String, results: Results)], _ when: String) throws {
        for (name, results) in kept {
            let expected = try QueryEvaluator.keys(
                of: results.query, in: results.source.openView()
            ).array
            let keys = try results.keys().array
            let count = try results.count()
            #expect(keys == expected, "\(name) \(when)")
            #expect(count == expected.count, "\(name) \(when)")
            guard let last = expected.indices.last else { continue }
            #expect(try results.object(at: last).key == expected[last], "\(name) \(when)")
            #expect(try results.first()?.key == expected.first, "\(name) \(when)")
        }
    }

    @Test(arguments: RandomSeeds.groups)
    func `Kept results have the rows of a new evaluation at any time`(seeds: Range<UInt64>) throws {
        for seed in seeds {
            var random = SplitMix(seed: seed)
            let world = try ObservedWorld(objects: Int.random(in: 0...20, using: &random))
            let store = world.store
            try store.write {
                for className in ["Holder", "Bag", "Holder", "Bag"] {
                    try store.create(className, .dictionary([:]))
                }
                for _ in 0..<30 { try RandomChange.make(in: store, using: &random) }
            }
            var kept: [(name: String, results: Results)] = []
            for _ in 0..<8 {
                let rows = try RandomRows(world, using: &random)
                kept.append((rows.description, Results(.store(store), rows.query)))
            }
            try check(kept, "at first, seed \(seed)")
            for _ in 0..<4 {
                try store.beginWrite()
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    try RandomChange.make(in: store, using: &random)
                }
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    try check(kept, "in a write, seed \(seed)")
                    try RandomChange.make(in: store, using: &random)
                    if Bool.random(using: &random) {
                        struct Reverted: Error {}
                        try? store.savepoint {
                            try RandomChange.make(in: store, using: &random)
                            try check(kept, "in a savepoint, seed \(seed)")
                            throw Reverted()
                        }
                    }
                }
                if Bool.random(using: &random) {
                    try store.commitWrite()
                    try check(kept, "after a commit, seed \(seed)")
                } else {
                    try store.cancelWrite()
                    try check(kept, "after a canceled write, seed \(seed)")
                }
            }
        }
    }
}
