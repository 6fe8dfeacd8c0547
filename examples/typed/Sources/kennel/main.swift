import FoundationEssentials
import MoonpoolScripting

struct Person: Model {
    var name = ""
    var dogs = Backlinks(\Dog.owner)
    static let options = ModelOptions<Person>(primaryKey: \.name)
}
struct Dog: Model, Codable {
    var id = UUID()
    var name = ""
    var age: Int?
    var weight: Decimal = 0
    var photo = Data()
    var bytes: [UInt8] = []
    var extra: Mixed = nil
    var color = Color.brown
    var owner: Link<Person>?
    var siblings: [Link<Dog>] = []
    var homes: [Address] = []
    static let options = ModelOptions<Dog>(primaryKey: \.id, indexes: [\.name])
    enum Color: String, StoredValue, Codable, CaseIterable { case brown, black }
}
struct Address: EmbeddedModel, Codable { var city = "" }
struct DogCard: Projection {
    var name: String
    var master: String?
    var firstHome: String?
    static let projection = ProjectionMap(
        of: Dog.self, DogCard.init, \.name, \.owner.name, \.homes[0].city)
}

/// A view model on the main actor.
final class DogList {
    private let store: Store
    private let dogs: Results<Dog>
    private var token: NotificationToken?
    private(set) var rows: [DogCard] = []
    private(set) var title = ""

    init() throws {
        store = try Store(.memory("kennel"), models: Dog.self, Person.self, Address.self)
        dogs = store.all(Dog.self).where { $0.age > 2 || $0.owner.name == "Ann" }
            .sorted(by: \.name)
    }
    func start() throws {
        token = try dogs.observe(\.name) { [weak self] change in
            guard let self, case .success(let change) = change else { return }
            title = "\(change.rows.count) dogs"
        }
    }
    func load() async throws {
        for try await change in dogs.projected(DogCard.self).changes() {
            switch change {
            case .initial(let cards): rows = Array(cards)
            case .update(let cards, let deletions, let insertions, let modifications):
                print(deletions, insertions, modifications)
                rows = Array(cards)
            }
        }
    }
    func add(_ name: String, age: Int) async throws -> ObjectID<Dog> {
        try await store.write { tx in try tx.insert(Dog(name: name, age: age)).objectID }
    }
    func rename(_ dog: Live<Dog>, to name: String) throws {
        try store.writeNow(withoutNotifying: [token].compactMap(\.self)) { _ in dog.name = name }
    }
    func older(_ id: ObjectID<Dog>) async throws {
        guard let dog = store[id] else { return }
        try await store.write { tx in
            dog.age = (dog.age ?? 0) + 1
            dog.weight += 1
            dog.extra = ["chip": 12, "seen": [1, 4]]
            dog.homes.append(Address(city: "Bree"))
            dog.owner = try tx.insert(Person(name: "Ann"), .updating)
            dog.bytes = [1, 2, 3]
        }
    }
}

/// Uses the same store on another actor.
actor Importer {
    private var store: Store?
    func start() throws {
        store = try Store(.memory("kennel"), models: Dog.self, Person.self, Address.self)
    }
    func take(_ dogs: [Dog]) async throws -> Int {
        guard let store else { return 0 }
        try await store.write { tx in try tx.insert(contentsOf: dogs, .updatingModified) }
        return store.all(Dog.self).count
    }
}
@concurrent func count() async throws -> Int {
    let store = try Store(.memory("kennel"), models: Dog.self, Person.self, Address.self)
    return store.all(Dog.self).where { $0.color == .brown }.count
}
nonisolated func summary(_ dogs: FrozenResults<Dog>) -> String {
    dogs.map(\.name).joined(separator: ", ")
}

let list = try DogList()
try list.start()
let id = try await list.add("Rex", age: 3)
try await list.older(id)
let importer = Importer()
try await importer.start()
print(try await importer.take([Dog(name: "Max")]), try await count())
let loading = Task { try await list.load() }
while list.rows.isEmpty { await Task.yield() }
loading.cancel()
print(list.rows.map { "\($0.name) of \($0.master ?? "no owner") in \($0.firstHome ?? "no home")" })

let engine = try ScriptEngine(.sandboxed)
try engine.register("add(a, b)") { (a: Int, b: Int) in a + b }
print(try await engine.run("return add(1, 2)", as: Int.self))
