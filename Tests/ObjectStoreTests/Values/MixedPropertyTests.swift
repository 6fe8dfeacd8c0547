import ObjectStore
import Testing

@Suite struct MixedPropertyTests {
    static let classes = [
        ClassSchema("Dog", [Property("id", .int, isPrimary: true)]),
        ClassSchema(
            "Box",
            [
                Property("id", .int, isPrimary: true), Property("any", .mixed),
                Property("many", .mixed, collection: .list),
            ]),
    ]
    let store: Store

    init() throws { store = try Store.temporary(Self.classes) }

    private func box(_ id: Int, _ any: Value, many: [Value] = []) throws -> LiveObject {
        try store.create("Box", .list([.int(Int64(id)), any, .list(many)]))
    }

    private func ids(_ predicate: String, _ arguments: [Value] = []) throws -> [Int64] {
        let found = try store.objects("Box").filtered(predicate, arguments)
        return try found.keys().map { $0.rawValue }
    }

    @Test
    func `every type is stored in values and lists, and read after reopening the file`()
        throws
    {
        let folder = TemporaryFolder()
        let configuration = StoreConfiguration(
            .file(folder.file("mixed.moonpool")), schema: Self.classes)
        var maker = MixedMaker(seed: 11)
        var expected: [(Value, [Value])] = []
        var store = try Store(configuration, scheduler: ManualScheduler())
        for round in 0..<6 {
            try store.write {
                if round == 0 {
                    for id in 0..<5 { try store.create("Dog", .list([.int(Int64(id))])) }
                }
                maker.references = try store.objects("Dog").keys().map {
                    ObjectReference(table: store.schema.find("Dog")!.table, key: $0)
                }
                for _ in 0..<100 {
                    let value = maker.value()
                    let many = (0..<3).map { _ in maker.value(depth: 2) }
                    let key = Int64(expected.count)
                    try store.create("Box", .list([.int(key), value, .list(many)]))
                    expected.append((value, many))
                }
                // Changes some new and some old objects.
                for _ in 0..<40 {
                    let index = Int.random(in: expected.indices, using: &maker.random)
                    let object = try #require(
                        try store.object("Box", primaryKey: .int(Int64(index))))
                    expected[index] = (maker.value(), [maker.value(depth: 1)])
                    try object.set("any", expected[index].0)
                    try object.set("many", .list(expected[index].1))
                }
            }
            store.close()
            store = try Store(configuration, scheduler: ManualScheduler())
            for (index, values) in expected.enumerated() {
                let object = try #require(try store.object("Box", primaryKey: .int(Int64(index))))
                #expect(try object.value("any") == values.0)
                #expect(try object.value("many") == .list(values.1))
            }
        }
        store.close()
    }

    @Test func `very large values are stored`() throws {
        let text = String(repeating: "0123456789", count: 500_000)
        let list = Value.list((0..<50_000).map { .int(Int64($0)) })
        let object = try store.write {
            try box(1, .string(text), many: [.data(Array(text.utf8)), list])
        }
        #expect(try object.value("any") == .string(text))
        #expect(try object.list("many").element(at: 1) == list)
        try store.write { try object.set("any", .null) }
        #expect(try object.value("any") == .null)
    }

    @Test func `the depth of nested collections is limited, and exceeding it changes nothing`()
        throws
    {
        func nested(_ depth: Int) -> Value {
            (0..<depth).reduce(.int(1)) { value, _ in .list([value]) }
        }
        let object = try store.write { try box(1, nested(100)) }
        #expect(try object.value("any") == nested(100))
        for tooDeep in [nested(101), .dictionary(["a": nested(100)]), nested(5000)] {
            let error = storeError(.invalidArgument) {
                try store.write { try object.set("any", tooDeep) }
            }
            #expect(error?.message.contains("'any' of 'Box' can nest at most 100") == true)
            _ = storeError(.invalidArgument) {
                try store.write { try object.list("many").append([tooDeep]) }
            }
        }
        #expect(try object.value("any") == nested(100))
    }

    @Test func `deleting a target makes links inside mixed values nil, at any depth`()
        throws
    {
        let dogs = try store.write {
            try (0..<3).map { try store.create("Dog", .list([.int(Int64($0))])) }
        }
        let links = dogs.map { Value.object($0.reference) }
        let object = try store.write {
            try box(
                1, .dictionary(["a": .list([links[0], links[1], links[0]]), "b": links[0]]),
                many: [links[0], links[1], .list([.int(1), links[0]])])
        }
        let plain = try store.write { try box(2, links[0]) }
        try store.write { try store.delete(dogs[0]) }
        #expect(
            try object.value("any")
                == .dictionary(["a": .list([.null, links[1], .null]), "b": .null]))
        #expect(try object.value("many") == .list([.null, links[1], .list([.int(1), .null])]))
        #expect(try plain.value("any") == .null)
        #expect(try ids("any == nil") == [1])
        // Replaced values and deleted holders are no longer found.
        try store.write {
            try object.set("any", links[2])
            try object.set("any", links[1])
            try store.delete(dogs[2])
        }
        #expect(try object.value("any") == links[1])
        try store.write {
            try store.delete(plain)
            try store.delete(object)
            try store.delete(dogs[1])
        }
        #expect(try store.objects("Dog").count() == 0 && store.objects("Box").count() == 0)
    }

    @Test func `random links, changes and deletions leave no link to a deleted object`() throws {
        var maker = MixedMaker(seed: 5)
        for _ in 0..<30 {
            try store.write {
                for _ in 0..<4 {
                    try store.create(
                        "Dog", .list([.int(.random(in: 0 ... .max, using: &maker.random))]))
                }
                maker.references = try store.objects("Dog").keys().map {
                    ObjectReference(table: store.schema.find("Dog")!.table, key: $0)
                }
                for _ in 0..<5 {
                    let id = Int.random(in: 0..<20, using: &maker.random)
                    try store.create(
                        "Box", .list([.int(Int64(id)), maker.value(), .list([maker.value()])]),
                        mode: .all)
                }
                for reference in maker.references
                where Int.random(in: 0..<3, using: &maker.random) == 0 {
                    try store.delete(try #require(store.object(reference)))
                }
                if let first = try store.objects("Box").first(), Bool.random(using: &maker.random) {
                    try store.delete(first)
                }
            }
            func check(_ value: Value) {
                switch value {
                case .object(let reference): #expect(store.object(reference)?.isValid == true)
                case .list(let elements): elements.forEach(check)
                case .dictionary(let entries): entries.values.forEach(check)
                default: break
                }
            }
            for key in try store.objects("Box").keys() {
                let object = ObjectSource.store(store).object(store.schema.find("Box")!, key)
                check(try object.value("any"))
                check(try object.value("many"))
            }
        }
    }

    @Test func `a link to a deleted object is refused at any depth`() throws {
        let dog = try store.write { try store.create("Dog", .list([.int(1)])) }
        try store.write { try store.delete(dog) }
        for value in [
            Value.object(dog.reference), .list([.dictionary(["x": .object(dog.reference)])]),
        ] {
            _ = storeError(.invalidObject) { try store.write { _ = try box(1, value) } }
            _ = storeError(.invalidObject) {
                try store.write { _ = try box(1, .null, many: [value]) }
            }
        }
        #expect(try store.objects("Box").count() == 0)
    }

    @Test func `an upsert of changed values compares whole values`() throws {
        let value = Value.dictionary(["a": .list([.int(1), .string("x")])])
        let scheduler = ManualScheduler()
        let store = try Store.temporary(Self.classes, scheduler: scheduler)
        let object = try store.write { try store.create("Box", .list([.int(1), value])) }
        var observed: [[String]] = []
        let token = try object.observe { observed.append($0.properties.map(\.name)) }
        scheduler.settle()
        func upsert(_ value: Value) throws {
            try store.write { try store.create("Box", .list([.int(1), value]), mode: .modified) }
            scheduler.settle()
        }
        try upsert(value)
        #expect(observed.isEmpty)
        try upsert(.dictionary(["a": .list([.int(1), .string("y")])]))
        #expect(observed == [["any"]])
        token.invalidate()
    }

    // MARK: - Queries

    @Test func `predicates compare mixed values with values of their kind, numbers by value`()
        throws
    {
        let dog = try store.write { try store.create("Dog", .list([.int(1)])) }
        let values: [Value] = [
            .null, .bool(true), .int(1), .double(1), .decimal(DecimalValue("1.0")!), .double(2.5),
            .string("abc"), .string("ABC"), .data([97]), .date(Timestamp(microseconds: 5)),
            .uuid(UUIDValue(high: 1, low: 2)), .object(dog.reference), .list([.int(1)]),
        ]
        try store.write { for (id, value) in values.enumerated() { _ = try box(id, value) } }
        #expect(try ids("any == 1") == [2, 3, 4])
        #expect(try ids("any > 1") == [5] && ids("any >= 1") == [2, 3, 4, 5])
        #expect(try ids("any != 1").count == 10 && ids("any == nil") == [0])
        #expect(try ids("any == true") == [1] && ids("any == 'abc'") == [6])
        #expect(try ids("any ==[c] 'abc'") == [6, 7] && ids("any beginswith 'a'") == [6])
        #expect(try ids("any !=[c] 'abc'").count == 11)
        #expect(try ids("any > 'a'") == [6] && ids("any between {1, 3}") == [2, 3, 4, 5])
        #expect(try ids("any in {1, 'ABC', nil}") == [0, 2, 3, 4, 7])
        #expect(try ids("any == $1", [.object(dog.reference)]) == [11])
        #expect(try ids("any == $1", [.data([97])]) == [8])
        #expect(try ids("any == $1", [values[9]]) == [9] && ids("any < $1", [values[9]]) == [])
        #expect(try ids("any == $1", [values[10]]) == [10])
        #expect(try ids("any == id") == [] && ids("any <= id") == [2, 3, 4, 5])
        #expect(try ids("id == any") == [])
    }

    @Test func `lists of mixed values are searched with quantifiers`() throws {
        try store.write {
            _ = try box(0, .null, many: [.int(1), .string("a")])
            _ = try box(1, .null, many: [.double(1), .int(5)])
            _ = try box(2, .null)
        }
        #expect(try ids("any many == 1") == [0, 1] && ids("all many >= 1") == [1, 2])
        #expect(try ids("any many == 'a'") == [0] && ids("many.@count == 0") == [2])
        #expect(try ids("5 in many") == [1])
        let list = try #require(try store.object("Box", primaryKey: .int(1))).list("many")
        #expect(try list.firstIndex(of: .int(1)) == 0 && list.firstIndex(of: .double(5)) == 1)
        #expect(try list.firstIndex(of: .string("5")) == nil)
    }

    @Test func `counting all links to an object counts those in mixed values`() throws {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(Self.classes, scheduler: scheduler)
        let dogs = try store.write {
            try (0..<2).map { try store.create("Dog", .list([.int(Int64($0))])) }
        }
        let link = Value.object(dogs[0].reference)
        var observed: [[Int]] = []
        let linked = try store.objects("Dog").filtered("@links.@count > 2")
        let token = try linked.observe { observed.append($0.insertions + $0.deletions) }
        scheduler.settle()
        let box = try store.write {
            try store.create(
                "Box", .list([.int(1), .list([link, .list([link])]), .list([.int(5), link])]))
        }
        scheduler.settle()
        #expect(try linked.keys().array == [dogs[0].key])
        try store.write { try box.set("any", .object(dogs[1].reference)) }
        scheduler.settle()
        #expect(try store.objects("Dog").filtered("@links.@count == 1").count() == 2)
        #expect(observed == [[], [0], [0]])
        token.invalidate()
    }

    @Test func `sorting by a mixed property orders by type, nil first`() throws {
        let values: [Value] = [
            .string("b"), .int(3), .null, .list([]), .double(2.5), .bool(true), .string("a"),
            .decimal(DecimalValue("2.75")!), .date(Timestamp(microseconds: 0)), .null,
        ]
        try store.write { for (id, value) in values.enumerated() { _ = try box(id, value) } }
        let up = try store.objects("Box").sorted([("any", true)]).keys().map(\.rawValue)
        #expect(up == [2, 9, 5, 4, 7, 1, 6, 0, 8, 3])
        let down = try store.objects("Box").sorted([("any", false)]).keys().map(\.rawValue)
        #expect(down == [3, 8, 0, 6, 1, 7, 4, 5, 2, 9])
        #expect(
            try store.objects("Box").sorted([("any", true)]).limited(to: 3).keys().map(\.rawValue)
                == [2, 9, 5])
    }

    @Test func `distinct treats equal numbers of different types as one value`() throws {
        let values: [Value] = [
            .int(1), .double(1), .string("1"), .decimal(DecimalValue("1.00")!), .null, .null,
            .list([.int(1)]), .list([.double(1)]),
        ]
        try store.write { for (id, value) in values.enumerated() { _ = try box(id, value) } }
        #expect(try store.objects("Box").distinct(["any"]).keys().map(\.rawValue) == [0, 2, 4, 6])
    }

    @Test func `aggregates of a mixed property use its numbers`() throws {
        let values: [Value] = [.int(1), .double(2.5), .string("9"), .null, .bool(true)]
        try store.write { for (id, value) in values.enumerated() { _ = try box(id, value) } }
        let all = try store.objects("Box")
        #expect(try all.sum("any") == .double(3.5) && all.average("any") == .double(1.75))
        #expect(try all.minimum("any") == .int(1) && all.maximum("any") == .double(2.5))
        try store.write { _ = try box(9, .decimal(DecimalValue("0.25")!)) }
        #expect(try all.sum("any") == .decimal(DecimalValue("3.75")!))
        #expect(try all.count(of: "any") == 5)
    }
}

@Suite struct MixedObserverTests {
    @Test func `observers of results track links in mixed values at any depth`()
        throws
    {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(
            [
                ClassSchema("Dog", [Property("name", .string)]),
                ClassSchema(
                    "Box", [Property("any", .mixed), Property("many", .mixed, collection: .list)]),
            ], scheduler: scheduler)
        let dog = try store.write { try store.create("Dog", .list([.string("Rex")])) }
        let link = Value.object(dog.reference)
        let boxes = try store.write {
            try [
                store.create("Box", .list([link])), store.create("Box", .list([.int(1)])),
                store.create("Box", .list([.dictionary(["a": .list([link])])])),
                store.create("Box", .list([.null, .list([.int(1), .list([link])])])),
            ]
        }
        var observed: [[Int]] = []
        let token = try store.objects("Box").observe { observed.append($0.modifications) }
        scheduler.settle()
        try store.write { try dog.set("name", .string("Max")) }
        scheduler.settle()
        #expect(observed == [[], [0, 2, 3]])
        try store.write { try store.delete(dog) }
        scheduler.settle()
        #expect(observed.last == [0, 2, 3])
        #expect(try boxes[0].value("any") == .null)
        token.invalidate()
    }

    @Test
    func `an observer of results sorted by a mixed property or a decimal agrees with a new query`()
        throws
    {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(
            [
                ClassSchema(
                    "Box",
                    [
                        Property("id", .int, isPrimary: true), Property("any", .mixed),
                        Property("price", .decimal, isOptional: true),
                    ])
            ], scheduler: scheduler)
        var maker = MixedMaker(seed: 21)
        let prices = ["1.50", "1.5", "NaN", "-2", "Infinity", "0"].map { DecimalValue($0)! }
        var rows: [String: [Int64]] = [:]
        var tokens: [NotificationToken] = []
        for path in ["any", "price"] {
            let sorted = try store.objects("Box").filtered("any != 3").sorted([(path, false)])
            tokens.append(
                try sorted.observe { change in
                    var keys = rows[path] ?? []
                    let now = (try? sorted.keys().array.map(\.rawValue)) ?? []
                    if case .initial = change.kind {
                        keys = now
                    } else {
                        for index in change.deletions.reversed() { keys.remove(at: index) }
                        for index in change.insertions { keys.insert(now[index], at: index) }
                    }
                    rows[path] = keys
                    #expect(keys == now, "\(path)")
                })
        }
        scheduler.settle()
        for _ in 0..<60 {
            try store.write {
                for _ in 0..<4 {
                    let id = Int64.random(in: 0..<25, using: &maker.random)
                    let price = prices.randomElement(using: &maker.random).map(Value.decimal)
                    try store.create(
                        "Box", .list([.int(id), maker.value(depth: 2), price ?? .null]), mode: .all)
                }
            }
            scheduler.settle()
        }
        for token in tokens { token.invalidate() }
    }
}
