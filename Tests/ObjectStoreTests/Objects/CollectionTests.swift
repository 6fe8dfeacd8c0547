import ObjectStore
import TestThreads
import Testing

@Suite struct CollectionTests {
    @Test(arguments: RandomSeeds.sample(6, of: 1...12 as ClosedRange<UInt64>))
    func `sets and maps behave like plain ones through writes, commits, aborts and reopening`(
        seed: UInt64
    ) throws {
        var generator = SplitMix(seed: seed)
        let folder = TemporaryFolder()
        func open() throws -> Store {
            try Store.file(folder.file("test.moonpool"), CollectionWorld.classes)
        }
        var store = try open()
        try store.write { _ = try store.create("Owner", .dictionary(["id": .int(1)])) }
        var committed = (sets: [String: Set<Value>](), maps: [String: ValueMap]())
        for _ in 0..<12 {
            var models = committed
            try store.beginWrite()
            let owner = try #require(try store.object("Owner", primaryKey: .int(1)))
            for step in 0..<60 {
                let type = CollectionWorld.scalars.randomElement(using: &generator)!
                let isOptional = type == .mixed || Bool.random(using: &generator)
                let make: (inout SplitMix) -> Value = {
                    CollectionWorld.random(type, isOptional: isOptional, &$0)
                }
                if step % 2 == 0 {
                    let name = CollectionWorld.name(type, .set, isOptional)
                    try change(owner.set(name), &models.sets[name, default: []], make, &generator)
                } else {
                    let name = CollectionWorld.name(type, .map, isOptional)
                    try change(owner.map(name), &models.maps[name, default: [:]], make, &generator)
                }
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
            for (name, model) in committed.sets { try check(reader.set(name), model) }
            for (name, model) in committed.maps { try check(reader.map(name), model) }
        }
    }

    private func change(
        _ set: LiveSet, _ model: inout Set<Value>, _ make: (inout SplitMix) -> Value,
        _ generator: inout SplitMix
    ) throws {
        let value = make(&generator)
        let others = (0..<Int.random(in: 0..<12, using: &generator)).map { _ in make(&generator) }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0...3: #expect(try set.insert(value) == model.insert(value).inserted)
        case 4...5: #expect(try set.remove(value) == (model.remove(value) != nil))
        case 6:
            try set.formUnion(others)
            model.formUnion(others)
        case 7:
            try set.subtract(others)
            model.subtract(others)
        case 8:
            #expect(Set(try set.symmetricDifference(others)) == model.symmetricDifference(others))
            try set.formSymmetricDifference(others)
            model.formSymmetricDifference(others)
        default:
            let some = others + Array(model.prefix(3))
            try set.formIntersection(some)
            model.formIntersection(some)
        }
        try check(set, model)
    }

    private func check(_ set: LiveSet, _ model: Set<Value>) throws {
        let values = try set.values()
        #expect(values.count == model.count)
        #expect(Set(values) == model)
        for value in model.prefix(3) {
            let index = try #require(try set.firstIndex(of: value))
            #expect(try set.element(at: index) == value)
        }
        let ints = values.compactMap { if case .int(let number) = $0 { number } else { nil } }
        #expect(ints == ints.sorted())
        let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        #expect(zip(texts, texts.dropFirst()).allSatisfy { $0.precedesInBytes($1) })
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
