import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

/// Restoring the state of a version as one commit.
@Suite struct RestoreTests {
    @Test(arguments: 1...15)
    func `A restored version has the data of the version, and redo reverts it`(seed: UInt64) throws
    {
        var random = SplitMix(seed: seed)
        let world = try ObservedWorld(objects: 8)
        try world.store.write {
            for _ in 0..<2 { try world.store.create("Holder", .dictionary([:])) }
            for _ in 0..<2 { try world.store.create("Bag", .dictionary([:])) }
        }
        let first = world.store.version
        for _ in 0..<12 {
            try world.store.write {
                for _ in 0..<Int.random(in: 0...6, using: &random) {
                    try RandomChange.make(in: world.store, using: &random)
                }
            }
            if Int.random(in: 0..<3, using: &random) == 0 { _ = try? world.store.undo() }
        }
        for _ in 0..<6 {
            let before = world.store.version
            let version = UInt64.random(in: first..<before, using: &random)
            let wanted = try world.store.at(version)
            let last = try world.store.at(before)
            try world.store.restore(version)
            #expect(world.store.version == before + 1)
            try expectSame(try frozen(world.store), wanted)
            try world.store.redo()
            try expectSame(try frozen(world.store), last)
        }
        #expect(world.errors.errors.isEmpty)
    }

    @Test(arguments: RandomSeeds.sample(4, of: 1...15))
    func `A restoration that deletes and restores objects on its way is exact`(seed: UInt64) throws
    {
        var random = SplitMix(seed: seed)
        var world = try HistoryWorld()
        let store = world.store
        let first = store.version
        for _ in 0..<40 {
            guard store.version > first, Int.random(in: 0..<3, using: &random) == 0 else {
                try world.commit(Int.random(in: 1...8, using: &random), in: store, using: &random)
                continue
            }
            let version = UInt64.random(in: first..<store.version, using: &random)
            let wanted = try store.at(version)
            let last = try frozen(store)
            try store.restore(version)
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
