import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

private struct Refused: Error {}

@Suite struct SavepointTests {
    /// The same random changes in two stores, one of which also makes changes in savepoints that it rolls back.
    @Test(arguments: RandomSeeds.sample(4, of: 1...12))
    func `a rolled-back savepoint leaves no trace`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var world = try HistoryWorld()
        var twin = try HistoryWorld()
        let store = world.store
        for round in 0..<25 {
            let before = try frozen(store)
            let twinBefore = try frozen(twin.store)
            try store.beginWrite()
            try twin.store.beginWrite()
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let count = Int.random(in: 0...6, using: &random)
                try write(count, seed: random.next(), in: &world, and: &twin)
                try discard(in: &world, using: &random, depth: 0)
                #expect(try picture(store.view) == picture(twin.store.view))
            }
            try store.commitWrite()
            try twin.store.commitWrite()
            let after = try frozen(store)
            #expect(try picture(after) == picture(twin.store.view), "round \(round)")
            #expect(
                try changes(from: before, to: after)
                    == changes(from: twinBefore, to: frozen(twin.store)), "round \(round)")
            if round % 8 == 7 {
                let faults = try store.verify()
                #expect(faults.isEmpty, "\(faults)")
            }
            if round % 5 == 4, try picture(before) != picture(after) {
                try store.undo()
                #expect(try picture(store.view) == picture(before))
                try store.redo()
                #expect(try picture(store.view) == picture(after))
            }
        }
    }

    /// Makes the same changes in both worlds; a part of them in a savepoint of the first one.
    private func write(
        _ count: Int, seed: UInt64, in world: inout HistoryWorld, and twin: inout HistoryWorld
    ) throws {
        var random = SplitMix(seed: seed)
        try twin.change(count, in: twin.store, using: &random)
        random = SplitMix(seed: seed)
        if seed % 2 == 0 {
            try world.store.savepoint { try world.change(count, in: world.store, using: &random) }
        } else {
            try world.change(count, in: world.store, using: &random)
        }
    }

    /// Makes changes in nested savepoints, the outermost of which fails.
    private func discard(
        in world: inout HistoryWorld, using random: inout SplitMix, depth: Int
    ) throws {
        var lost = world
        #expect(throws: Refused.self) {
            try world.store.savepoint {
                try lost.change(
                    Int.random(in: 0...8, using: &random), in: lost.store, using: &random)
                if depth < 3, Bool.random(using: &random) {
                    let before = try picture(lost.store.view)
                    try discard(in: &lost, using: &random, depth: depth + 1)
                    #expect(try picture(lost.store.view) == before)
                    try lost.store.savepoint {
                        try lost.change(
                            Int.random(in: 0...8, using: &random), in: lost.store, using: &random)
                    }
                }
                throw Refused()
            }
        }
    }

    @Test func `a savepoint larger than the buffers is rolled back`() throws {
        let store = try Store.temporary([
            ClassSchema(
                "Note",
                "id: int primary, text: string fulltext, rank: int indexed, words: string[]",
                indexes: [CompositeIndex(["rank", "id"])])
        ])
        func add(_ ids: Range<Int64>) throws {
            for id in ids {
                let text = String(repeating: "word\(id % 50) ", count: id % 100 == 0 ? 900 : 3)
                try store.create(
                    "Note",
                    .dictionary([
                        "id": .int(id), "text": .string(text), "rank": .int(id * 7919 % 1000),
                        "words": .list([.string("a\(id)"), .string("b")]),
                    ]))
            }
        }
        func ids(_ predicate: String) throws -> [Value] {
            try store.objects("Note").filtered(predicate).keys().array.map {
                try store.view.value(
                    store.schema.require("Note").requireProperty("id"), of: $0,
                    in: store.schema.require("Note"))
            }
        }
        try store.write {
            try add(0..<700)
            let seven = try ids("rank == 7 OR text text 'word7'")
            _ = try? store.savepoint {
                try add(700..<9000)
                try store.delete(
                    store.objects("Note").filtered("rank < 300").keys().array,
                    of: store.schema.require("Note"))
                throw Refused()
            }
            #expect(try store.objects("Note").count() == 700)
            #expect(try ids("rank == 7 OR text text 'word7'") == seven)
            #expect(try store.object("Note", primaryKey: .int(800)) == nil)
            try add(700..<800)
        }
        #expect(try store.objects("Note").count() == 800)
        #expect(try ids("words CONTAINS \"a750\"") == [.int(750)])
        let faults = try store.verify()
        #expect(faults.isEmpty, "\(faults)")
    }

    @Test func `a schema change in a savepoint is rolled back with its objects`() throws {
        let scheduler = ManualScheduler()
        let dog = ClassSchema("Dog", "name: string")
        let store = try Store.temporary([dog], scheduler: scheduler)
        let larger = ClassSchema("Dog", "name: string indexed, age: int, toys: Toy[]")
        let toy = ClassSchema("Toy", "price: int indexed")
        try store.write { try store.create("Dog", .dictionary(["name": .string("Rex")])) }
        try store.write {
            _ = try? store.savepoint {
                try store.defineInWrite([larger, toy])
                let ball = try store.create("Toy", .dictionary(["price": .int(3)]))
                try store.create(
                    "Dog",
                    .dictionary(["name": .string("Max"), "toys": .list([.object(ball.reference)])]))
                throw Refused()
            }
            #expect(try store.schema.require("Dog").properties.map(\.name) == ["name"])
            #expect(throws: StoreError.self) { try store.schema.require("Toy") }
            #expect(try store.objects("Dog").count() == 1)
            try store.create("Dog", .dictionary(["name": .string("Ben")]))
        }
        #expect(try store.verify().isEmpty)
        try store.write {
            try store.defineInWrite([ClassSchema("Cat", "lives: int")])
            _ = try? store.savepoint {
                try store.defineInWrite([larger, toy])
                throw Refused()
            }
            try store.savepoint { try store.defineInWrite([toy]) }
            try store.create("Toy", .dictionary(["price": .int(5)]))
        }
        #expect(Set(store.schema.classes.map(\.name)) == ["Dog", "Cat", "Toy"])
        #expect(try store.objects("Toy").filtered("price == 5").count() == 1)
        #expect(try store.verify().isEmpty)
    }

    @Test func `an object of a write that was rolled back never becomes another one`() throws {
        let stores = try StorePair([ClassSchema("Dog", "id: int primary")])
        func create(_ store: Store, _ id: Int64) throws -> LiveObject {
            try store.create("Dog", .dictionary(["id": .int(id)]))
        }
        var lost: [LiveObject] = []
        for round in 0..<3 {
            _ = try? stores.store.write {
                for id in 0..<600 { lost.append(try create(stores.store, Int64(id + 10_000))) }
                throw Refused()
            }
            let writer = round == 1 ? stores.other : stores.store
            try writer.write { _ = try create(writer, Int64(round)) }
            stores.settle()
            #expect(lost.filter(\.isValid).isEmpty)
        }
        try stores.store.undo()
        #expect(try stores.store.objects("Dog").count() == 2)
        #expect(try stores.store.verify().isEmpty)
    }

    @Test func `the keys of one store are not reserved in another one`() throws {
        let classes = [ClassSchema("Dog", "id: int primary")]
        // The files are likely to be opened at the same memory address, one after the other.
        var closed: [Store] = []
        for _ in 0..<20 {
            let store = try Store.temporary(classes)
            let first = try store.write { try store.create("Dog", .dictionary(["id": .int(1)])) }
            #expect(first.key == ObjectKey(0))
            _ = try? store.write {
                try store.create("Dog", .dictionary(["id": .int(2)]))
                throw Refused()
            }
            store.close()
            closed.append(store)
        }
    }

    /// All objects by their identifiers, with links as identifiers and embedded objects as their values.
    private func picture(_ view: StoreView) throws -> [Int64: [String: String]] {
        let schema = try view.schema.require("Thing")
        var result: [Int64: [String: String]] = [:]
        for key in try Results(.frozen(view), Query(all: schema)).keys().array {
            var values: [String: String] = [:]
            for property in schema.properties {
                values[property.name] = try text(view.value(property, of: key, in: schema), view)
            }
            result[try id(key, view)] = values
        }
        return result
    }

    private func id(_ key: ObjectKey, _ view: StoreView) throws -> Int64 {
        let schema = try view.schema.require("Thing")
        guard
            case .int(let id) = try view.value(schema.requireProperty("id"), of: key, in: schema)
        else { throw Refused() }
        return id
    }

    private func text(_ value: Value, _ view: StoreView) throws -> String {
        switch value {
        case .object(let reference):
            let schema = try #require(view.schema.find(table: reference.table))
            if schema.name == "Thing" { return "#\(try id(reference.key, view))" }
            return "{"
                + (try schema.properties.map {
                    try text(view.value($0, of: reference.key, in: schema), view)
                }).joined(separator: ", ") + "}"
        case .list(let elements):
            return "[" + (try elements.map { try text($0, view) }).joined(separator: ", ") + "]"
        case .dictionary(let entries):
            return "{"
                + (try entries.sorted { $0.key < $1.key }.map {
                    try "\($0.key): \(text($0.value, view))"
                }).joined(separator: ", ") + "}"
        default: return value.summary
        }
    }

    /// The change set between two views: the identifiers of the changed objects by property, and whether the recorded
    /// edits of collections lead from the old number of elements to the new one.
    private func changes(from old: StoreView, to new: StoreView) throws -> [String: [Int64]] {
        let set = try #require(try new.snapshot.changes(from: old.version, to: new.version))
        var result: [String: [Int64]] = [:]
        for schema in new.schema.classes {
            guard let changed = set.tables[schema.table], !changed.isEmpty else { continue }
            guard schema.name == "Thing" else {
                result[schema.name] = [Int64(changed.inserted.count), Int64(changed.deleted.count)]
                continue
            }
            result["+"] = try changed.inserted.map { try id($0, new) }.sorted()
            result["-"] = try changed.deleted.map { try id($0, old) }.sorted()
            for (column, keys) in changed.modified {
                let property = try #require(schema.property(in: column))
                result["~" + property.name] = try keys.map { try id($0, new) }.sorted()
                for (key, edits) in changed.edits[column] ?? [:] where edits.isComplete {
                    var count = try old.table(schema).listCount(column, key)
                    for edit in edits.edits {
                        switch edit {
                        case .insert(_, let more): count += more
                        case .remove(_, let fewer): count -= fewer
                        case .set, .move: break
                        }
                    }
                    #expect(try count == new.table(schema).listCount(column, key))
                }
            }
        }
        return result
    }
}
