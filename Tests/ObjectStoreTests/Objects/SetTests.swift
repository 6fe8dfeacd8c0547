import ObjectStore
import Testing

@Suite struct SetTests {
    private func makeOwner(_ store: Store) throws -> LiveObject {
        try store.create("Owner", .dictionary(["id": .int(1)]))
    }

    @Test func `adding an existing element changes nothing, and elements are sorted`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        let owner = try store.write { try makeOwner(store) }
        let numbers = try owner.set("int_optional_set")
        try store.write { () throws in
            #expect(try numbers.insert(.int(5)))
            #expect(try numbers.insert(.int(-3)))
            #expect(try !numbers.insert(.int(5)))
            #expect(try numbers.insert(.null))
            // A whole number is an int.
            #expect(try !numbers.insert(.double(5)))
        }
        #expect(try numbers.values() == [.null, .int(-3), .int(5)])
        #expect(try numbers.element(at: 0) == .null)
        #expect(try numbers.element(at: 3) == nil)
        #expect(try numbers.element(at: -1) == nil)
        #expect(try numbers.firstIndex(of: .int(5)) == 2)
        #expect(try numbers.contains(.null))
        #expect(try !numbers.contains(.string("5")))
        #expect(try numbers.count() == 3)
    }

    @Test func `a set of doubles contains NaN once and first, and the two zeros once`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let set = try makeOwner(store).set("double_set")
            for number in [1.5, .nan, 0.0, -0.0, .nan, -.infinity, .infinity] {
                try set.insert(.double(number))
            }
            #expect(try set.count() == 5)
            #expect(try set.contains(.double(.nan)))
            #expect(try set.contains(.double(-0.0)))
            #expect(try set.element(at: 1) == .double(-.infinity))
            #expect(try set.firstIndex(of: .double(.nan)) == 0)
        }
    }

    @Test func `equal decimals are one element, regardless of trailing zeros`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let set = try makeOwner(store).set("decimal_set")
            for text in ["12.30", "-1", "12.3", "1e3", "0.1"] {
                try set.insert(.decimal(#require(DecimalValue(text))))
            }
            #expect(try !set.insert(.double(0.1)))
            #expect(try set.values().map(\.summary) == ["-1", "0.1", "12.30", "1E+3"])
        }
    }

    @Test
    func `a set of mixed values is sorted by type, with equal numbers as one element`()
        throws
    {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let set = try makeOwner(store).set("mixed_optional_set")
            let dog = try CollectionWorld.dog(store, 1)
            try set.formUnion([
                .string("a"), .int(1), .double(1), dog, .null, .bool(true), .double(0.5),
            ])
            #expect(
                try set.values() == [.null, .bool(true), .double(0.5), .int(1), .string("a"), dog])
            _ = storeError(.typeMismatch) { try set.insert(.list([.int(1)])) }
            _ = storeError(.typeMismatch) { try set.formUnion([.dictionary(["a": .int(1)])]) }
            guard case .object(let reference) = dog, let live = store.object(reference) else {
                return
            }
            try store.delete(live)
            #expect(try set.values() == [.null, .bool(true), .double(0.5), .int(1), .string("a")])
        }
    }

    @Test func `an assigned list is sorted without duplicates`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let owner = try store.create(
                "Owner",
                .dictionary([
                    "id": .int(1),
                    "string_set": .list([.string("b"), .string("a"), .string("b"), .string("Z")]),
                ]))
            let letters: Value = .list([.string("Z"), .string("a"), .string("b")])
            #expect(try owner.value("string_set") == letters)
            // Assigning a set to itself keeps its contents.
            try owner.set("string_set", owner.value("string_set"))
            #expect(try owner.value("string_set") == letters)
            try owner.set("string_set", .null)
            #expect(try owner.value("string_set") == .list([]))
        }
    }

    @Test func `an invalid set element is refused and changes nothing`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        let owner = try store.write { try makeOwner(store) }
        let numbers = try owner.set("int_set")
        _ = storeError(.notInWrite) { try numbers.insert(.int(1)) }
        try store.write {
            try numbers.insert(.int(1))
            let wrong = storeError(.typeMismatch) { try numbers.insert(.string("x")) }
            #expect(
                wrong?.message.contains("an element of 'int_set' of 'Owner' expects int") == true)
            let missing = storeError(.missingValue) { try numbers.insert(.null) }
            #expect(missing?.message.contains("declare it \"int?<>\"") == true)
            _ = storeError(.typeMismatch) { try numbers.insert(.double(1.5)) }
            _ = storeError(.typeMismatch) { try numbers.formUnion([.int(7), .string("x")]) }
            _ = storeError(.typeMismatch) { _ = try numbers.union([.string("x")]) }
            _ = storeError(.typeMismatch) { try owner.set("int_set", .int(3)) }
            _ = storeError(.typeMismatch) { try owner.set("int_set", .dictionary(["a": .int(3)])) }
            _ = storeError(.typeMismatch) {
                try owner.set("dogSet").insert(.object(owner.reference))
            }
            _ = storeError(.missingValue) { try owner.set("dogSet").insert(.null) }
            let dog = try CollectionWorld.dog(store, 1)
            guard case .object(let reference) = dog, let live = store.object(reference) else {
                return
            }
            try store.delete(live)
            _ = storeError(.invalidObject) { try owner.set("dogSet").insert(dog) }
            #expect(try numbers.values() == [.int(1)])
        }
        _ = storeError(.typeMismatch) { _ = try owner.list("int_set") }
        _ = storeError(.typeMismatch) { _ = try owner.set("int_map") }
        let frozen = try LiveObject.frozen(owner, store).set("int_set")
        _ = storeError(.frozen) { try frozen.insert(.int(2)) }
        try store.write { try store.delete(owner) }
        #expect(!numbers.isValid)
        #expect(frozen.isValid)
        #expect(try frozen.values() == [.int(1)])
        _ = storeError(.invalidObject) { _ = try numbers.values() }
        _ = storeError(.invalidObject) { _ = try numbers.count() }
        _ = storeError(.invalidObject) { _ = try numbers.contains(.int(1)) }
        try store.write {
            _ = storeError(.invalidObject) { try numbers.insert(.int(1)) }
            _ = storeError(.invalidObject) { try numbers.removeAll() }
        }
        store.close()
        _ = storeError(.closed) { _ = try numbers.values() }
    }

    @Test func `set algebra works in place and as plain values`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let set = try makeOwner(store).set("int_set")
            try set.formUnion([.int(3), .int(1), .int(2), .int(3)])
            let others: [Value] = [.int(4), .int(2), .int(2), .double(3)]
            #expect(try set.union(others) == [.int(1), .int(2), .int(3), .int(4)])
            #expect(try set.intersection(others + [.string("x")]) == [.int(2), .int(3)])
            #expect(try set.subtracting(others) == [.int(1)])
            #expect(try set.symmetricDifference(others) == [.int(1), .int(4)])
            #expect(try !set.isSubset(of: others))
            #expect(try set.isSubset(of: others + [.int(1), .null]))
            #expect(try set.isSuperset(of: [.int(2)]))
            #expect(try !set.isSuperset(of: [.int(2), .string("x")]))
            #expect(try set.intersects([.int(9), .int(1)]))
            try set.formIntersection(others)
            #expect(try set.values() == [.int(2), .int(3)])
            try set.formSymmetricDifference([.int(3), .int(9), .int(9)])
            #expect(try set.values() == [.int(2), .int(9)])
            try set.subtract([.int(9), .string("x")])
            #expect(try set.values() == [.int(2)])
            #expect(try !set.remove(.int(5)))
            #expect(try set.remove(.int(2)))
            #expect(try set.values() == [])
            #expect(try set.isSubset(of: []))
        }
    }

    @Test func `a deleted object is removed from every set, and backlinks follow sets`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let (first, second) = (
                try makeOwner(store), try store.create("Owner", .dictionary(["id": .int(2)]))
            )
            let dogs = try (0..<5).map { try CollectionWorld.dog(store, $0) }
            try first.set("dogSet").formUnion(dogs.reversed())
            try second.set("dogSet").insert(dogs[2])
            #expect(try first.set("dogSet").values() == dogs)
            guard case .object(let reference) = dogs[2], let dog = store.object(reference) else {
                Issue.record("no dog")
                return
            }
            #expect(
                try dog.value("inSets")
                    == .list([
                        .object(first.reference), .object(second.reference),
                    ]))
            try store.delete(dog)
            #expect(try first.set("dogSet").values() == [dogs[0], dogs[1], dogs[3], dogs[4]])
            #expect(try second.set("dogSet").count() == 0)
            #expect(try Results(first.set("dogSet")).count() == 4)
            // Deleting an owner deletes only the owner.
            try store.delete(first)
            #expect(try store.objects("Dog").count() == 4)
            guard case .object(let left) = dogs[0], let rest = store.object(left) else { return }
            #expect(try rest.value("inSets") == .list([]))
        }
    }

    @Test func `nested values create the objects of a set`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let owner = try store.create(
                "Owner",
                .dictionary([
                    "id": .int(1),
                    "dogSet": .list([.dictionary(["id": .int(7)]), .list([.int(3), .int(4)])]),
                ]))
            #expect(try owner.set("dogSet").count() == 2)
            try owner.set("dogSet").insert(.dictionary(["id": .int(9)]))
            #expect(try store.objects("Dog").count() == 3)
        }
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
