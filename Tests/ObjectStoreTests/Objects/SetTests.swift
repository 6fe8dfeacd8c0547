import ObjectStore
import Testing

@Suite struct SetTests {
    private func makeOwner(_ store: Store) throws -> LiveObject {
        try store.create("Owner", .dictionary(["id": .int(1)]))
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `sets behave like plain sets through writes, commits, aborts and reopening`(seed: UInt64)
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
        let types = CollectionWorld.scalars
        try store.write { _ = try makeOwner(store) }
        var committed: [String: Set<Value>] = [:]
        for _ in 0..<12 {
            var models = committed
            try store.beginWrite()
            let owner = try #require(try store.object("Owner", primaryKey: .int(1)))
            for _ in 0..<30 {
                let type = types.randomElement(using: &generator)!
                let isOptional = type == .mixed || Bool.random(using: &generator)
                let name = CollectionWorld.name(type, .set, isOptional)
                try change(
                    owner.set(name), &models[name, default: []],
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
            for (name, model) in committed { try check(reader.set(name), model) }
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
}

extension LiveObject {
    static func frozen(_ object: LiveObject, _ store: Store) throws -> LiveObject {
        ObjectSource.frozen(try store.frozenView()).object(object.classSchema, object.key)
    }
}
