import Moonpool
import Testing

private struct Pet: Model {
    var id = 0
    var age = 0
    var color: String?
    var owner: Link<Keeper>?
    static let options = ModelOptions<Pet>(primaryKey: \.id)
}

private struct Keeper: Model {
    var name = ""
    var list: [Link<Pet>] = []
    var team: Set<Link<Pet>> = []
    var map: [String: Link<Pet>?] = [:]
    var pets = Backlinks(\Pet.owner)
    var marks: [Int] = []
    static let options = ModelOptions<Keeper>(primaryKey: \.name)
}

private struct PetCard: Projection, Equatable {
    var age: Int
    var keeper: String?
    static let projection = ProjectionMap(of: Pet.self, PetCard.init, \.age, \.owner.name)
}

@MainActor private final class Calls {
    private(set) var numbers: [String: Int] = [:]

    func add(_ name: String) { numbers[name, default: 0] += 1 }
}

/// Each method that makes sense for several collections exists on all of them.
@Suite struct LiveCollectionTests {
    private func kennel(_ name: String) throws -> (store: Store, ann: Live<Keeper>) {
        let store = try Store(.memory(name), models: Pet.self, Keeper.self, on: nil)
        let ann = try store.writeNow { tx in
            let ann = try tx.insert(Keeper(name: "Ann"))
            for id in 1...6 {
                let color = id % 3 == 0 ? nil : id % 2 == 0 ? "black" : "brown"
                let pet = try tx.insert(Pet(id: id, age: 7 - id, color: color, owner: Link(ann)))
                ann.list.append(pet)
                ann.team.insert(pet)
                ann.map["\(id)"] = pet
            }
            return ann
        }
        return (store, ann)
    }

    private func facts<Pets: QueryableObjects<Pet>>(_ pets: Pets) throws -> [String]
    where Pets.Refined: QueryableObjects<Pet>, Pets.Refined.Refined: QueryableObjects<Pet> {
        [
            "\(pets.sum(of: \.age)) \(pets.average(of: \.age) ?? 0)",
            "\(pets.min(of: \.age) ?? 0) \(pets.max(of: \.id) ?? 0)",
            "\(pets.where { $0.age > 4 }.sum(of: \.id))",
            "\(try pets.where("age > $1", 4).sum(of: \.id))",
            "\(pets.sorted(by: \.age).limit(2).sum(of: \.id))",
            "\(pets.sorted(by: .descending(\.age), .ascending(\.id)).limit(2).sum(of: \.id))",
            "\(pets.distinct(\.color).sum(of: \.id))",
        ]
    }

    @Test func `conditions, orders and aggregates exist on all collections of objects`() throws {
        let (store, ann) = try kennel("collections-query")
        defer { store.close() }
        let expected = ["21 3.5", "1 6", "3", "3", "11", "3", "6"]
        let pets = store.all(Pet.self)
        #expect(try facts(pets) == expected)
        #expect(try facts(pets.freeze()) == expected)
        #expect(try facts(pets.projected(PetCard.self)) == expected)
        #expect(try facts(ann.list) == expected)
        #expect(try facts(ann.team) == expected)
        #expect(try facts(ann.map) == expected)
        #expect(try facts(ann.pets) == expected)
    }

    private func groups<Pets: QueryableObjects<Pet>>(_ pets: Pets) throws -> [String]
    where Pets.Refined == Results<Pet> {
        let cards = pets.projected(PetCard.self)
        return [
            pets.sectioned(by: \.color).map { "\($0.key ?? "none") \($0.objects.count)" }
                .joined(separator: ", "),
            "\(pets.sectioned(by: .ascending(\.color), .descending(\.age)).count)",
            "\(cards.count) \(cards.first?.keeper ?? "none")", "\(try pets.freeze().count)",
        ]
    }

    @Test func `sections, projections and frozen copies exist on all live collections of objects`()
        throws
    {
        let (store, ann) = try kennel("collections-group")
        defer { store.close() }
        let expected = ["none 2, black 2, brown 2", "6", "6 Ann", "6"]
        #expect(try groups(store.all(Pet.self)) == expected)
        #expect(try groups(ann.list) == expected)
        #expect(try groups(ann.team) == expected)
        #expect(try groups(ann.map) == expected)
        #expect(try groups(ann.pets) == expected)
    }

    @Test @MainActor func `all live content has the same functions of observers`() async throws {
        let store = try Store(.memory("collections-observe"), models: Pet.self, Keeper.self)
        defer { store.close() }
        let ann = try await store.write { tx in try tx.insert(Keeper(name: "Ann")) }
        let rex = try await store.write { tx in
            let rex = try tx.insert(Pet(id: 1, age: 3, owner: Link(ann)))
            ann.list.append(rex)
            ann.team.insert(rex)
            ann.map["rex"] = rex
            ann.marks.append(1)
            return rex
        }
        let calls = Calls()
        var tokens: [NotificationToken] = []
        func observe<Content: ChangeReporting>(
            _ name: String, _ content: Content, _ paths: [PartialKeyPath<Content.PathRoot>]
        ) async throws {
            let count: (Result<Content.Change, any Error>) -> Void = { _ in calls.add(name) }
            tokens.append(try content.observe(count))
            tokens.append(try content.observe { _ in calls.add(name) })
            tokens.append(try content.observe(once: true) { _ in calls.add(name) })
            tokens.append(
                try await content.observe(on: MainActor.shared) { _, _ in
                    MainActor.assumeIsolated { calls.add(name) }
                })
            for path in paths {
                tokens.append(try content.observe(path, count))
                tokens.append(try content.observe(path) { _ in calls.add(name) })
            }
        }
        let pets = store.all(Pet.self)
        let age = \Fields<Pet>.age
        try await observe("results", pets, [age])
        try await observe("sections", pets.sectioned(by: \.color), [age])
        try await observe("projected", pets.projected(PetCard.self), [\PetCard.age])
        try await observe("object", rex, [age])
        try await observe("projection", rex.projected(PetCard.self), [\PetCard.age])
        try await observe("list", ann.list, [age])
        try await observe("set", ann.team, [age])
        try await observe("map", ann.map, [age])
        try await observe("backlinks", ann.pets, [age])
        try await observe("marks", ann.marks, [])
        try await store.write { _ in
            rex.age = 4
            ann.marks.append(2)
        }
        let deadline = ContinuousClock.now + .seconds(60)
        func isDone() -> Bool {
            calls.numbers.count == 10
                && calls.numbers.allSatisfy { name, count in
                    let isObject = name == "object" || name == "projection"
                    return count >= (isObject ? 6 : name == "marks" ? 8 : 12)
                }
        }
        while !isDone(), ContinuousClock.now < deadline { await Task.yield() }
        #expect(isDone(), "\(calls.numbers)")
        for token in tokens { token.invalidate() }
    }
}
