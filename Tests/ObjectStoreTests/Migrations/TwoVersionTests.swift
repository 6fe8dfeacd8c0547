import ObjectStore
import TestThreads
import Testing

/// A file with two schema versions, of which each store uses one.
@Suite(.serialized) struct TwoVersionTests {
    private let folder = TemporaryFolder()
    private let scheduler = ManualScheduler()

    private static let text = Value.string("")
    /// The classes before the migration.
    private static let old = [
        ClassSchema("Owner", "name: string"),
        ClassSchema(
            "Dog",
            "id: int primary, name: string, born: string, age: string, tag: string, "
                + "owner: Owner",
            defaults: ["name": text, "born": text, "tag": .string("none")]),
    ]
    /// The classes after it: a renamed class and property, another type, and removed and added properties and classes.
    private static let new = [
        ClassSchema("Person", "name: string"),
        ClassSchema(
            "Dog",
            "id: int primary, name: string indexed, birthday: string, age: int indexed, "
                + "size: double, owner: Person",
            defaults: ["name": text, "birthday": text, "size": .double(1.5)]),
        ClassSchema("Walk", "dog: Dog"),
    ]
    private static let renames = ["Dog.born": "birthday", "Owner": "Person"]

    private func open(
        _ version: UInt64 = 0, _ classes: [ClassSchema]? = nil, on scheduler: ManualScheduler? = nil
    ) throws -> Store {
        let path = folder.file("dogs.moonpool")
        return try Store.file(path, classes, version: version, on: scheduler ?? ManualScheduler())
    }

    /// Creates the file at version 1.
    private func fill(_ count: Int, age: (Int) -> String = { "\($0)" }) throws {
        let store = try open(1, Self.old)
        defer { store.close() }
        try store.write {
            let ann = try store.create("Owner", .list([.string("Ann")]))
            for id in 1...count {
                try store.create(
                    "Dog",
                    .list([
                        .int(Int64(id)), .string("d\(id)"), .string("b\(id)"), .string(age(id)),
                        .string("t\(id)"), .object(ann.reference),
                    ]))
            }
        }
    }

    private func start(
        _ store: Store, _ classes: [ClassSchema] = new,
        renaming renames: [String: String] = renames,
        dropping: Set<String> = ["Dog.tag"]
    ) throws {
        try store.startMigration(to: classes, 2, renaming: renames, dropping: dropping)
    }

    private func convert(_ store: Store) throws {
        while try !store.convertBatch(atMost: 7) {}
    }

    private func dog(_ id: Int, _ store: Store) throws -> LiveObject {
        try store.refresh()
        return try #require(try store.object("Dog", primaryKey: .int(Int64(id))))
    }

    /// The values of an object in the order of the schema, without its links.
    private func values(_ id: Int, _ store: Store) throws -> String {
        let found = try dog(id, store)
        return try found.classSchema.properties.filter { $0.type != .object }
            .map { try found.value($0.name).summary }.joined(separator: " ")
    }

    @Test func `programs of both versions read and write each other's objects`() throws {
        try fill(30)
        let old = try open()
        let migrating = try open()
        try start(migrating)
        let early = storeError(.schemaInTransition) { _ = try open(2) }
        #expect(
            early?.message.contains("migration 2 (names) has converted 0 of 30 objects") == true)
        // A write before the conversion reaches the object, and one after it has.
        try old.write { try dog(20, old).set("age", .string("200")) }
        #expect(try !migrating.convertBatch(atMost: 7))
        try old.write {
            try dog(3, old).set("age", .string("300"))
            try old.create("Dog", .dictionary(["id": .int(31), "age": .string("31")]))
        }
        #expect(old.schema.version == 1)
        try convert(migrating)
        #expect(try migrating.startedMigration()?.isReady == true)

        let new = try open(2)
        #expect(new.schema.version == 2)
        #expect(try values(3, new) == #"3 "d3" "b3" 300 1.5"#)
        #expect(try values(20, new) == #"20 "d20" "b20" 200 1.5"#)
        #expect(try values(31, new) == #"31 "" "" 31 1.5"#)
        #expect(try new.objects("Dog").filtered("age > 30").count() == 3)
        #expect(try new.objects("Person").count() == 1)
        try new.write {
            let third = try dog(3, new)
            try third.set("age", .int(33))
            try third.set("birthday", .string("B"))
            try third.set("size", .double(9))
            try new.create("Dog", .dictionary(["id": .int(32), "age": .int(5)]))
            try new.create("Walk", .list([.object(third.reference)]))
        }
        #expect(try values(3, old) == #"3 "d3" "B" "33" "t3""#)
        #expect(try values(32, old) == #"32 "" "" "5" "none""#)
        #expect(old.schema.find("Walk") == nil)
        try old.write { try dog(3, old).set("age", .string("34")) }
        #expect(try values(3, new) == #"3 "d3" "B" 34 9.0"#)
        try old.write { try old.delete(dog(32, old)) }
        try new.refresh()
        #expect(try new.objects("Dog").count() == 31)
        #expect(try new.verify() == [])
        #expect(try old.verify() == [])

        _ = storeError(.invalidArgument) { try migrating.completeMigration() }
        old.close()
        try migrating.completeMigration()
        migrating.close()
        #expect(try values(3, new) == #"3 "d3" "B" 34 9.0"#)
        new.close()
        _ = storeError(.versionTooLow) { _ = try open(1, Self.old) }
        let after = try open(2, Self.new)
        #expect(try values(3, after) == #"3 "d3" "B" 34 9.0"#)
        #expect(try after.objects("Walk").count() == 1)
        #expect(try after.verify() == [])
        after.close()
    }

    @Test func `an abort leaves the old version and reports what only the new one had`() throws {
        try fill(10)
        let old = try open()
        try start(old)
        try convert(old)
        let new = try open(2)
        try new.write {
            try dog(3, new).set("age", .int(33))
            try new.create("Walk", .list([.object(dog(3, new).reference)]))
        }
        _ = storeError(.invalidArgument) { _ = try old.abortMigration() }
        new.close()
        let lost = try old.abortMigration()
        #expect(
            lost.map { "\($0.qualifiedName) \($0.count)" }.sorted() == ["Dog.size 10", "Walk 1"])
        #expect(try values(3, old) == #"3 "d3" "b3" "33" "t3""#)
        #expect(try old.verify() == [])
        // The numbers of the abandoned columns and tables are not given away again.
        try start(old)
        try convert(old)
        let again = try open(2)
        #expect(try values(3, again) == #"3 "d3" "b3" 33 1.5"#)
        #expect(try again.objects("Walk").count() == 0)
        for store in [old, again] { store.close() }
    }

    @Test func `a mixed link to a class of the other version is nil for conditions too`() throws {
        let box = ClassSchema("Box", "id: int primary, mix: mixed, list: mixed[]")
        let extra = ClassSchema("Extra", "id: int primary")
        let old = try open(1, [box])
        let kept = try old.objects("Box").filtered("mix == nil")
        try old.write { for id in 1...3 { try old.create("Box", .list([.int(Int64(id))])) } }
        try start(old, [box, extra], renaming: [:], dropping: [])
        try convert(old)
        let new = try open(2)
        try new.write {
            let target = try new.create("Extra", .list([.int(7)])).reference
            let boxes = try (1...2).map {
                try #require(try new.object("Box", primaryKey: .int(Int64($0))))
            }
            try boxes[0].set("mix", .object(target))
            try boxes[0].set("list", .list([.object(target), .int(1)]))
            try boxes[1].set("mix", .list([.object(target)]))
            try boxes[1].set("list", .list([.int(2)]))
        }
        try old.refresh()
        func counts(_ store: Store) throws -> [Int] {
            try [
                "mix == nil", "mix != nil", "not mix == nil", "mix[1] == nil", "any list == nil",
                "mix.@type == 'object'", "list[1] == nil",
            ].map { try store.objects("Box").filtered($0).count() }
        }
        #expect(try counts(old) == [2, 1, 1, 3, 1, 0, 2])
        #expect(try counts(new) == [1, 2, 2, 2, 0, 1, 1])
        #expect(try kept.count() == 2)
        try old.completeMigration(isForced: true)
        try old.refresh()
        #expect(try old.objects("Box").filtered("mix == nil").count() == 1)
        for store in [old, new] { store.close() }
    }

    @Test func `observers of each version receive the changes of their own properties`() throws {
        try fill(10)
        let (old, new) = (ReceivedCalls(), ReceivedCalls())
        let (first, second) = (ManualScheduler(), ManualScheduler())
        let oldStore = try open(on: first)
        let migrating = try open()
        var tokens = [
            try oldStore.observe(try oldStore.objects("Dog").query, old.receive),
            try oldStore.observe(old.receive as (StoreNotification, Store) -> Void),
        ]
        first.settle()
        #expect(old.news() == ["initial"])
        try start(migrating)
        first.settle()
        #expect(old.news() == ["schema", "did_change"])
        #expect(oldStore.lastSchemaEvent?.kind == .started)
        let own = ReceivedCalls()
        tokens.append(try migrating.observe(own.receive as (StoreNotification, Store) -> Void))
        #expect(try !migrating.convertBatch(atMost: 3))
        #expect(try !migrating.convertBatch(atMost: 3))
        first.settle()
        #expect(old.news() == [])
        #expect(own.news() == [])
        try convert(migrating)
        #expect(own.news() == ["schema", "did_change"])
        first.settle()
        #expect(old.news() == ["schema", "did_change"])
        #expect(oldStore.lastSchemaEvent?.kind == .both)

        let newStore = try open(2, on: second)
        tokens += [
            try newStore.observe(try newStore.objects("Dog").query, new.receive),
            try newStore.observe(new.receive as (StoreNotification, Store) -> Void),
        ]
        second.settle()
        #expect(new.news() == ["initial"])
        // A property that only the new version has.
        try newStore.write { try dog(2, newStore).set("size", .double(3)) }
        for scheduler in [first, second] { scheduler.settle() }
        #expect(old.news() == [])
        #expect(new.news() == ["did_change", "mod[1]"])
        // A property of both versions, with another type in each.
        try oldStore.write { try dog(3, oldStore).set("age", .string("99")) }
        for scheduler in [first, second] { scheduler.settle() }
        #expect(old.news() == ["did_change", "mod[2]"])
        #expect(new.news() == ["did_change", "mod[2]"])
        // An equal value changes nothing in the other version.
        try oldStore.write { try dog(3, oldStore).set("age", .string("99")) }
        for scheduler in [first, second] { scheduler.settle() }
        #expect(old.news() == ["did_change", "mod[2]"])
        #expect(new.news() == [])

        try migrating.completeMigration(isForced: true)
        for scheduler in [first, second] { scheduler.settle() }
        #expect(new.news() == ["schema", "did_change"])
        #expect(newStore.lastSchemaEvent?.kind == .completed)
        #expect(old.news().contains("schema"))
        let error = storeError(.unknownProperty) { _ = try dog(3, oldStore).value("tag") }
        #expect(error?.message.contains("since migration 2 (names)") != false)
        for token in tokens { token.invalidate() }
        for store in [oldStore, newStore, migrating] { store.close() }
    }

    @Test func `an object that cannot be converted does not fail a write before both`() throws {
        try fill(10) { $0 == 4 ? "four" : "\($0)" }
        let old = try open()
        try start(old)
        try convert(old)
        var state = try #require(try old.startedMigration())
        #expect(!state.isReady)
        #expect(state.failures.map(\.key) == ["id = 4"])
        #expect(
            state.failures.first?.message
                == #"'age' is "four", which does not convert exactly to int"#)
        try old.write { try dog(5, old).set("age", .string("five")) }
        state = try #require(try old.startedMigration())
        #expect(state.failures.map(\.key) == ["id = 4", "id = 5"])
        try old.write {
            try dog(5, old).set("age", .string("5"))
            try old.delete(dog(4, old))
        }
        try convert(old)
        #expect(try old.startedMigration()?.isReady == true)
        let refused = storeError(.conversionFailed) {
            try old.write { try dog(5, old).set("age", .string("five")) }
        }
        #expect(
            refused?.message == #"'Dog' id = 5 cannot be converted by migration 2 (names, up): "#
                + #"'age' is "five", which does not convert exactly to int"#)
        #expect(try values(5, old) == #"5 "d5" "b5" "5" "t5""#)
        old.close()
    }

    @Test func `undo and redo restore both versions, and skip batches`() throws {
        try fill(10)
        let old = try open()
        try start(old)
        #expect(try !old.convertBatch(atMost: 3))
        try old.write { try dog(2, old).set("age", .string("22")) }
        try old.write { try dog(9, old).set("age", .string("99")) }
        #expect(try !old.convertBatch(atMost: 3))
        try old.undo()
        try old.undo()
        #expect(try values(2, old) == #"2 "d2" "b2" "2" "t2""#)
        try old.redo()
        // The start of the migration is not undone.
        try convert(old)
        let new = try open(2)
        #expect(try values(2, new) == #"2 "d2" "b2" 22 1.5"#)
        #expect(try values(9, new) == #"9 "d9" "b9" 9 1.5"#)
        try new.write {
            try dog(2, new).set("age", .int(7))
            try dog(2, new).set("size", .double(7))
        }
        try old.refresh()
        try old.undo()
        #expect(try values(2, new) == #"2 "d2" "b2" 22 1.5"#)
        #expect(try values(2, old) == #"2 "d2" "b2" "22" "t2""#)
        try new.redo()
        #expect(try values(2, new) == #"2 "d2" "b2" 7 7.0"#)
        #expect(try values(2, old) == #"2 "d2" "b2" "7" "t2""#)
        for store in [old, new] { store.close() }
    }

    @Test func `other changes of the schema wait for the end of the migration`() throws {
        try fill(3)
        let old = try open()
        try start(old)
        _ = storeError(.schemaInTransition) { try start(old) }
        _ = storeError(.schemaInTransition) {
            try old.define([ClassSchema("Toy", "name: string")])
        }
        _ = storeError(.schemaInTransition) { try old.completeMigration() }
        let same = try open(1, Self.old)
        same.close()
        _ = try old.abortMigration()
        try old.define([ClassSchema("Toy", "name: string")])
        old.close()
    }

    @Test func `what both versions cannot use at once is refused before the file changes`() throws {
        try fill(1)
        let old = try open()
        let version = old.version
        func refused(_ properties: [Property], _ part: String) {
            let error = storeError(.invalidArgument) {
                try start(
                    old, [Self.old[0], ClassSchema("Dog", properties)], renaming: [:],
                    dropping: Set(Self.old[1].properties.map { "Dog.\($0.name)" }))
            }
            #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        }
        refused([Property("id", .string, isPrimary: true)], "'Dog.id' would change")
        refused([Property("id", .int)], "'Dog.id' would no longer be the primary key")
        let missing = storeError(.invalidSchema) { try start(old, dropping: []) }
        #expect(missing?.message.contains("'Dog.tag' would be removed") == true)
        #expect(old.version == version)
        old.close()
    }

    /// Random writes through both versions, compared with a model of the objects.
    @Test(arguments: RandomSeeds.groups)
    func `both versions equal the writes of both`(seeds: Range<UInt64>) throws {
        for seed in seeds { try compare(SplitMix(seed: seed)) }
    }

    private struct Model: Equatable {
        var name = ""
        var born = ""
        var age: Int64 = 0
        var tag = "none"
        var size = 1.5
    }

    private func compare(_ generator: SplitMix) throws {
        var random = generator
        let folder = TemporaryFolder.inMemory()
        func open(_ version: UInt64 = 0, _ classes: [ClassSchema]? = nil) throws -> Store {
            try Store.file(folder.file("dogs.moonpool"), classes, version: version)
        }
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        var models: [Int: Model] = [:]
        try open(1, Self.old).close()
        let (old, migrating) = (try open(), try open())
        var new: Store?
        func write() throws {
            let usesNew = new != nil && number(0..<2) == 0
            let store = usesNew ? new! : old
            try store.write {
                for _ in 0..<number(1..<4) {
                    let id = number(0..<12)
                    let known = try store.object("Dog", primaryKey: .int(Int64(id)))
                    guard let known else {
                        let age = Int64(number(0..<9))
                        try store.create(
                            "Dog",
                            .dictionary([
                                "id": .int(Int64(id)),
                                "age": usesNew ? .int(age) : .string("\(age)"),
                            ]))
                        models[id] = Model(age: age)
                        continue
                    }
                    let text = "x\(number(0..<9))"
                    switch number(0..<6) {
                    case 0:
                        try store.delete(known)
                        models[id] = nil
                    case 1:
                        try known.set("name", .string(text))
                        models[id]?.name = text
                    case 2:
                        try known.set(usesNew ? "birthday" : "born", .string(text))
                        models[id]?.born = text
                    case 3 where usesNew:
                        try known.set("size", .double(Double(text.utf8.last!)))
                        models[id]?.size = Double(text.utf8.last!)
                    case 3:
                        try known.set("tag", .string(text))
                        models[id]?.tag = text
                    default:
                        let age = Int64(number(0..<9))
                        try known.set("age", usesNew ? .int(age) : .string("\(age)"))
                        models[id]?.age = age
                    }
                }
            }
        }
        func check() throws {
            for store in [old, new].compactMap(\.self) {
                try store.refresh()
                #expect(try store.objects("Dog").count() == models.count)
                for (id, model) in models {
                    let found = try #require(try store.object("Dog", primaryKey: .int(Int64(id))))
                    let isOld = store.schema.version == 1
                    #expect(try found.value("name") == .string(model.name))
                    #expect(try found.value(isOld ? "born" : "birthday") == .string(model.born))
                    #expect(
                        try found.value("age")
                            == (isOld ? .string("\(model.age)") : .int(model.age)))
                    #expect(
                        try found.value(isOld ? "tag" : "size")
                            == (isOld ? .string(model.tag) : .double(model.size)))
                }
            }
        }
        for _ in 0..<number(1..<6) { try write() }
        try start(migrating)
        for _ in 0..<number(0..<4) {
            try write()
            if try migrating.convertBatch(atMost: 2) { break }
        }
        try check()
        while try !migrating.convertBatch(atMost: 3) {}
        new = try open(2)
        for _ in 0..<12 {
            try write()
            try check()
        }
        for store in [old, new].compactMap(\.self) { #expect(try store.verify() == []) }
        if number(0..<2) == 0 {
            old.close()
            try migrating.completeMigration()
            #expect(try #require(new).verify() == [])
        } else {
            new?.close()
            new = nil
            _ = try migrating.abortMigration()
            try check()
            #expect(try old.verify() == [])
        }
        for store in [old, migrating, new].compactMap(\.self) { store.close() }
    }
}
