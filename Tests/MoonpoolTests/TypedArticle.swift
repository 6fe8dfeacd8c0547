import FoundationEssentials
import Moonpool
import Observation

// The Swift blocks of the article "Typed models in Swift".

enum TypedArticle {
    struct Toy: EmbeddedModel {
        var name = ""
        var price = 0.0
    }
    struct Cat: Model {
        var name = ""
        var age: Int?
        var born = Date()
        var color = Color.gray
        var owner: Link<Owner>?
        var toys: [Toy] = []
        var tags: Set<String> = []
        static let options = ModelOptions<Cat>(primaryKey: \.name, indexes: [\.age])
        enum Color: String, StoredValue { case gray, black }
    }
    struct Owner: Model {
        var name = ""
        var cats = Backlinks(\Cat.owner)
    }

    actor Cattery {
        private var store: Store?
        func open(_ path: String) throws -> Store {
            if let store { return store }
            let opened = try Store(.file(path), models: Cat.self, Owner.self, Toy.self)
            store = opened
            return opened
        }
    }

    nonisolated(nonsending) static func add(to store: Store) async throws -> ObjectID<Cat> {
        try await store.write { tx in
            let ann = try tx.insert(Owner(name: "Ann"))
            let tom = try tx.insert(Cat(name: "Tom", age: 3, owner: Link(ann)))
            tom.toys.append(Toy(name: "mouse", price: 4))
            tom.tags.insert("calm")
            return tom.objectID
        }
    }

    nonisolated(nonsending) static func adopt(
        _ name: String, in store: Store
    ) async throws -> String {
        do {
            try await store.write { tx in try tx.insert(Cat(name: name)) }
            return "\(name) is new"
        } catch let error as any MoonpoolError where error.code == .duplicateKey {
            return "\(name) is known"
        } catch let error as any MoonpoolError where error.code == .diskFull {
            return error.message
        }
    }

    static func expensive(in store: Store) -> [String] {
        let cats = store.all(Cat.self)
            .where { $0.age > 2 && $0.owner.name == "Ann" && $0.toys.any.price > 3 }
            .sorted(by: \.name)
        return cats.map { "\($0.name) of \($0.owner?.name ?? "no owner")" }
    }

    static func census(of store: Store) -> [String] {
        let groups = store.all(Cat.self).sectioned(by: .ascending(\.color), .descending(\.age))
        return groups.map { key, cats in "\(key[0]) \(key[1]): \(cats.count)" }
    }

    @MainActor static func awaitKitten(
        in store: Store, _ show: @escaping (String) -> Void
    ) throws -> NotificationToken {
        try store.all(Cat.self).where { $0.age == 0 }.observe(\.age, once: true) { change in
            if case .success(.update(let cats, _, _, _)) = change { show("\(cats.count) kittens") }
        }
    }

    nonisolated(nonsending) static func follow(
        _ store: Store, _ show: (String) -> Void
    ) async throws {
        for try await change in store.all(Cat.self).changes(\.name, \.age) {
            switch change {
            case .initial(let cats): show("\(cats.count) cats")
            case .update(let cats, let deletions, let insertions, let modifications):
                show("\(cats.map(\.name)) \(deletions) \(insertions) \(modifications)")
            }
        }
    }

    static func count(in pool: StorePool, olderThan age: Int) async throws -> Int {
        try await pool.read { store in store.all(Cat.self).where { $0.age > age }.count }
    }
    static func rename(_ id: ObjectID<Cat>, to color: Cat.Color, in pool: StorePool) async throws {
        try await pool.write { tx in tx.store[id]?.color = color }
    }
    static func names(in pool: StorePool, _ send: (String) async throws -> Void) async throws {
        for try await change in pool.changes(of: Cat.self, \.name, where: { $0.age > 3 }) {
            guard case .update(let cats, _, let insertions, _) = change else { continue }
            for index in insertions { try await send(cats[index].name) }
        }
    }

    struct CatCard: Projection {
        var name: String
        var owner: String?
        var toys: Int
        static let projection = ProjectionMap(
            of: Cat.self, CatCard.init, \.name, \.owner.name, \.toys.count)
    }
    static func cards(in store: Store) throws -> [CatCard] {
        try store.all(Cat.self).projected(CatCard.self).detached()
    }

    nonisolated(nonsending) static func migrated(_ path: String) async throws -> Store {
        try await Store.open(
            .file(path), models: Cat.self, Owner.self, Toy.self, version: 2
        ) { migration in
            try migration.rename(\Cat.tags, from: "labels")
            try migration.forEach(Cat.self) { old, new in
                let name: String = try old["name"]
                new.name = name.uppercased()
            }
        }
    }

    @MainActor static func show(_ tom: Live<Cat>, _ draw: (String) -> Void) async {
        let texts = Observations {
            tom.isValid ? "\(tom.name) of \(tom.owner?.name ?? "no owner")" : "gone"
        }
        for await text in texts { draw(text) }
    }
}

/// Calls the functions of the articles on an actor, without upcoming features of the compiler.
actor ArticleCaller {
    func use() async throws -> [String] {
        let store = try Store(
            .memory("article caller"), models: TypedArticle.Cat.self, TypedArticle.Owner.self,
            TypedArticle.Toy.self)
        defer { store.close() }
        return try await Self.calls(store)
    }

    @MainActor static func useOnMainActor() async throws -> [String] {
        let store = try Store(
            .memory("main caller"), models: TypedArticle.Cat.self, TypedArticle.Owner.self,
            TypedArticle.Toy.self)
        defer { store.close() }
        return try await Self.calls(store)
    }

    private nonisolated(nonsending) static func calls(_ store: Store) async throws -> [String] {
        let id = try await TypedArticle.add(to: store)
        let text = try await TypedArticle.adopt(store[id]?.name ?? "", in: store)
        return [text] + TypedArticle.expensive(in: store)
    }
}
