import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

@Suite struct PastVersionTests {
    @Test(arguments: RandomSeeds.sample(4, of: 1...12))
    func `every version since the schema was created can be read exactly`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var world = try HistoryWorld()
        var kept = [try frozen(world.store)]
        for round in 0..<12 {
            let store = round % 3 == 2 ? world.stores.other : world.store
            try world.commit(Int.random(in: 0...12, using: &random), in: store, using: &random)
            world.stores.settle()
            kept.append(try frozen(world.store))
        }
        for view in kept {
            let past = try world.store.at(view.version)
            #expect(past.version == view.version)
            try expectSame(view, past, "version \(view.version)")
            if past.version != world.store.version {
                let faults = try past.snapshot.verify()
                #expect(faults.isEmpty, "\(faults)")
            }
        }
    }

    @Test func `an unavailable version is an error with the oldest available one`() throws {
        let folder = TemporaryFolder()
        var configuration = StoreConfiguration(
            .file(folder.file("a.moonpool")), schema: HistoryWorld.classes, durability: .memory,
            history: 8)
        let store = try Store(configuration, scheduler: ManualScheduler())
        let first = store.version
        let before = storeError(.outOfRange) { _ = try store.at(first - 1) }
        #expect(before?.message.contains("changed the schema") == true)
        let later = storeError(.outOfRange) { _ = try store.at(first + 1) }
        #expect(later?.message.contains("version \(first + 1) does not exist") == true)
        for id in 1...100 {
            try store.write { try store.create("Thing", .dictionary(Self.values(Int64(id)))) }
        }
        // The oldest change in the history can be undone.
        let oldest = try #require(try store.versions().first { $0.isKept }).version - 1
        #expect(oldest > first && oldest <= store.version - 8)
        let gone = storeError(.outOfRange) { _ = try store.at(oldest - 1) }
        #expect(gone?.message.contains("the oldest version is \(oldest)") == true)
        let past = try store.at(oldest)
        #expect(try past.table(store.schema.require("Thing")).count == Int(oldest - first))

        // Another writer of the file keeps no history.
        configuration.history = 0
        let other = try Store(configuration, scheduler: ManualScheduler())
        try other.write { try other.create("Thing", .dictionary(Self.values(1000))) }
        try store.refresh()
        let unkept = storeError(.outOfRange) { _ = try store.at(store.version - 1) }
        #expect(unkept?.message.contains("history = 0") == true)
        _ = storeError(.invalidArgument) { try store.undo() }
    }

    static func values(_ id: Int64) -> ValueMap {
        [
            "id": .int(id), "int": .int(0), "float": .float(0), "text": .string(""),
            "data": .data([]), "code": .objectID(ObjectIDValue(high: 0, low: 0)),
        ]
    }
}
