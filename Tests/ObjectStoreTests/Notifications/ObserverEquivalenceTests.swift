import ColumnStorage
import Glibc
import TestThreads
import Testing

@testable import ObjectStore

/// Observers receive the differences of a full comparison of the two versions, for random data, commits, queries,
/// lists, objects, key paths and delays, with and without the history.
///
/// `MOONPOOL_CHANGES=1000000` adds a long run with this number of changes.
@Suite struct ObserverEquivalenceTests {
    @Test(arguments: RandomSeeds.sample(10, of: 1...40))
    func `incremental changes equal a full comparison`(seed: UInt64) throws {
        _ = try run(seed, rounds: 15, changes: 0...6)
    }

    @Test(arguments: RandomSeeds.groups)
    func `Incremental changes of any seed equal a full comparison`(seeds: Range<UInt64>) throws {
        for seed in seeds { _ = try run(seed, rounds: 3, changes: 0...5) }
    }

    private static let wanted = getenv("MOONPOOL_CHANGES").flatMap { Int(String(cString: $0)) }

    @Test(.enabled(if: wanted != nil))
    func `a very long run misses nothing`() throws {
        var created = 0
        var seed: UInt64 = 1_000
        while created < Self.wanted ?? 0 {
            created += try run(seed, rounds: 60, changes: 10...60)
            seed += 1
        }
    }

    /// Runs observers of every kind on random commits, and returns the number of changes.
    private func run(_ seed: UInt64, rounds: Int, changes: ClosedRange<Int>) throws -> Int {
        var random = SplitMix(seed: seed)
        let world = try ObservedWorld(objects: Int.random(in: 0...30, using: &random))
        try world.store.write {
            for _ in 0..<4 { try world.store.create("Holder", .dictionary([:])) }
            for _ in 0..<4 { try world.store.create("Bag", .dictionary([:])) }
            for _ in 0..<30 { try RandomChange.make(in: world.store, using: &random) }
        }
        try world.other.refresh()
        world.stores.settle()
        var shadows: [any Shadow] = []
        for _ in 0..<12 { shadows.append(try QueryShadow(world, using: &random)) }
        for _ in 0..<8 { shadows += try [ListShadow(world, using: &random)].compactMap { $0 } }
        for _ in 0..<6 { shadows += try [ObjectShadow(world, using: &random)].compactMap { $0 } }
        world.stores.settle()
        var created = 0
        for round in 0..<rounds {
            // Several commits of another thread arrive together. A write of the own store includes earlier commits, so
            // it runs alone.
            let isOwn = Bool.random(using: &random)
            let store = isOwn ? world.store : world.other
            for _ in 0..<(isOwn ? 1 : Int.random(in: 1...3, using: &random)) {
                if Int.random(in: 0..<6, using: &random) == 0 {
                    // Restores rows with their old keys; throws if there is nothing to undo.
                    if (try? Bool.random(using: &random) ? store.undo() : store.redo()) != nil {
                        created += 1
                    }
                    continue
                }
                try store.write {
                    for _ in 0..<Int.random(in: changes, using: &random) {
                        try RandomChange.make(in: store, using: &random)
                        created += 1
                    }
                }
            }
            world.stores.settle()
            let hasPassed = round % 3 == 2
            if hasPassed { world.stores.scheduler.pass(.seconds(10)) }
            let now = try frozen(world.store)
            for shadow in shadows where hasPassed || !shadow.isDelayed {
                try shadow.check(now, world.store)
            }
        }
        #expect(world.errors.errors.isEmpty, "\(world.errors.errors)")
        return created
    }

    @Test(arguments: 1...10)
    func `without a history, only changes to equal values are not reported`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let world = try ObservedWorld(objects: 20)
        let before = try frozen(world.store)
        for _ in 0..<5 {
            try world.store.write {
                for _ in 0..<5 { try RandomChange.make(in: world.store, using: &random) }
            }
        }
        let now = try frozen(world.store)
        let compared = try VersionComparison.changes(from: before, to: now)
        let recorded = try #require(
            try world.store.view.snapshot.changes(from: before.version, to: now.version))
        for classSchema in now.schema.classes {
            let (found, known) = (
                compared.tables[classSchema.table] ?? TableChanges(),
                recorded.tables[classSchema.table] ?? TableChanges()
            )
            #expect(found.inserted == known.inserted)
            #expect(found.deleted == known.deleted)
            for property in classSchema.properties where !property.isBacklinks {
                let differing = (known.modified[property.column] ?? KeySet()).filter {
                    (try? before.value(property, of: $0, in: classSchema))
                        != (try? now.value(property, of: $0, in: classSchema))
                }
                #expect(found.modified[property.column] ?? KeySet() == KeySet(unordered: differing))
            }
        }
    }

    @Test func `a comparison finds changes of values that are not in the leaves of their columns`()
        throws
    {
        let long = String(repeating: "a", count: 2000)
        let key = String(repeating: "k", count: 300)
        let classes = [
            ClassSchema("Row", "number: int, text: string, any: mixed, list: int[], map: string{}")
        ]
        let store = try Store(
            StoreConfiguration(.memory("not in leaves"), schema: classes),
            scheduler: ManualScheduler())
        try store.write {
            for number in 0..<2000 {
                let elements = (0..<(number.isMultiple(of: 2) ? 100 : 2)).map { Value.int($0) }
                let values: ValueMap = [
                    "number": .int(Int64(number)), "text": .string(long),
                    "any": .list([.string(long)]), "list": .list(elements),
                    "map": .dictionary([key: .string("x")]),
                ]
                try store.create("Row", .dictionary(values))
            }
        }
        let schema = try store.schema.require("Row")
        let keys = try store.objects("Row").keys().array
        let before = try frozen(store)
        try store.write {
            func row(_ index: Int) -> LiveObject { LiveObject(.store(store), schema, keys[index]) }
            try row(3).set("text", .string(String(repeating: "b", count: 2000)))
            try row(600).list("list").set(.int(-1), at: 50)
            try row(601).list("list").set(.int(-1), at: 1)
            try row(1000).map("map").set(.string("y"), forKey: key)
            // The map has the same number of entries and the same value.
            #expect(try row(1001).map("map").removeValue(forKey: key))
            try row(1001).map("map").set(.string("x"), forKey: key.replacing("kk", with: "kl"))
            try row(1200).set("any", .list([.string(long + "b")]))
            try row(1500).set("number", .int(-1))
            try store.delete(row(1999))
            try store.create(
                "Row", .dictionary(["number": .int(0), "text": .string(""), "any": .null]))
        }
        let changes = try VersionComparison.changes(from: before, to: frozen(store))
        let found = try #require(changes.tables[schema.table])
        #expect(found.inserted.count == 1 && found.deleted == KeySet(keys[1999]))
        for (name, rows) in [
            ("number", [1500]), ("text", [3]), ("any", [1200]), ("list", [600, 601]),
            ("map", [1000, 1001]),
        ] {
            let column = try #require(schema.property(named: name)).column
            #expect(found.modified[column] == KeySet(unordered: rows.map { keys[$0] }), "\(name)")
        }
    }
}

/// A permanent copy of the current version of a store.
func frozen(_ store: Store) throws -> StoreView {
    StoreView(schema: store.schema, snapshot: try store.view.snapshot.frozen(), isFrozen: true)
}
