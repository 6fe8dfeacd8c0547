import ObjectStore
import Testing

/// `distinct` and sections by values inside mixed values, and queries that outlive their schema.
@Suite struct MixedKeysTests {
    let scheduler = ManualScheduler()
    let store: Store
    let toy: LiveObject

    init() throws {
        store = try Store.temporary(MixedPathTests.classes, scheduler: scheduler)
        toy = try store.write { [store] in
            let toy = try store.create(
                "Toy", .dictionary(["name": .string("ball"), "price": .double(1)]))
            let values: [Value] = [
                .dictionary(["name": .string("ball"), "n": .int(1)]), .object(toy.reference),
                .dictionary(["n": .double(1)]), .dictionary(["n": .string("x")]), .null,
                .list([.int(5), .int(1)]), .dictionary(["n": .double(.nan)]),
            ]
            for (id, value) in values.enumerated() {
                try store.create(
                    "Box",
                    .dictionary([
                        "id": .int(Int64(id)), "any": value,
                        "many": .list([Value](repeating: .int(0), count: id % 3)),
                    ]))
            }
            return toy
        }
    }

    private func boxes() throws -> Results { try store.objects("Box") }

    private func ids(_ results: Results) throws -> [Int64] {
        try results.keys().map { $0.rawValue }
    }

    @Test func `distinct supports paths into mixed values, through links, and counts`() throws {
        #expect(try ids(boxes().distinct(["any.n"])) == [0, 1, 3, 6])
        #expect(try ids(boxes().distinct(["any.name"])) == [0, 2])
        #expect(try ids(boxes().distinct(["any[1]"])) == [0, 5])
        #expect(try ids(boxes().distinct(["many.@count"])) == [0, 1, 2])
        #expect(try ids(boxes().distinct(["many.@count", "any.name"])) == [0, 1, 2, 3, 4])
        #expect(try ids(boxes().filtered("truepredicate distinct(any.n)")) == [0, 1, 3, 6])
        #expect(
            try ids(boxes().filtered("id > 0 distinct(any['n'], many.@count)")) == [
                1, 2, 3, 5, 6,
            ])
    }

    @Test func `distinct reports the error of a path`() throws {
        for path in [
            "any[*]", "many", "any.", "any.@sizzle", "many.@values", "any[0]", "nothing.n", "",
        ] {
            #expect(throws: StoreError.self, "\(path)") { try boxes().distinct([path]) }
        }
        let error = storeError(.invalidQuery) { _ = try boxes().distinct(["any[*].n"]) }
        #expect(error?.message.contains("distinct needs one value of each object") == true)
        let located = storeError(.invalidQuery) {
            _ = try boxes().filtered("truepredicate distinct(any[*])")
        }
        #expect(located?.message.contains("^") == true)
    }

    @Test func `results are grouped by a path into mixed values or by a count`() throws {
        let names = try boxes().grouped(by: "any.name")
        #expect(try names.keys() == [.null, .string("ball")])
        #expect(try ids(names.section(at: 1).objects) == [0, 1])
        let numbers = try boxes().grouped(by: "any.n")
        #expect(try numbers.count() == 4)
        #expect(try ids(numbers.objects(withKey: .double(1))) == [0, 2])
        let found = try (0..<4).flatMap { try ids(numbers.section(at: $0).objects) }
        #expect(found.sorted() == [0, 1, 2, 3, 4, 5, 6])
        let counts = try boxes().grouped(by: "many.@count", ascending: false)
        #expect(try counts.keys() == [.int(2), .int(1), .int(0)])
        #expect(try ids(counts.section(at: 0).objects) == [2, 5])
        #expect(throws: StoreError.self) { try boxes().grouped(by: "any[*].n") }
        #expect(throws: StoreError.self) { try boxes().grouped(by: "@rank") }
        // The numbers of types have no meaning for users.
        #expect(throws: StoreError.self) { try boxes().grouped(by: "any.@type") }
    }

    @Test
    func
        `observers of distinct rows and of sections by mixed values receive changes of linked objects`()
        throws
    {
        let sections = try boxes().grouped(by: "any.name")
        let distinct = try boxes().distinct(["any.name"])
        var observed: [SectionedChange] = []
        var rows: [[Int]] = []
        let tokens = [
            try sections.observe { observed.append($0) },
            try distinct.observe { rows.append($0.insertions + $0.deletions) },
        ]
        scheduler.settle()
        try store.write { try toy.set("name", .string("bone")) }
        scheduler.settle()
        #expect(try sections.keys() == [.null, .string("ball"), .string("bone")])
        #expect(observed.count == 2 && rows == [[], [1]])
        // 1 and 1.0 are equal for both.
        try store.write {
            try store.object("Box", primaryKey: .int(3))?.set(
                "any", .dictionary(["name": .double(1)]))
            try store.object("Box", primaryKey: .int(4))?.set("any", .dictionary(["name": .int(1)]))
        }
        scheduler.settle()
        #expect(rows.last?.count == 1 && observed.count == 3)
        #expect(try ids(distinct) == [0, 1, 2, 3])
        withExtendedLifetime(tokens) {}
    }

    @Test func `existing queries include classes that are defined later`() throws {
        let found = try boxes().filtered("any.weight > 3 sort(any.weight desc)")
        let sorted = try boxes().sorted([("any.weight", false)])
        let distinct = try boxes().distinct(["any.weight"])
        let sections = try boxes().grouped(by: "any.weight")
        #expect(try found.count() == 0 && sections.count() == 1 && ids(distinct) == [0])
        var observed: [[Int]] = []
        var grouped = 0
        let tokens = [
            try found.observe { observed.append($0.insertions) },
            try sections.observe { _ in grouped += 1 },
        ]
        scheduler.settle()
        try store.define([ClassSchema("Stone", [Property("weight", .int)])])
        scheduler.settle()
        let stone = try store.write {
            let stone = try store.create("Stone", .list([.int(7)]))
            try store.object("Box", primaryKey: .int(4))?.set("any", .object(stone.reference))
            return stone
        }
        scheduler.settle()
        #expect(try ids(found) == [4] && ids(sorted).first == 4)
        #expect(try ids(distinct) == [0, 4])
        #expect(try sections.keys() == [.null, .int(7)])
        #expect(try ids(sections.objects(withKey: .int(7))) == [4])
        #expect(observed == [[], [0]] && grouped == 2)
        try store.write { try stone.set("weight", .int(1)) }
        scheduler.settle()
        #expect(observed.count == 3 && grouped == 3)
        #expect(try found.count() == 0)
        withExtendedLifetime(tokens) {}
    }

    @Test func `existing queries continue when a reachable class is removed`() throws {
        let found = try boxes().filtered("any.name == 'ball'")
        #expect(try ids(found) == [0, 1])
        var observed: [CollectionChange.Kind] = []
        let token = try found.observe { observed.append($0.kind) }
        scheduler.settle()
        let rest = MixedPathTests.classes.filter { $0.name != "Toy" }
        _ = try store.redefine(rest) { try $0.deleteClass("Toy") }
        scheduler.settle()
        #expect(try ids(found) == [0])
        let isUpdate = observed.last.map { if case .error = $0 { false } else { true } } ?? false
        #expect(isUpdate)
        withExtendedLifetime(token) {}
    }
}
