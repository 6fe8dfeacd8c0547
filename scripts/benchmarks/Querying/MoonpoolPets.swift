import ObjectStore

/// People and pets in Moonpool, through its public interface.
final class MoonpoolPets: PetStore {
    private let store: Store
    private var numbers: [Value] = []
    private var names: [Value] = []

    private static let schema = [
        ClassSchema(
            "Owner",
            [
                Property("id", .int, isPrimary: true), Property("number", .int),
                Property("name", .string), Property("age", .int),
            ]),
        ClassSchema(
            "Pet",
            [
                Property("tag", .string, isIndexed: true),
                Property("owner", .object, target: "Owner"),
            ]),
    ]

    init(_ folder: String) throws {
        store = try Store(
            StoreConfiguration(
                .file("\(folder)/pets.moonpool"), schema: Self.schema, durability: .memory),
            scheduler: BenchmarkScheduler())
    }

    func fill(_ people: People) throws {
        let owner = try store.schema.require("Owner")
        let pet = try store.schema.require("Pet")
        let owners = people.randomKeys(people.count, seed: 9)
        try store.write {
            var references: [ObjectReference] = []
            references.reserveCapacity(people.count)
            for index in people.indices {
                let person = people.person(index)
                let key = try store.create(
                    owner,
                    positional: [
                        .int(person.id), .int(person.id), .string(person.name.string),
                        .int(person.age),
                    ])
                references.append(ObjectReference(table: owner.table, key: key))
            }
            for index in people.indices {
                _ = try store.create(
                    pet,
                    positional: [
                        .string("tag \(index)"), .object(references[Int(owners[index])]),
                    ])
            }
        }
    }

    func prepare(numbers: [Int64], names: [String]) {
        self.numbers = numbers.map(Value.int)
        self.names = names.map(Value.string)
    }

    private func count(_ className: String, _ text: String, _ arguments: [Value] = []) throws -> Int
    {
        try Results(.store(store), all: try store.schema.require(className))
            .filtered(text, arguments).count()
    }

    func countPeople() throws -> Int {
        try count("Owner", "age > 50 and name beginswith 'A'")
    }

    func countPets() throws -> Int {
        try count("Pet", "owner.age > 50 and owner.name beginswith 'A'")
    }

    func find(tag: String) throws -> Int { try count("Pet", "tag == $1", [.string(tag)]) }

    func countNumbers() throws -> Int { try count("Owner", "number in $1", [.list(numbers)]) }

    func countNames() throws -> Int { try count("Owner", "name in $1", [.list(names)]) }
}
