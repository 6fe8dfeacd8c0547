import ObjectStore
import Testing

@Suite struct MapTests {
    private func makeOwner(_ store: Store) throws -> LiveObject {
        try store.create("Owner", .dictionary(["id": .int(1)]))
    }

    @Test func `entries are set, replaced, removed and cleared, in byte order of the keys`()
        throws
    {
        let store = try Store.temporary(CollectionWorld.classes)
        let owner = try store.write { try makeOwner(store) }
        let map = try owner.map("int_map")
        try store.write {
            for (index, key) in ["b", "ä", "Z", "", "b2", "a\0"].enumerated() {
                try map.set(.int(Int64(index)), forKey: key)
            }
            try map.set(.int(9), forKey: "b")
        }
        #expect(try map.keys() == ["", "Z", "a\0", "b", "b2", "ä"])
        #expect(try map.values() == [.int(3), .int(2), .int(5), .int(9), .int(4), .int(1)])
        #expect(try map.value(forKey: "b") == .int(9))
        #expect(try map.value(forKey: "c") == nil)
        #expect(try map.count() == 6)
        #expect(
            try owner.value("int_map")
                == .dictionary([
                    "": .int(3), "Z": .int(2), "a\0": .int(5), "b": .int(9), "b2": .int(4),
                    "ä": .int(1),
                ]))
        try store.write {
            #expect(try map.removeValue(forKey: "b"))
            #expect(try !map.removeValue(forKey: "b"))
            #expect(try map.keys() == ["", "Z", "a\0", "b2", "ä"])
            try map.removeAll()
            #expect(try map.keys() == [])
            #expect(try map.count() == 0)
            try map.set(.int(1), forKey: "x")
        }
        #expect(try map.entries().map(\.key) == ["x"])
    }

    @Test func `an invalid map element is refused and changes nothing`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        let owner = try store.write { try makeOwner(store) }
        let map = try owner.map("int_map")
        _ = storeError(.notInWrite) { try map.set(.int(1), forKey: "a") }
        try store.write {
            try map.set(.int(1), forKey: "a")
            _ = storeError(.typeMismatch) { try map.set(.string("x"), forKey: "a") }
            _ = storeError(.missingValue) { try map.set(.null, forKey: "a") }
            _ = storeError(.typeMismatch) { try owner.set("int_map", .list([.int(1)])) }
            _ = storeError(.typeMismatch) {
                try owner.set("int_map", .dictionary(["b": .int(1), "c": .bool(true)]))
            }
            _ = storeError(.typeMismatch) {
                try owner.map("dogMap").set(.object(owner.reference), forKey: "a")
            }
            #expect(try map.entries().map(\.value) == [.int(1)])
            try owner.map("int_optional_map").set(.null, forKey: "n")
            #expect(try owner.map("int_optional_map").value(forKey: "n") == .null)
        }
        let frozen = try LiveObject.frozen(owner, store).map("int_map")
        _ = storeError(.frozen) { try frozen.set(.int(2), forKey: "a") }
        _ = storeError(.typeMismatch) { _ = try owner.map("int_set") }
        try store.write { try store.delete(owner) }
        #expect(!map.isValid)
        #expect(try frozen.keys() == ["a"])
        _ = storeError(.invalidObject) { _ = try map.keys() }
        _ = storeError(.invalidObject) { _ = try map.value(forKey: "a") }
        try store.write {
            _ = storeError(.invalidObject) { try map.set(.int(1), forKey: "a") }
            _ = storeError(.invalidObject) { try map.removeValue(forKey: "a") }
        }
    }

    @Test func `links in maps can be nil, and a deleted object keeps its key`()
        throws
    {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let owner = try store.create(
                "Owner",
                .dictionary([
                    "id": .int(1),
                    "dogMap": .dictionary(["new": .dictionary(["id": .int(100)]), "none": .null]),
                ]))
            let map = try owner.map("dogMap")
            let dog = try CollectionWorld.dog(store, 1)
            for key in ["a", "c", "z"] { try map.set(dog, forKey: key) }
            try map.set(CollectionWorld.dog(store, 2), forKey: "b")
            guard case .object(let reference) = dog, let live = store.object(reference) else {
                Issue.record("no dog")
                return
            }
            let link = Value.object(owner.reference)
            #expect(try live.value("inMaps") == .list([link, link, link]))
            #expect(try map.count() == 6)
            try store.delete(live)
            #expect(try map.keys() == ["a", "b", "c", "new", "none", "z"])
            #expect(try map.value(forKey: "a") == .null)
            #expect(try map.value(forKey: "none") == .null)
            #expect(try Results(map).count() == 2)
            try map.set(CollectionWorld.dog(store, 3), forKey: "a")
            #expect(try Results(map).count() == 3)
        }
    }

    @Test func `mixed values can be links, lists and maps, which change in place`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        try store.write {
            let map = try makeOwner(store).map("mixed_optional_map")
            let dog = try CollectionWorld.dog(store, 1)
            try map.set(dog, forKey: "dog")
            try map.set(.list([.int(1), dog]), forKey: "list")
            guard case .nested(let list) = try NestedCollection.item(at: .entry(map, "list")) else {
                Issue.record("no list")
                return
            }
            try list.append([.string("x")])
            #expect(try map.value(forKey: "list") == .list([.int(1), dog, .string("x")]))
            guard case .object(let reference) = dog, let live = store.object(reference) else {
                return
            }
            try store.delete(live)
            #expect(try map.value(forKey: "dog") == .null)
            #expect(try map.value(forKey: "list") == .list([.int(1), .null, .string("x")]))
            try map.removeValue(forKey: "list")
            #expect(!list.isValid)
            _ = storeError(.invalidObject) { _ = try list.count() }
        }
    }

    @Test func `update all replaces a map, update modified merges it`() throws {
        let store = try Store.temporary(CollectionWorld.classes)
        func given(_ entries: ValueMap) -> Value {
            .dictionary(["id": .int(1), "int_map": .dictionary(entries)])
        }
        try store.write {
            let owner = try store.create("Owner", given(["a": .int(1), "b": .int(2)]))
            try store.create("Owner", given(["b": .int(3), "c": .int(4)]), mode: .modified)
            #expect(
                try owner.value("int_map")
                    == .dictionary(["a": .int(1), "b": .int(3), "c": .int(4)]))
            try store.create("Owner", given(["x": .int(5)]), mode: .all)
            #expect(try owner.value("int_map") == .dictionary(["x": .int(5)]))
            // Assigning a map to itself keeps its contents.
            try owner.set("int_map", owner.value("int_map"))
            #expect(try owner.value("int_map") == .dictionary(["x": .int(5)]))
            // Assigning nil empties the map.
            try owner.set("int_map", .null)
            #expect(try owner.map("int_map").count() == 0)
        }
    }

    @Test func `a map of embedded objects owns them`() throws {
        let store = try Store.temporary([
            ClassSchema(
                "Owner",
                [
                    Property("id", .int, isPrimary: true),
                    Property("homes", .object, collection: .map, target: "Address"),
                ]),
            ClassSchema("Address", [Property("city", .string)], isEmbedded: true),
        ])
        func address(_ city: String) -> Value { .dictionary(["city": .string(city)]) }
        func given(_ homes: ValueMap) -> Value {
            .dictionary(["id": .int(1), "homes": .dictionary(homes)])
        }
        try store.write {
            let owner = try store.create(
                "Owner", given(["a": address("Rome"), "b": address("Bern"), "none": .null]))
            let homes = try owner.map("homes")
            func city(_ key: String) throws -> Value? {
                guard case .object(let home)? = try homes.value(forKey: key) else { return nil }
                return try store.object(home)?.value("city")
            }
            func homesLeft() throws -> Int {
                try store.view.table(store.schema.require("Address")).count
            }
            #expect(try homes.keys() == ["a", "b", "none"])
            #expect(try city("a") == .string("Rome"))
            let rome = try #require(try homes.value(forKey: "a"))
            _ = storeError(.invalidArgument) { try homes.set(rome, forKey: "b") }
            try homes.set(rome, forKey: "a")
            #expect(try homesLeft() == 2)
            try homes.set(address("Oslo"), forKey: "b")
            #expect(try city("b") == .string("Oslo"))
            #expect(try homesLeft() == 2)
            // "modified" changes existing values in place and keeps the values that are not given.
            try store.create(
                "Owner", given(["a": address("Paris"), "c": address("Riga")]), mode: .modified)
            #expect(try homes.value(forKey: "a") == rome)
            #expect(try city("a") == .string("Paris"))
            #expect(try homes.keys() == ["a", "b", "c", "none"])
            #expect(try homesLeft() == 3)
            _ = storeError(.missingValue) {
                try owner.set("homes", .dictionary(["x": address("Kiel"), "y": .dictionary([:])]))
            }
            #expect(try homesLeft() == 3)
            try owner.set("homes", .dictionary(["x": rome, "y": address("Kiel")]))
            #expect(try homes.value(forKey: "x") == rome)
            #expect(try homesLeft() == 2)
            #expect(try homes.removeValue(forKey: "x"))
            #expect(try homesLeft() == 1)
            try homes.removeAll()
            #expect(try homesLeft() == 0)
            try homes.set(address("Nice"), forKey: "z")
            try store.delete(owner)
            #expect(try homesLeft() == 0)
        }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
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
