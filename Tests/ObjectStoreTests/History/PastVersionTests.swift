import ColumnStorage
import Testing

@testable import ObjectStore

@Suite struct PastVersionTests {
    @Test(arguments: 1...12)
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

    @Test func `opening an open version again returns the same view`() throws {
        var random = SplitMix(seed: 1)
        var world = try HistoryWorld()
        try world.commit(5, in: world.store, using: &random)
        let version = world.store.version
        try world.commit(5, in: world.store, using: &random)
        let past = try world.store.at(version)
        #expect(try world.store.at(version) === past)
        #expect(try world.store.at(world.store.version).version == world.store.version)
        past.close()
        #expect(try world.store.at(version) !== past)
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

    @Test func `versions can be read after the file is reopened`() throws {
        let folder = TemporaryFolder()
        let configuration = StoreConfiguration(
            .file(folder.file("a.moonpool")), schema: HistoryWorld.classes, durability: .memory)
        var store = try Store(configuration, scheduler: ManualScheduler())
        let empty = store.version
        let thing = try store.write {
            try store.create("Thing", .dictionary(Self.values(1))).reference
        }
        try store.write { try store.object(thing)?.set("text", .string("later")) }
        store.close()
        store = try Store(configuration, scheduler: ManualScheduler())
        let schema = try store.schema.require("Thing")
        let text = try schema.requireProperty("text")
        #expect(try store.at(empty).table(schema).count == 0)
        #expect(try store.at(empty + 1).value(text, of: thing.key, in: schema) == .string(""))
        try store.undo()
        #expect(try store.object(thing)?.value("text") == .string(""))
    }

    @Test func `the difference of two versions names objects and values, in either direction`()
        throws
    {
        let store = try Store.temporary(HistoryWorld.classes)
        let (one, two) = try store.write {
            (
                try store.create("Thing", .dictionary(Self.values(1))),
                try store.create("Thing", .dictionary(Self.values(2)))
            )
        }
        let first = store.version
        try store.write {
            try one.set("int", .int(5))
            try two.set("int", .int(7))
            try one.list("ints").append([.int(1)])
        }
        try store.write {
            try two.set("int", .int(0))
            try store.create("Thing", .dictionary(Self.values(3)))
        }
        let three = try #require(try store.object("Thing", primaryKey: .int(3)))
        try store.write { try store.delete(two) }
        let difference = try store.difference(from: first, to: store.version)
        let things = try #require(difference.classes.first)
        #expect(difference.classes.count == 1 && things.classSchema.name == "Thing")
        #expect(things.inserted == [three.reference] && things.deleted == [two.reference])
        #expect(things.modified.map(\.object) == [one.reference])
        #expect(things.modified[0].properties.map(\.property.name) == ["int", "ints"])
        #expect(things.modified[0].properties.map(\.old) == [.int(0), .list([])])
        #expect(things.modified[0].properties.map(\.new) == [.int(5), .list([.int(1)])])

        let back = try store.difference(from: store.version, to: first).classes[0]
        #expect(back.inserted == [two.reference] && back.deleted == [three.reference])
        #expect(back.modified[0].properties[0].new == .int(0))
        #expect(try store.difference(from: first, to: first).classes.isEmpty)
        // A value that was set back is not a difference, and neither is an undone deletion.
        try store.undo()
        let undone = try store.difference(from: store.version - 2, to: store.version)
        #expect(undone.classes.isEmpty)
    }
}
