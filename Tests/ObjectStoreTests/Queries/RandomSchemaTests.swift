import ObjectStore
import TestThreads
import Testing

/// Random predicates on random classes agree with a simple evaluation of every object.
@Suite struct RandomSchemaTests {
    private func check(_ query: inout RandomQuery, count: Int, depth: Int) throws {
        for _ in 0..<count {
            let className = query.pick(query.world.classes.map(\.name))
            query.arguments = []
            let condition = query.condition(of: className, query.number(0...depth))
            let results = try query.world.world.all(className).filtered(
                condition.text, query.arguments)
            let indices = query.world.rows[className]!.indices
            let expected = indices.filter(condition.holds)
            let found = try query.world.world.positions(results)
            #expect(found == expected, "\(className): \(condition.text)")
            _ = try results.explain()
            guard found == expected else { continue }
            try checkRows(results, className, Set(expected), query.world)
            try checkOrder(&query, results, className, expected)
        }
    }

    /// Evaluating one row, as observers do, gives the same result as a scan.
    private func checkRows(
        _ results: Results, _ className: String, _ members: Set<Int>, _ world: RandomWorld
    ) throws {
        guard case .filter(let predicate)? = results.query.steps.first else { return }
        let references = world.references[className]!
        for index in stride(from: 0, to: references.count, by: max(1, references.count / 20)) {
            let matches = try predicate.matches(world.world.store.view, references[index].key)
            #expect(matches == members.contains(index), "\(predicate.text) alone")
        }
    }

    private func checkOrder(
        _ query: inout RandomQuery, _ results: Results, _ className: String, _ expected: [Int]
    ) throws {
        let ascending = query.chance(2)
        let path: RandomQuery.Path
        let text: String
        let value: (Int) -> PlainValue
        if query.chance(3) {
            path = query.collectionPath(className, nil)
            text = "\(path.text).@count"
            let values = path.values
            value = { .int(Int64(values($0).count)) }
        } else {
            path = query.singlePath(className, nil, types: [.int, .double, .string, .date, .bool])
            text = path.text
            let values = path.values
            value = { values($0)[0] }
        }
        let keys = Dictionary(uniqueKeysWithValues: expected.map { ($0, value($0)) })
        let sorted = expected.sorted { left, right in
            let order = PlainValue.precedes(keys[left]!, keys[right]!)
            return order == 0 ? left < right : (order < 0) == ascending
        }
        let ordered = try results.sorted([(text, ascending)])
        #expect(try query.world.world.positions(ordered) == sorted, "sorted by \(text)")
        let limit = query.number(0...5)
        let first = try results.filtered(
            "truepredicate sort(\(text) \(ascending ? "asc" : "desc")) limit(\(limit))")
        #expect(
            try query.world.world.positions(first) == Array(sorted.prefix(limit)),
            "the first by \(text)")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a random predicate agrees with a simple evaluation`(seed: UInt64) throws {
        var generator = SplitMix(seed: seed)
        let world = try RandomWorld(&generator, count: 70)
        var query = RandomQuery(world, seed: seed &+ 1000)
        try check(&query, count: 120, depth: 3)
    }

    @Test(arguments: RandomSeeds.groups)
    func `Small stores of any seed agree with a simple evaluation`(seeds: Range<UInt64>) throws {
        for seed in seeds {
            var generator = SplitMix(seed: seed)
            let world = try RandomWorld(&generator, count: 20)
            var query = RandomQuery(world, seed: seed &+ 1_000_000)
            try check(&query, count: 10, depth: 3)
        }
    }

    /// Enough clusters that the planner samples and orders conditions, and evaluates conditions on linked objects once.
    @Test func `a random predicate agrees with a simple evaluation over many clusters`() throws {
        var generator = SplitMix(seed: 77)
        let world = try RandomWorld(&generator, count: 8200)
        var query = RandomQuery(world, seed: 78)
        try check(&query, count: RandomSeeds.count(10, of: 25), depth: 2)
    }
}
