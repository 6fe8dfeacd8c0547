import Testing

@testable import ObjectStore

/// Orders of any size, and lookups in indexes.
@Suite struct ResultsTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
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
}
