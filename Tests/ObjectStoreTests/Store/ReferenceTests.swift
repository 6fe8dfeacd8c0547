import ObjectStore
import Testing

/// References from one store to another of the same file.
@Suite struct ReferenceTests {
    static let classes = [
        ClassSchema("Dog", "id: int primary, age: int, friends: Dog[], marks: int<>")
    ]
    let folder = TemporaryFolder()
    let near: Store
    let far: Store
    let scheduler = ManualScheduler()

    init() throws {
        let configuration = StoreConfiguration(
            .file(folder.file("references.moonpool")), schema: Self.classes)
        near = try Store(configuration, scheduler: ManualScheduler())
        far = try Store(configuration, scheduler: scheduler)
        try near.write {
            for (id, age) in [5, 3, 5, 1].enumerated() {
                try near.create("Dog", .list([.int(Int64(id)), .int(Int64(age))]))
            }
            let dogs = try near.objects("Dog").keys().map {
                Value.object(ObjectReference(table: near.schema.find("Dog")!.table, key: $0))
            }
            try near.objects("Dog").first()?.set("friends", .list([dogs[1], dogs[2], dogs[3]]))
        }
        try far.refresh()
    }

    private func ages(_ results: Results) throws -> [Value] {
        try results.keys().map { key in
            try results.source.object(results.classSchema(), key).value("age")
        }
    }

    @Test func `resolving in a newer store does not go back`() throws {
        let dog = try #require(try near.objects("Dog").first())
        let reference = try near.reference(to: .object(dog))
        try far.write { try far.objects("Dog").first()?.set("age", .int(9)) }
        let version = far.version
        guard case .object(let resolved)? = try far.resolve(reference) else {
            Issue.record("no object")
            return
        }
        #expect(try resolved.value("age") == .int(9) && far.version == version)
        #expect(try dog.value("age") == .int(5))
    }

    @Test func `results keep their filter, order and distinct values, and can be observed`()
        throws
    {
        let results = try near.objects("Dog").filtered("age > 1").sorted([("age", true)])
            .distinct(["age"])
        guard case .results(let resolved)? = try far.resolve(near.reference(to: .results(results)))
        else {
            Issue.record("no results")
            return
        }
        #expect(try ages(resolved) == [.int(3), .int(5)])
        var observed: [[Int]] = []
        let token = try resolved.observe { observed.append($0.insertions) }
        scheduler.settle()
        try near.write { try near.create("Dog", .list([.int(9), .int(4)])) }
        try far.refresh()
        scheduler.settle()
        #expect(observed == [[], [1]])
        #expect(try ages(resolved) == [.int(3), .int(4), .int(5)])
        token.invalidate()
    }

    @Test func `a list and a set are live on the other thread, and edits are visible here`() throws
    {
        let dog = try #require(try near.objects("Dog").first())
        let friends = try dog.list("friends")
        guard
            case .collection(let list as LiveList)? =
                try far.resolve(near.reference(to: .collection(friends))),
            case .collection(let set as LiveSet)? =
                try far.resolve(near.reference(to: .collection(dog.set("marks"))))
        else {
            Issue.record("no collections")
            return
        }
        try far.write {
            try list.remove(at: 0)
            try set.insert(.int(7))
        }
        #expect(try friends.count() == 3)
        try near.refresh()
        #expect(try friends.count() == 2 && dog.set("marks").contains(.int(7)))
    }

    @Test func `a frozen object that is newer than the store thaws to nil`() throws {
        let dog = try near.write { try near.create("Dog", .list([.int(9), .int(2)])) }
        let frozen = try near.freeze(dog)
        #expect(try far.thaw(frozen) == nil)
        try far.refresh()
        #expect(try far.thaw(frozen)?.value("id") == .int(9))
    }

    @Test
    func `after the owner is deleted, the collection is nil and its results are empty`() throws {
        let dog = try #require(try near.objects("Dog").first())
        let friends = try dog.list("friends")
        let list = try near.reference(to: .collection(friends))
        let results = try near.reference(to: .results(Results(friends).filtered("age > 0")))
        try far.write { if let dog = try far.objects("Dog").first() { try far.delete(dog) } }
        #expect(try far.resolve(list) == nil)
        guard case .results(let rest)? = try far.resolve(results) else {
            Issue.record("no results")
            return
        }
        #expect(
            try rest.count() == 0 && rest.first() == nil && rest.filtered("age > 1").count() == 0)
    }
}
