import Testing

@testable import ObjectStore

/// Orders, duplicates, limits, and the lifetime of results.
@Suite struct ResultsTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
    }

    private func addAges(_ ages: [Int64?]) throws {
        try world.addPeople(ages.map { ["age": $0.map(Value.int) ?? .null] })
    }

    private func sorted(_ paths: (String, Bool)...) throws -> Results {
        try world.all().sorted(paths.map { (path: $0.0, ascending: $0.1) })
    }

    @Test func `nil comes first ascending and last descending`() throws {
        try world.addPeople([
            [
                "age": .int(2), "name": .string("b"), "height": .double(2), "active": .bool(true),
                "weight": .float(2),
            ],
            [:],
            [
                "age": .int(-1), "name": .string("a"), "height": .double(-1),
                "active": .bool(false), "weight": .float(-1),
            ],
        ])
        for path in ["age", "name", "height", "active", "weight"] {
            #expect(try world.positions(sorted((path, true))) == [1, 2, 0], "\(path)")
            #expect(try world.positions(sorted((path, false))) == [0, 2, 1], "\(path)")
        }
    }

    @Test func `a nil link in the path counts as nil, first when ascending`() throws {
        try addAges([3, 1, 2])
        let people = try (0..<3).map { try world.all().object(at: $0) }
        try world.store.write {
            try people[0].set("buddy", .object(people[0].reference))
            try people[2].set("buddy", .object(people[1].reference))
        }
        #expect(try world.positions(sorted(("buddy.age", true))) == [1, 2, 0])
        #expect(try world.positions(sorted(("buddy.age", false))) == [0, 2, 1])
    }

    @Test func `equal values keep the previous order`() throws {
        try addAges([2, 3, 0, 1, 2, 3, 0, 1])
        #expect(try world.positions(sorted(("age", true))) == [2, 6, 3, 7, 0, 4, 1, 5])
        #expect(try world.positions(sorted(("age", false))) == [1, 5, 0, 4, 3, 7, 2, 6])
    }

    @Test func `the first key decides, and a later sort precedes an earlier one`() throws {
        try world.addPeople([
            ["age": .int(1), "name": .string("b")], ["age": .int(2), "name": .string("a")],
            ["age": .int(1), "name": .string("a")], ["age": .int(2), "name": .string("b")],
        ])
        #expect(try world.positions(sorted(("age", true), ("name", true))) == [2, 0, 1, 3])
        #expect(try world.positions(sorted(("age", false), ("name", true))) == [1, 3, 2, 0])
        let chained = try sorted(("name", true)).sorted([(path: "age", ascending: true)])
        #expect(try world.positions(chained) == [2, 0, 1, 3])
    }

    @Test(arguments: [
        ("", "empty component"), ("buddy.", "empty component"), ("agee", "did you mean 'age'?"),
        ("buddy", "ends in the link"), ("items.price", "goes through the list"),
        ("photo", "which is data"), ("age.name", "not a link"),
    ])
    func `sorting refuses paths without an order`(path: String, part: String) throws {
        let error = #expect(throws: StoreError.self) {
            _ = try world.all().sorted([(path: path, ascending: true)])
        }
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.code == (path == "agee" ? .unknownProperty : .invalidQuery))
    }

    @Test func `distinct keeps the first row in the current order`() throws {
        try world.addPeople(
            (0..<10).map { ["age": .int(Int64($0 % 3)), "height": .double(Double(10 - $0))] })
        let byAge = try world.all().distinct(["age"])
        #expect(try world.positions(byAge) == [0, 1, 2])
        let sortedFirst = try sorted(("height", true)).distinct(["age"])
        #expect(try world.positions(sortedFirst) == [9, 8, 7])
        #expect(
            try world.positions(byAge.sorted([(path: "height", ascending: true)])) == [2, 1, 0])
        #expect(try byAge.filtered("age < 2").count() == 2)
        #expect(try world.all().distinct(["age", "height"]).count() == 10)
        #expect(try world.all().distinct(["age"]).distinct(["height"]).count() == 3)
    }

    @Test func `limits apply at their position`() throws {
        try addAges([2, 3, 0, 1, 2, 3, 0, 1])
        #expect(try world.all().limited(to: 0).count() == 0)
        #expect(try world.all().limited(to: 100).count() == 8)
        #expect(try world.positions(sorted(("age", true)).limited(to: 2)) == [2, 6])
        let limited = try world.all().limited(to: 3)
        #expect(try world.positions(limited.sorted([(path: "age", ascending: true)])) == [2, 0, 1])
        #expect(try limited.limited(to: 5).count() == 3)
        #expect(try world.positions(limited.filtered("age > 1")) == [0, 1])
        #expect(throws: StoreError.self) { try world.all().limited(to: -1) }
    }

    @Test func `sort, distinct and limit can follow a predicate`() throws {
        try addAges([2, 3, 0, 1, 2, 3, 0, 1])
        #expect(try world.rows("truepredicate sort(age asc, rank desc) limit(3)") == [6, 2, 7])
        #expect(try world.rows("age > 0 SORT(age DESC) DISTINCT(age) LIMIT(2)") == [1, 0])
        #expect(try world.rows("truepredicate distinct(age) sort(age)") == [2, 3, 0, 1])
    }

    @Test func `filters compose and keep the order`() throws {
        try addAges([5, 1, 4, 2, 3])
        let results = try sorted(("age", false)).filtered("age > 1").filtered("age < 5")
        #expect(try world.positions(results) == [2, 4, 3])
    }

    @Test func `sorted and limited results are the first sorted ones, at any size`() throws {
        var generator = SplitMix(seed: 3)
        try world.addPeople(
            (0..<3000).map { _ in
                var row: ValueMap = [:]
                if Int.random(in: 0..<10, using: &generator) > 0 {
                    row["age"] = .int(Int64.random(in: -5...5, using: &generator))
                }
                if Int.random(in: 0..<10, using: &generator) > 0 {
                    row["height"] = .double(Double.random(in: -1...1, using: &generator))
                    row["name"] = .string(
                        String(repeating: "x", count: Int.random(in: 0...12, using: &generator))
                            + "\(Int.random(in: 0..<50, using: &generator))")
                }
                return row
            })
        let orders: [[(path: String, ascending: Bool)]] = [
            [("height", true)], [("height", false)], [("age", true)], [("age", false)],
            [("age", true), ("height", false)], [("age", false), ("name", true)],
            [("name", true)], [("name", false), ("age", true)],
        ]
        for order in orders {
            let all = try world.all().sorted(order)
            let keys = try all.keys().array
            let sortKeys = try order.map {
                try SortKey(
                    .parse($0.path, class: world.person, schema: world.store.schema),
                    ascending: $0.ascending)
            }
            let comparator = try SortComparator(sortKeys, in: world.store.view)
            let expected = try world.all().keys().sorted { try comparator.order($0, $1) < 0 }
            #expect(keys == expected)
            let codes = try expected.map(comparator.code)
            #expect(zip(codes, codes.dropFirst()).allSatisfy { $0 <= $1 })
            let sorter = try QuerySorter(sortKeys, table: world.person.table, in: world.store.view)
            #expect(try sorter.coded(world.all().keys()).map(\.code) == codes)
            if sortKeys.count == 1, sortKeys[0].isExactlyCoded {
                for (left, right) in zip(expected, expected.dropFirst())
                where try comparator.code(of: left) == comparator.code(of: right) {
                    #expect(try comparator.orderByValues(left, right) == 0)
                }
            }
            for limit in [1, 7, 100, 700] {
                #expect(try all.limited(to: limit).keys().array == Array(keys.prefix(limit)))
            }
        }
    }

    @Test func `results include the changes of the open write`() throws {
        let results = try world.all().filtered("active == true")
        #expect(try results.count() == 0)
        try world.store.beginWrite()
        func person(_ id: Int64, _ active: Bool) throws -> LiveObject {
            try world.store.create(
                "Person",
                .dictionary([
                    "id": .int(id), "rank": .int(id), "nick": .string("n"), "active": .bool(active),
                ]))
        }
        let first = try person(1, true)
        #expect(try results.count() == 1)
        #expect(try results.keys().count == 1)
        try world.store.delete(first)
        #expect(try results.count() == 0)
        let second = try person(2, false)
        #expect(try results.keys().count == 0)
        try second.set("active", .bool(true))
        #expect(try results.keys().count == 1)
        _ = try person(3, true)
        #expect(try results.count() == 2)
        try world.store.cancelWrite()
        #expect(try results.count() == 0)
    }

    @Test func `a loop visits the initial members`() throws {
        try addAges(Array(repeating: 0, count: 40))
        let results = try world.all().filtered("age == 0")
        var visited = 0
        try world.store.write {
            for key in try results.keys() {
                try world.store.object(ObjectReference(table: world.person.table, key: key))?
                    .set("age", .int(1))
                visited += 1
            }
        }
        #expect(visited == 40)
        #expect(try results.count() == 0)
    }

    @Test func `aggregates skip nil`() throws {
        try world.addPeople([
            [:], ["age": .int(0), "height": .double(0)], ["age": .int(2), "height": .double(2)],
        ])
        #expect(try world.all().minimum("age") == .int(0))
        #expect(try world.all().maximum("age") == .int(2))
        #expect(try world.all().average("age") == .double(1))
        #expect(try world.all().sum("age") == .int(2))
        #expect(try world.all().sum("height") == .double(2))
        #expect(try world.all().average("height") == .double(1))
        #expect(try world.all().maximum("height") == .double(2))
        #expect(try world.all().minimum("weight") == .null)
        #expect(try world.all().count(of: "age") == 2)
        let none = try world.all().filtered("falsepredicate")
        #expect(try none.sum("age") == .int(0))
        #expect(try none.sum("height") == .double(0))
        #expect(try none.average("height") == .null)
        for path in ["name", "items.price", "nothing", "buddy"] {
            #expect(throws: StoreError.self) { try world.all().sum(path) }
        }
        #expect(throws: StoreError.self) { try world.all().average("born") }
    }

    @Test func `first and last of empty results are nil, an index past the end is an error`() throws
    {
        #expect(try world.all().first() == nil)
        #expect(try world.all().last() == nil)
        try addAges([1, 2])
        #expect(try world.all().first()?.value("age") == .int(1))
        #expect(try world.all().last()?.value("age") == .int(2))
        let error = #expect(throws: StoreError.self) { _ = try world.all().object(at: 2) }
        #expect(error?.code == .outOfRange)
    }

    @Test func `results return the index of an object`() throws {
        try addAges([3, 1, 2])
        let results = try sorted(("age", true))
        let object = try world.all().object(at: 0)
        #expect(try results.index(of: object) == 2)
        #expect(try world.all().index(of: object) == 0)
        #expect(try world.all().filtered("age < 3").index(of: object) == nil)
        try world.store.write { try world.store.delete(object) }
        #expect(throws: StoreError.self) { try results.index(of: object) }
    }

    @Test func `primary keys and indexed values are looked up without a scan`() throws {
        try world.addPeople((0..<2000).map { ["age": .int(Int64($0 % 7))] })
        for text in [
            "id == 77", "id in {5, 77, 9000}", "rank == 77", "nick == 'n77'",
            "nick in {'n1', 'n77'}", "id between {70, 80}", "id == 77 and age == 0",
        ] {
            let results = try world.all().filtered(text)
            #expect(try results.explain().contains("index"), "\(text)")
            let scanned = try world.all().filtered("(\(text)) or falsepredicate")
            #expect(try scanned.explain().contains("scans"), "\(text)")
            #expect(try results.keys().array == scanned.keys().array, "\(text)")
            #expect(try results.count() > 0, "\(text)")
        }
    }

    @Test func `the equality shorthand takes values by name`() throws {
        try world.addPeople([["name": .string("Rex"), "age": .int(3)], ["name": .string("Rex")]])
        let results = try world.all().filtered(equal: [("name", .string("Rex")), ("age", .int(3))])
        #expect(try world.positions(results) == [0])
        #expect(throws: StoreError.self) {
            try world.all().filtered(equal: [("nmae", .string("Rex"))])
        }
    }
}
