import ObjectStore
import Testing

/// Predicates through lists and backlinks.
@Suite struct ListPredicateTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
        let prices: [(String, Double)] = [
            ("milk", 5.5), ("oranges", 4), ("pizza", 9.5), ("cereal", 6.5),
        ]
        try world.store.write { [world] in
            var items: [Value] = []
            for (name, price) in prices {
                let item = try world.store.create(
                    "Item",
                    .dictionary([
                        "name": .string(name), "price": .double(price), "count": .int(1),
                    ]))
                items.append(.object(item.reference))
            }
            let lists = [
                items, Array(repeating: items[0], count: 10), [items[2], items[2], items[3]],
            ]
            let numbers: [[Value]] = [
                [.int(1234), .int(2), .int(-12345)], [.int(100), .null], [],
            ]
            for (index, list) in lists.enumerated() {
                try world.store.create(
                    "Person",
                    .dictionary([
                        "id": .int(Int64(index)), "rank": .int(Int64(index)),
                        "nick": .string("n\(index)"), "items": .list(list),
                        "favorite": items[index], "numbers": .list(numbers[index]),
                        "tags": .list(index == 0 ? [.string("red"), .string("blue")] : []),
                        "height": .double(Double(10 * (index + 1))),
                    ]))
            }
            let people = try (0..<3).map { try world.all().object(at: $0) }
            try people[0].set("buddy", .object(people[1].reference))
            try people[2].set("buddy", .object(people[1].reference))
        }
    }

    @Test func `any, all and none quantify over lists`() throws {
        #expect(try world.rows("any items.price == 5.5") == [0, 1])
        #expect(try world.rows("some items.price == 5.5") == [0, 1])
        #expect(try world.rows("items.price == 5.5") == [0, 1])
        #expect(try world.rows("all items.price == 5.5") == [1])
        #expect(try world.rows("none items.price == 5.5") == [2])
        #expect(try world.count("not any items.price == 5.5") == 1)
        #expect(try world.count("not all items.price == 5.5") == 2)
        #expect(try world.count("not none items.price == 5.5") == 2)
        #expect(try world.rows("5.5 == all items.price") == [1])
        #expect(try world.rows("all numbers > 0") == [2])
        #expect(try world.rows("all items.price >= favorite.price") == [1])
        #expect(try world.rows("items.price between {9, 10}") == [0, 2])
    }

    @Test func `a predicate finds values in lists`() throws {
        #expect(try world.rows("5.5 in items.price") == [0, 1])
        #expect(try world.rows("favorite in items") == [0, 2])
        #expect(try world.rows("favorite.price in items.price") == [0, 2])
        #expect(try world.rows("'red' in tags") == [0])
        #expect(try world.rows("tags beginswith 'b'") == [0])
        #expect(try world.rows("none tags beginswith 'b'") == [1, 2])
        #expect(try world.rows("numbers == nil") == [1])
        #expect(try world.rows("any numbers in {2, 100}") == [0, 1])
    }

    @Test func `a predicate follows links of any depth, also backwards`() throws {
        #expect(try world.rows("admirers.favorite.name == 'milk'") == [1])
        #expect(try world.rows("admirers.@count == 2") == [1])
        #expect(try world.rows("all admirers.height > 1") == [0, 1, 2])
        #expect(try world.rows("@links.Person.buddy.height == 30") == [1])
        #expect(try world.rows("@links.@count > 0") == [1])
        #expect(try world.rows("owners.height == 20", of: "Item") == [0])
        #expect(try world.rows("owners.@count == 11", of: "Item") == [0])
        #expect(try world.rows("@links.@count == 2", of: "Item") == [1, 3])
    }

    @Test func `a predicate counts lists, backlinks and links`() throws {
        #expect(try world.rows("items.@count == 10") == [1])
        #expect(try world.rows("numbers.@size == 0") == [2])
        #expect(try world.rows("buddy.@count == 0") == [1])
        #expect(try world.rows("admirers.@count == 0") == [0, 2])
        #expect(try world.rows("items.@count > numbers.@count + 1") == [1, 2])
    }

    @Test func `a predicate aggregates lists; the extremes of an empty list match no comparison`()
        throws
    {
        #expect(try world.count("numbers.@min == -12345") == 1)
        #expect(try world.count("numbers.@min < 1000") == 2)
        #expect(try world.count("numbers.@sum == 0") == 1)
        #expect(try world.count("numbers.@sum > -50") == 2)
        #expect(try world.count("numbers.@avg == 0") == 0)
        #expect(try world.count("numbers.@max != 5") == 2)
        #expect(try world.count("numbers.@avg < -3702 and numbers.@avg > -3704") == 1)
        #expect(try world.rows("items.@sum.price == 55") == [1])
        #expect(try world.rows("items.@max.price == 9.5") == [0, 2])
        #expect(try world.rows("items.@avg.price == 5.5") == [1])
    }

    @Test func `a predicate counts the matches of a subquery`() throws {
        #expect(try world.rows("subquery(items, $x, $x.price == 5.5).@count > 0") == [0, 1])
        #expect(try world.rows("subquery(items, $x, $x.price > 9).@count == 2") == [2])
        #expect(
            try world.rows(
                "subquery(items, $x, subquery($x.owners, $y, $y.height == 20).@count > 0).@count == 1"
            )
                == [0])
    }

    @Test func `a list is queried in its own order, with repetitions`() throws {
        let owner = try world.all().object(at: 2)
        let results = try Results(owner.list("items"))
        #expect(try world.positions(results) == [2, 2, 3])
        #expect(try world.positions(results.filtered("price > 9")) == [2, 2])
        #expect(
            try world.positions(results.sorted([(path: "price", ascending: true)])) == [3, 2, 2])
        #expect(try world.positions(results.distinct(["name"])) == [2, 3])
        try world.store.write { try world.store.delete(owner) }
        #expect(try results.count() == 0)
        #expect(!results.isValid)
    }

    @Test func `backlinks are queried like lists`() throws {
        let person = try world.all().object(at: 1)
        let property = try #require(person.classSchema.property(named: "admirers"))
        let results = try Results(backlinks: property, of: person)
        #expect(try world.positions(results) == [0, 2])
        #expect(try world.positions(results.filtered("height > 15")) == [2])
    }

    @Test func `lists of plain values are quantified and aggregated without a property`()
        throws
    {
        #expect(try world.rows("numbers.@min == -12345") == [0])
        #expect(try world.rows("numbers.@max == 1234") == [0])
        #expect(try world.rows("numbers.@sum == 100") == [1])
        #expect(try world.rows("any numbers == 100") == [1])
        #expect(try world.rows("numbers.@count == 2") == [1])
        for text in ["numbers.foo == 1", "any numbers.price > 1", "numbers.@sum.price > 1"] {
            _ = storeError(.invalidQuery) { _ = try world.rows(text) }
        }
    }

    @Test func `a query over the list of a deleted object is empty`() throws {
        let person = try world.all().object(at: 0)
        let items = try Results(person.list("items")).filtered("price > 1")
        #expect(try items.count() == 4)
        try world.store.write { try world.store.delete(person) }
        #expect(try items.count() == 0)
        #expect(try items.first() == nil)
        #expect(try items.filtered("price > 2").count() == 0)
    }
}
