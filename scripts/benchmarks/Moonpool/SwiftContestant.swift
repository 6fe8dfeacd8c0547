import ObjectStore

/// Moonpool's object store, used from Swift through its public interface.
final class SwiftContestant: Contestant {
    let name = Report.swift
    private var opened: Store?
    private var held: [ObjectReference] = []
    private let scheduler = BenchmarkScheduler()

    static let schema = [
        ClassSchema(
            "Person",
            [
                Property("id", .int, isPrimary: true), Property("name", .string),
                Property("age", .int), Property("score", .double), Property("active", .bool),
            ]),
        ClassSchema("Pet", [Property("owner", .object, target: "Person")]),
        ClassSchema(
            "Club", [Property("members", .object, collection: .list, target: "Person")]),
    ]

    static func path(_ folder: String) -> String { "\(folder)/people.moonpool" }

    static func configuration(
        _ folder: String, _ durability: Durability
    ) -> StoreConfiguration {
        let kind: StoreConfiguration.Durability =
            switch durability {
            case .full: .full
            case .soonAfter: .async
            case .never: .memory
            }
        return StoreConfiguration(.file(path(folder)), schema: schema, durability: kind)
    }

    private(set) var folder = ""
    private(set) var durability = Durability.full

    func supports(_ durability: Durability) -> Bool { true }

    func open(folder: String, _ durability: Durability) throws {
        self.folder = folder
        self.durability = durability
        opened = try Store(Self.configuration(folder, durability), scheduler: scheduler)
    }

    func close() throws {
        opened?.close()
        opened = nil
    }

    func store() throws -> Store {
        guard let opened else { throw BenchmarkError("Moonpool: not open") }
        return opened
    }

    private func person() throws -> ClassSchema {
        guard let found = try store().schema.find("Person") else {
            throw BenchmarkError("Moonpool: no class Person")
        }
        return found
    }

    private func people() throws -> Results {
        let store = try store()
        return Results(.store(store), all: try person())
    }

    private func add(_ person: Person, _ people: ObjectInserter) throws {
        people.set(0, int: person.id)
        people.set(1, string: person.name.string)
        people.set(2, int: person.age)
        people.set(3, double: person.score)
        people.set(4, bool: person.active)
        try people.insert()
    }

    func insert(_ people: People) throws -> Double {
        let store = try store()
        let classSchema = try person()
        return try seconds {
            try store.write {
                let inserter = try store.inserter(of: classSchema)
                for index in people.indices { try add(people.person(index), inserter) }
            }
        }
    }

    func insertEach(_ people: People) throws -> Double {
        let store = try store()
        let classSchema = try person()
        return try seconds {
            for index in people.indices {
                try store.write {
                    try add(people.person(index), store.inserter(of: classSchema))
                }
            }
        }
    }

    func updateScores(of keys: [Int64], from base: Int) throws -> Double {
        let store = try store()
        let objects = try keys.map(object)
        return try seconds {
            for (number, object) in objects.enumerated() {
                try store.write { try object.set("score", .double(Double(base + number))) }
            }
        }
    }

    func object(_ key: Int64) throws -> LiveObject {
        guard let found = try store().object("Person", primaryKey: .int(key)) else {
            throw BenchmarkError("Moonpool: no person \(key)")
        }
        return found
    }

    func sumOfAges() throws -> Int64 {
        let classSchema = try person()
        let rows = try store().view.table(classSchema)
        let age = try classSchema.requireProperty("age").column
        var sum: Int64 = 0
        for key in try people().keys() { sum += try rows.int(age, key) ?? 0 }
        return sum
    }

    func hold(_ keys: [Int64]) throws { held = try keys.map { try object($0).reference } }

    func sumOfHeldAges() throws -> Int64 {
        let classSchema = try person()
        let rows = try store().view.table(classSchema)
        let age = try classSchema.requireProperty("age").column
        var sum: Int64 = 0
        for object in held { sum += try rows.int(age, object.key) ?? 0 }
        return sum
    }

    func sumOfAges(of keys: [Int64]) throws -> Int64 {
        let classSchema = try person()
        let rows = try store().view.table(classSchema)
        let age = try classSchema.requireProperty("age").column
        var sum: Int64 = 0
        for key in keys { sum += try rows.int(age, object(key).key) ?? 0 }
        return sum
    }

    func sumOfScores(of keys: [Int64]) throws -> Double {
        var sum = 0.0
        for key in keys {
            if case .double(let score) = try object(key).value("score") { sum += score }
        }
        return sum
    }

    func countOlder(than age: Int64) throws -> Int {
        try people().filtered("age > $1", [.int(age)]).count()
    }

    func countOlder(than age: Int64, namePrefix: String) throws -> Int {
        try people().filtered(
            "age > $1 and name beginswith $2", [.int(age), .string(namePrefix)]
        ).count()
    }

    func sumOfActiveScores() throws -> Double {
        guard case .double(let sum) = try people().filtered("active == true").sum("score") else {
            return 0
        }
        return sum
    }

    func keysByScore() throws -> [Int64] {
        let keys = try people().sorted([("score", true)]).keys()
        return try ids(keys, at: 0..<min(100, keys.count))
            + ids(keys, at: max(100, keys.count - 1)..<max(100, keys.count))
    }

    func firstKeysByScore() throws -> [Int64] {
        let keys = try people().sorted([("score", true)]).limited(to: 100).keys()
        return try ids(keys, at: 0..<keys.count)
    }

    private func ids(_ keys: ResultKeys, at positions: Range<Int>) throws -> [Int64] {
        let classSchema = try person()
        let column = try classSchema.requireProperty("id").column
        let rows = try store().view.table(classSchema)
        return try positions.map { try rows.int(column, keys[$0]) ?? -1 }
    }

    func deleteYounger(than age: Int64) throws -> Int {
        let store = try store()
        let young = try people().filtered("age < $1", [.int(age)])
        return try store.write {
            let keys = try young.keys().array
            try store.delete(keys, of: try person())
            return keys.count
        }
    }
}
