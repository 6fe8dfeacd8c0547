import ObjectStore
import Testing

@Suite struct UpsertTests {
    static let classes = [
        ClassSchema(
            "Toy",
            [Property("id", .int, isPrimary: true), Property("name", .string, isOptional: true)]),
        ClassSchema(
            "Dog",
            [
                Property("id", .int, isPrimary: true), Property("name", .string, isOptional: true),
                Property("favorite", .object, target: "Toy"),
                Property("toys", .object, collection: .list, target: "Toy"),
            ]),
    ]

    /// A store with five dogs that each have a toy, the values of their creation, and the later reports to observers of
    /// the first dog, of all dogs and of all toys.
    private final class Kennel {
        let scheduler = ManualScheduler()
        let store: Store
        var observed: [String] = []
        private var tokens: [NotificationToken] = []

        init() throws {
            store = try Store.temporary(UpsertTests.classes, scheduler: scheduler)
            try upsert(.error)
            let first = try #require(try store.object("Dog", primaryKey: .int(0)))
            tokens = [
                try first.observe { [unowned self] change in
                    observed.append(
                        "dog 0: " + change.properties.map(\.name).joined(separator: ","))
                },
                try store.objects("Dog").observe { [unowned self] change in
                    if case .update = change.kind {
                        observed.append("dogs: \(change.modifications)")
                    }
                },
                try store.objects("Toy").observe { [unowned self] change in
                    if case .update = change.kind {
                        observed.append("toys: \(change.modifications)")
                    }
                },
            ]
            scheduler.settle()
        }

        func values(_ id: Int, toyName: String = "ball", dogName: String = "Rex") -> Value {
            .dictionary([
                "id": .int(Int64(id)), "name": .string(dogName),
                "favorite": .dictionary(["id": .int(Int64(id)), "name": .string(toyName)]),
                "toys": .list([.dictionary(["id": .int(Int64(id)), "name": .string(toyName)])]),
            ])
        }

        func upsert(_ mode: UpdateMode) throws {
            try store.write {
                for id in 0..<5 {
                    try store.create(
                        "Toy", .list([.int(Int64(id)), .string("ball")]),
                        mode: mode == .error ? .error : mode)
                }
                for id in 0..<5 {
                    var given = values(id)
                    if mode == .error, case .dictionary(var named) = given {
                        let toy = try store.object("Toy", primaryKey: .int(Int64(id)))
                        let link = toy.map { Value.object($0.reference) } ?? .null
                        named["favorite"] = link
                        named["toys"] = .list([link])
                        given = .dictionary(named)
                    }
                    try store.create("Dog", given, mode: mode)
                }
            }
        }

        func change(_ mode: UpdateMode, _ values: Value) throws -> [String] {
            observed = []
            try store.write { try store.create("Dog", values, mode: mode) }
            scheduler.settle()
            return observed
        }
    }

    @Test func `update all reports every updated object`() throws {
        let kennel = try Kennel()
        kennel.observed = []
        try kennel.upsert(.all)
        kennel.scheduler.settle()
        #expect(kennel.observed.contains("dogs: [0, 1, 2, 3, 4]"), "\(kennel.observed)")
        #expect(kennel.observed.contains("toys: [0, 1, 2, 3, 4]"), "\(kennel.observed)")
    }

    @Test func `update modified with identical values reports nothing`() throws {
        let kennel = try Kennel()
        kennel.observed = []
        try kennel.upsert(.modified)
        kennel.scheduler.settle()
        #expect(kennel.observed == [])
    }

    @Test func `update modified reports exactly the changed property`() throws {
        let kennel = try Kennel()
        let observed = try kennel.change(.modified, kennel.values(0, dogName: "Max"))
        #expect(observed == ["dog 0: name", "dogs: [0]"])
    }

    @Test func `a changed nested object is reported, and modifies the rows that link to it`()
        throws
    {
        let kennel = try Kennel()
        let observed = try kennel.change(.modified, kennel.values(0, toyName: "bone"))
        #expect(observed.sorted() == ["dogs: [0]", "toys: [0]"])
    }

    @Test func `update modified replaces a different list`() throws {
        let kennel = try Kennel()
        let longer = Value.dictionary([
            "id": .int(0), "toys": .list([.list([.int(0)]), .list([.int(1)])]),
        ])
        #expect(try kennel.change(.modified, longer) == ["dog 0: toys", "dogs: [0]"])
        #expect(try kennel.change(.modified, longer) == [])
        let dog = try kennel.store.object("Dog", primaryKey: .int(0))
        #expect(try dog?.list("toys").count() == 2)
        let shorter = Value.dictionary(["id": .int(0), "toys": .list([.list([.int(4)])])])
        #expect(try kennel.change(.all, shorter).contains("dog 0: toys"))
        #expect(try dog?.list("toys").count() == 1)
    }

    @Test func `an upsert of a new key needs its required values`() throws {
        let classes = [
            ClassSchema("A", [Property("id", .int, isPrimary: true), Property("n", .string)])
        ]
        let store = try Store.temporary(classes)
        try store.write {
            _ = storeError(.missingValue) {
                try store.create("A", .dictionary(["id": .int(1)]), mode: .all)
            }
            try store.create("A", .list([.int(1), .string("x")]))
            try store.create("A", .dictionary(["id": .int(1)]), mode: .all)
            _ = storeError(.missingValue) {
                try store.create("A", .dictionary(["id": .int(1), "n": .null]), mode: .all)
            }
        }
    }
}
