import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

/// Restoring the state of a version as one commit.
@Suite struct RestoreTests {
    @Test(arguments: RandomSeeds.sample(4, of: 1...15))
    func `A restored version has the data of the version, and redo reverts it`(seed: UInt64) throws
    {
        var random = SplitMix(seed: seed)
        var world = try HistoryWorld()
        let store = world.store
        let first = store.version
        for _ in 0..<40 {
            guard store.version > first, Int.random(in: 0..<3, using: &random) == 0 else {
                try world.commit(Int.random(in: 1...8, using: &random), in: store, using: &random)
                if Int.random(in: 0..<4, using: &random) == 0 { _ = try? store.undo() }
                continue
            }
            let version = UInt64.random(in: first..<store.version, using: &random)
            let wanted = try store.at(version)
            let last = try frozen(store)
            let before = store.version
            try store.restore(version)
            #expect(store.version == before + 1)
            try expectSame(try frozen(store), wanted)
            guard Bool.random(using: &random) else { continue }
            try store.redo()
            try expectSame(try frozen(store), last)
        }
        let faults = try store.verify()
        #expect(faults.isEmpty, "\(faults)")
    }

    private func expectSame(_ left: StoreView, _ right: StoreView) throws {
        for classSchema in left.schema.classes {
            let query = Query(all: classSchema)
            let keys = try QueryEvaluator.keys(of: query, in: left).array
            #expect(try keys == QueryEvaluator.keys(of: query, in: right).array)
            for key in keys {
                for property in classSchema.properties where !property.isBacklinks {
                    #expect(
                        try left.value(property, of: key, in: classSchema)
                            == right.value(property, of: key, in: classSchema))
                }
            }
        }
    }
}
