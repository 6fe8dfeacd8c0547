import ObjectStore
import Testing

/// A creation that fails halfway leaves no created objects, and does not notify observers.
@Suite struct FailedCreationTests {
    static let classes = [
        ClassSchema("Toy", "id: int primary, age: int?, next: Toy"),
        ClassSchema("Label", "text: string, toy: Toy", isEmbedded: true),
        ClassSchema(
            "Dog",
            "id: int primary, best: Toy, toys: Toy[], few: Toy<>, named: Toy{}, label: Label, "
                + "labels: Label[]"),
    ]

    let scheduler = ManualScheduler()
    let store: Store
    let dog: LiveObject

    init() throws {
        let store = try Store.temporary(Self.classes, scheduler: scheduler)
        self.store = store
        dog = try store.write {
            try store.create(
                "Dog",
                .dictionary([
                    "id": .int(1), "best": Self.toy(1), "label": Self.label("old", 2),
                    "labels": .list([Self.label("first", 3)]),
                ]))
        }
    }

    static func toy(_ id: Int64, next: Value = .null) -> Value {
        .dictionary(["id": .int(id), "age": .int(id), "next": next])
    }

    /// An invalid toy that links to a valid one.
    static let badToy = Value.dictionary(["id": .int(90), "next": toy(91), "age": .string("x")])

    /// A toy with valid values and an existing key.
    static let takenToy = Value.dictionary(["id": .int(1), "next": toy(92)])

    static func label(_ text: String, _ id: Int64) -> Value {
        .dictionary(["text": .string(text), "toy": toy(id)])
    }

    static let badLabel = Value.dictionary(["text": .string("bad"), "toy": takenToy])

    static let bad: [(property: String, value: Value)] = [
        ("best", toy(10, next: toy(11, next: takenToy))),
        ("toys", .list([toy(10), toy(11, next: badToy)])),
        ("toys", .list([toy(10), takenToy])),
        ("few", .list([toy(10), takenToy])),
        ("named", .dictionary(["a": toy(10), "b": takenToy])),
        ("label", badLabel),
        ("labels", .list([label("a", 10), badLabel])),
    ]

    /// Runs `body` in a write that continues, and checks that it has changed nothing.
    private func expectNothing(of body: () throws -> Void) throws {
        var observed: [String] = []
        let tokens = try ["Toy", "Dog"].map { name in
            try store.objects(name).observe { change in
                if case .update = change.kind { observed.append(name) }
            }
        }
        scheduler.settle()
        let before = try state()
        try store.write { () throws in
            #expect(throws: StoreError.self) { try body() }
            #expect(try state() == before)
        }
        scheduler.settle()
        #expect(observed == [])
        tokens.forEach { $0.invalidate() }
    }

    private func state() throws -> [String] {
        try ["Toy", "Dog"].map { "\(try store.objects($0).count())" }
            + [
                "\(try dog.value("best"))", "\(try dog.value("toys"))", "\(try dog.value("few"))",
                "\(try dog.value("named"))", "\(try dog.value("label"))",
                "\(try dog.value("labels"))",
            ]
            + Array(1...3).flatMap { id in
                guard let toy = try store.object("Toy", primaryKey: .int(Int64(id))) else {
                    return [""]
                }
                return ["\(try toy.value("age")) \(try toy.value("next"))"]
            }
    }

    @Test(arguments: bad.indices) func `a failed creation changes nothing`(index: Int) throws {
        let (property, value) = Self.bad[index]
        let good: ValueMap = ["id": .int(2), "best": Self.toy(30), "label": Self.label("new", 31)]
        try expectNothing {
            try store.create("Dog", .dictionary(good.merging([property: value]) { $1 }))
        }
    }

    @Test(arguments: bad.indices) func `a failed assignment changes nothing`(index: Int) throws {
        let (property, value) = Self.bad[index]
        try expectNothing { try dog.set(property, value) }
    }

    @Test func `a failed update of several properties changes nothing`() throws {
        try expectNothing {
            try store.update(
                dog, ["best": Self.toy(10), "toys": .list([Self.toy(11), Self.takenToy])],
                mode: .error)
        }
    }

    @Test func `a failed addition to a list or a set changes nothing`() throws {
        try expectNothing { try dog.list("toys").append([Self.toy(10), Self.takenToy]) }
        try expectNothing { try dog.list("labels").append([Self.label("a", 10), Self.badLabel]) }
        try expectNothing { _ = try dog.set("few").formUnion([Self.toy(10), Self.takenToy]) }
    }

    /// Values that update existing objects, at several depths, before they fail.
    static let updates: [ValueMap] = [
        ["best": toy(1, next: toy(40)), "toys": .list([badToy])],
        ["best": toy(1, next: toy(2, next: toy(41))), "few": .list([badToy])],
        [
            "label": label("changed", 2),
            "labels": .list([label("x", 3), .dictionary(["text": .int(1)])]),
        ],
        ["named": .dictionary(["a": toy(3, next: toy(1)), "b": toy(1, next: badToy)])],
        ["toys": .list([toy(50), toy(1, next: toy(50, next: toy(51))), badToy])],
    ]

    @Test(arguments: updates.indices, [UpdateMode.all, .modified])
    func `a failed upsert restores the objects that it has updated`(
        index: Int, mode: UpdateMode
    ) throws {
        let values = Self.updates[index]
        for id in [Int64(1), 2] {
            try expectNothing {
                let named = values.merging(["id": .int(id)]) { $1 }
                try store.create("Dog", .dictionary(named), mode: mode)
            }
        }
        try expectNothing { try store.update(dog, values, mode: mode) }
        // The write continues.
        try store.write {
            try store.create("Dog", .dictionary(["id": .int(1), "best": Self.toy(1)]), mode: mode)
        }
        #expect(try store.verify().isEmpty)
    }

    @Test(arguments: [UpdateMode.all, .modified])
    func `a failed copy restores the objects that it has updated`(mode: UpdateMode) throws {
        let other = try Store.temporary([
            ClassSchema("Toy", "id: int primary, age: string, next: Cat"),
            ClassSchema("Cat", "id: int primary"),
        ])
        let toy = try other.write {
            try other.create(
                "Toy",
                .dictionary([
                    "id": .int(1), "age": .string("x"), "next": .dictionary(["id": .int(7)]),
                ]))
        }
        try expectNothing { _ = try store.create("Toy", copying: toy, mode: mode) }
    }
}
