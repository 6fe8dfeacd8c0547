import ColumnStorage
import ObjectStore
import Testing

/// A scheduler that is always on the right thread and never wakes a thread.
private struct StillScheduler: Scheduler {
    private struct NoWakeup: Wakeup {
        func wake() {}
        func cancel() {}
    }

    func makeWakeup(_ handler: @escaping () -> Void) -> any Wakeup { NoWakeup() }
    var isOnThread: Bool { true }
    var canDeliver: Bool { false }
}

/// An in-memory store with people, items and teams, and short functions to query it.
struct QueryWorld {
    static let classes = [
        ClassSchema(
            "Person",
            "id: int primary, name: string?, age: int?, rank: int indexed, height: double?, "
                + "weight: float?, active: bool?, born: date?, photo: data?, code: uuid?, "
                + "mark: object_id?, nick: string indexed, buddy: Person, favorite: Item, "
                + "items: Item[], numbers: int?[], tags: string[], extra: mixed, "
                + "admirers: backlinks Person.buddy"),
        ClassSchema(
            "Item", "name: string, price: double?, count: int, owners: backlinks Person.items"),
    ]

    let store: Store

    init(classes: [ClassSchema] = QueryWorld.classes) throws {
        store = try Store(
            StoreConfiguration(
                .memory("query-world-\(UInt64.random(in: 0 ... .max))"),
                schema: classes),
            scheduler: StillScheduler())
    }

    var person: ClassSchema { store.schema.find("Person")! }

    /// Creates objects of a class, all in one transaction.
    func add(_ className: String, _ rows: [ValueMap]) throws {
        try store.write { for row in rows { try store.create(className, .dictionary(row)) } }
    }

    /// Creates people with ids from 0.
    func addPeople(_ rows: [ValueMap]) throws {
        try add(
            "Person",
            rows.enumerated().map { index, row in
                var row = row
                row["id"] = .int(Int64(index))
                row["rank"] = row["rank"] ?? .int(Int64(index))
                row["nick"] = row["nick"] ?? .string("n\(index)")
                return row
            })
    }

    func all(_ className: String = "Person") -> Results {
        Results(.store(store), all: store.schema.find(className)!)
    }

    /// The positions of the matching objects among all of their class.
    func rows(
        _ text: String, _ arguments: Value..., of className: String = "Person"
    ) throws -> [Int] {
        try positions(all(className).filtered(text, arguments))
    }

    /// The positions of the results among all of their class.
    func positions(_ results: Results) throws -> [Int] {
        let every = try Results(.store(store), all: results.classSchema()).keys()
        let keys = try results.keys()
        let counted = try Results(results.source, results.query).count()
        #expect(counted == keys.count, "counting differs from listing")
        for (position, key) in keys.enumerated() { #expect(keys[position] == key) }
        return keys.compactMap { every.firstIndex(of: $0) }
    }

    func count(_ text: String, _ arguments: Value...) throws -> Int {
        try all().filtered(text, arguments).count()
    }
}
