import ObjectStore

/// The data of the soak test: people with pets, a club, and a clock that every commit sets.
///
/// Insertions and deletions are balanced, so the store should not grow.
enum SoakWorld {
    static let people = 10_000
    static let members = 1_000

    static let schema = [
        ClassSchema(
            "Person",
            [
                Property("id", .int, isPrimary: true), Property("name", .string),
                Property("age", .int), Property("score", .double),
                Property("tags", .int, collection: .set),
                Property("notes", .int, collection: .map),
                Property("pets", .backlinks, origin: .init(className: "Pet", property: "owner")),
            ]),
        ClassSchema("Pet", [Property("owner", .object, target: "Person")]),
        ClassSchema(
            "Club",
            [
                Property("members", .object, collection: .list, target: "Person"),
                Property("numbers", .int, collection: .list),
            ]),
        ClassSchema("Clock", [Property("commits", .int), Property("moment", .int)]),
    ]

    static func configuration(_ folder: String) -> StoreConfiguration {
        StoreConfiguration(.file("\(folder)/soak.moonpool"), schema: schema, durability: .async)
    }

    static func fill(_ store: Store) throws {
        let generated = People(indices: 0..<people)
        try store.write {
            var references: [Value] = []
            for index in generated.indices {
                references.append(.object(try create(generated.person(index), in: store).reference))
            }
            for owner in references { try store.create("Pet", .dictionary(["owner": owner])) }
            try store.create(
                "Club",
                .dictionary([
                    "members": .list(Array(references.prefix(members))),
                    "numbers": .list((0..<members).map { .int(Int64($0)) }),
                ]))
            try store.create("Clock", .dictionary(["commits": .int(0), "moment": .int(0)]))
        }
    }

    @discardableResult  // most callers only need the object to exist
    static func create(_ person: Person, in store: Store) throws -> LiveObject {
        try store.create(
            "Person",
            .dictionary([
                "id": .int(person.id), "name": .string(person.name.string),
                "age": .int(person.age), "score": .double(person.score),
            ]))
    }

    /// Returns the only object of a class.
    static func only(_ className: String, in store: Store) throws -> LiveObject {
        guard let found = try store.objects(className).first() else {
            throw BenchmarkError("soak: no \(className)")
        }
        return found
    }

    static func person(_ id: Int64, in store: Store) throws -> LiveObject {
        guard let found = try store.object("Person", primaryKey: .int(id)) else {
            throw BenchmarkError("soak: no person \(id)")
        }
        return found
    }
}
