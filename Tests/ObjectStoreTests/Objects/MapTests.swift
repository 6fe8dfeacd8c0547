import ObjectStore
import TestThreads
import Testing

@Suite struct MapTests {
    private func makeOwner(_ store: Store) throws -> LiveObject {
        try store.create("Owner", .dictionary(["id": .int(1)]))
    }

    @Test(arguments: RandomSeeds.sample(4, of: 1...12 as ClosedRange<UInt64>))
    func `maps behave like dictionaries through writes, commits, aborts and reopening`(seed: UInt64)
        throws
    {
        var generator = SplitMix(seed: seed)
        let folder = TemporaryFolder()
        func open() throws -> Store {
            var configuration = StoreConfiguration(
                .file(folder.file("test.moonpool")), schema: CollectionWorld.classes)
            configuration.durability = .memory
            return try Store(configuration, scheduler: ManualScheduler())
        }
        var store = try open()
        try store.write { _ = try makeOwner(store) }
        var committed: [String: ValueMap] = [:]
        for _ in 0..<12 {
            var models = committed
            try store.beginWrite()
            let owner = try #require(try store.object("Owner", primaryKey: .int(1)))
            for _ in 0..<30 {
                let type = CollectionWorld.scalars.randomElement(using: &generator)!
                let isOptional = type == .mixed || Bool.random(using: &generator)
                let name = CollectionWorld.name(type, .map, isOptional)
                try change(
                    owner.map(name), &models[name, default: [:]],
                    { CollectionWorld.random(type, isOptional: isOptional, &$0) }, &generator)
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                try store.cancelWrite()
            } else {
                try store.commitWrite()
                committed = models
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                store.close()
                store = try open()
            }
            let reader = try #require(try store.object("Owner", primaryKey: .int(1)))
            for (name, model) in committed { try check(reader.map(name), model) }
        }
    }

    private func change(
        _ map: LiveMap, _ model: inout ValueMap, _ make: (inout SplitMix) -> Value,
        _ generator: inout SplitMix
    ) throws {
        let length = [0, 1, 2, 3, 700].randomElement(using: &generator)!
        let key = String(
            (0..<length).map { _ in ["a", "b", "é", "\0", "~"].randomElement(using: &generator)! })
        switch Int.random(in: 0..<20, using: &generator) {
        case 0...10:
            let value = make(&generator)
            try map.set(value, forKey: key)
            model[key] = value
        case 11...16:
            let known = model.keys.sorted().randomElement(using: &generator) ?? key
            #expect(try map.removeValue(forKey: known) == (model.removeValue(forKey: known) != nil))
        case 17...18:
            // Enough entries for several chunks.
            for number in 0..<600 {
                let value = make(&generator)
                try map.set(value, forKey: "\(number * 7 % 600)")
                model["\(number * 7 % 600)"] = value
            }
        default:
            try map.removeAll()
            model = [:]
        }
        #expect(try map.value(forKey: key) == model[key])
        if model.count < 100 { try check(map, model) }
    }

    private func check(_ map: LiveMap, _ model: ValueMap) throws {
        let entries = try map.entries()
        let expected = model.inByteOrder
        #expect(try map.count() == model.count)
        #expect(entries.map(\.key) == expected.map(\.key))
        #expect(entries.map(\.value) == expected.map(\.value))
    }
}
