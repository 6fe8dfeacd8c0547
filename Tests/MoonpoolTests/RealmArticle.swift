import Moonpool

// The Swift blocks of the article "Realm Swift, line by line".

struct RealmArticle {
    struct Person: Model {
        var name = ""
        var firstName = ""
        var dogs = Backlinks(\Dog.owner)
        static let options = ModelOptions<Person>(primaryKey: \.name)
    }
    struct Dog: Model {
        var id = 0
        var name = ""
        var age: Int?
        var color = Color.brown
        var owner: Link<Person>?
        var siblings: [Link<Dog>] = []
        var tags: Set<String> = []
        var notes: [String: String] = [:]
        var home: Address?
        static let options = ModelOptions<Dog>(
            primaryKey: \.id, indexes: [\.age], fullText: [\.name], renamed: [\.age: "years"])
        enum Color: String, StoredValue { case brown, black }
    }
    struct Address: EmbeddedModel {
        var street = ""
        var city = ""
    }

    nonisolated(nonsending) func add(_ dog: Dog, to store: Store) async throws -> ObjectID<Dog> {
        try await store.write { tx in
            let rex = try tx.insert(dog, .updatingModified)
            rex.age = (rex.age ?? 0) + 1
            rex.siblings.append(try tx.insert(Dog(id: 2, name: "Max")))
            rex.tags.insert("good")
            rex.notes["food"] = "dry"
            try rex.set(\.home, to: Address(street: "Main St 1", city: "Bree"))
            rex.home?.city = "Hobbiton"
            try tx.delete(store.all(Dog.self).where { $0.name == "" })
            return rex.objectID
        }
    }

    func old(in store: Store) throws -> [String] {
        let old = store.all(Dog.self)
            .where { $0.age > 2 && $0.owner.name.hasPrefix("A", .caseInsensitive) }
            .sorted(by: \.age, .descending)
            .limit(10)
        for dog in old { print(dog.name, dog.owner?.firstName ?? "", dog.home?.city ?? "") }
        return old.map(\.name)
    }

    nonisolated(nonsending) func follow(_ store: Store) async throws {
        for try await change in store.all(Dog.self).where({ $0.age > 2 }).changes(
            \.name, \.owner.name)
        {
            switch change {
            case .initial(let dogs): print(dogs.map(\.name))
            case .update(let dogs, let deletions, let insertions, let modifications):
                print(dogs.count, deletions, insertions, modifications)
            }
        }
    }
    nonisolated(nonsending) func follow(_ rex: Live<Dog>) async throws {
        for try await change in rex.changes(\.name, \.age) {
            if let age = change[\.age] { print(age.old ?? 0, age.new ?? 0) }
        }
        for try await age in rex.values(of: \.age) { print(age ?? 0) }
    }
}
