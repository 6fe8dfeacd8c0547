import ObjectStore
import Testing

/// Elements of lists, whole lists, and computed sort keys.
@Suite struct ElementPredicateTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
        try world.store.write { [world] in
            let prices: [Double] = [5.5, 4, 9.5, 6.5]
            let items = try prices.enumerated().map { index, price in
                Value.object(
                    try world.store.create(
                        "Item",
                        .dictionary([
                            "name": .string("item \(index)"), "price": .double(price),
                            "count": .int(1),
                        ])
                    ).reference)
            }
            let lists = [items, Array(repeating: items[0], count: 10), [items[2], items[2]], []]
            let numbers: [[Value]] = [
                [.int(1), .null, .int(3)], [.int(3)], [], [.int(7), .int(9)],
            ]
            for (index, list) in lists.enumerated() {
                try world.store.create(
                    "Person",
                    .dictionary([
                        "id": .int(Int64(index)), "rank": .int(Int64(index)),
                        "nick": .string("n\(index)"), "items": .list(list),
                        "numbers": .list(numbers[index]),
                    ]))
            }
            try world.all().object(at: 3).set(
                "buddy", .object(world.all().object(at: 0).reference))
        }
    }

    @Test func `a query supports elements by index, first and last`() throws {
        #expect(try world.rows("items[1].price == 5.5") == [0, 1])
        #expect(try world.rows("items[3].price == 9.5") == [0])
        #expect(try world.rows("items[FIRST].price == 9.5") == [2])
        #expect(try world.rows("items[last].price == 6.5") == [0])
        #expect(try world.rows("numbers[last] == 3") == [0, 1])
        #expect(try world.rows("numbers[2] == nil") == [0, 1, 2])
        #expect(try world.rows("numbers[$1] == 9", .int(2)) == [3])
        #expect(try world.rows("items[11] == nil") == [0, 1, 2, 3])
        #expect(try world.rows("items[10] != nil") == [1])
        #expect(try world.rows("buddy.items[2].price == 4") == [3])
        #expect(try world.rows("items[1].owners.@count == 11") == [0, 1])
        #expect(try world.rows("items[size] == 10 or numbers[size] == 0") == [1, 2])
        #expect(try world.rows("items[1] == items[2]") == [1, 2, 3])
        #expect(try world.rows("items[first] in items and items[size] > 2") == [0, 1])
    }

    @Test(arguments: [
        ("items[0].price > 1", "counted from 1"),
        ("items[-1].price > 1", "expected an index from 1"),
        ("items['k'].price > 1", "an index from 1"), ("name[1] == 'x'", "not a list"),
        ("buddy[1].age == 3", "not a list"), ("items[1", "expected ']'"),
        ("items[$2].price > 1", "there is no argument $2"),
        ("any items[1].price > 1", "needs a list"),
        ("items[size].price > 1", "must be the end of a path"), ("age[size] > 1", "not a list"),
        ("admirers['a'].age > 1", "an index from 1"),
        ("@links.Person.buddy[1].age > 1", "no order"),
        ("numbers.@count[1] > 1", "has no elements"), ("items[frist].price > 1", "in brackets"),
        ("numbers[1].@count == 1", "one value"),
    ])
    func `a query refuses an index on values without elements`(text: String, part: String) {
        let message = world.fault(text, .int(1))
        #expect(message.contains(part), "\(text): \(message)")
    }

    @Test func `a query compares whole lists in their order`() throws {
        #expect(try world.rows("{5.5, 4.0, 9.5, 6.5} == items.price") == [0])
        #expect(try world.rows("items.price == {9.5, 9.5}") == [2])
        #expect(try world.rows("items.price == {4.0, 5.5, 9.5, 6.5}").isEmpty)
        #expect(try world.rows("numbers == {1, nil, 3}") == [0])
        #expect(try world.rows("numbers == {}") == [2])
        #expect(try world.rows("numbers = $1", .list([.int(7), .int(9)])) == [3])
        #expect(try world.rows("not numbers == {3}") == [0, 2, 3])
        #expect(try world.rows("buddy.numbers == {1, nil, 3}") == [3])
        #expect(try world.rows("numbers == {7.0, 9}") == [3])
    }

    @Test(arguments: [
        ("numbers != {1}", "'==' only"), ("numbers < {1}", "'==' only"),
        ("any numbers == {1}", "remove the quantifier"), ("rank == {1}", "use 'in'"),
        ("numbers == {'x'}", "cannot be compared"), ("{1} == {1}", "use 'in'"),
        ("admirers == nil", "is never nil"),
    ])
    func `a query refuses other comparisons of lists`(text: String, part: String) {
        let message = world.fault(text)
        #expect(message.contains(part), "\(text): \(message)")
        #expect(message.contains("^"))
    }

    @Test func `a query sorts by counts, aggregates and elements`() throws {
        func sorted(_ keys: (String, Bool)...) throws -> [Int] {
            try world.positions(world.all().sorted(keys.map { ($0.0, $0.1) }))
        }
        #expect(try sorted(("items.@count", true)) == [3, 2, 0, 1])
        #expect(try sorted(("items.@count", false), ("id", false)) == [1, 0, 2, 3])
        #expect(try sorted(("items.@max.price", true)) == [3, 1, 0, 2])
        #expect(try sorted(("numbers[1]", false)) == [3, 1, 0, 2])
        #expect(try sorted(("admirers.@count", false)) == [0, 1, 2, 3])
        #expect(try sorted(("@links.@count", false)) == [0, 1, 2, 3])
        #expect(try world.rows("truepredicate sort(items.@sum.price desc) limit(2)") == [1, 0])
        #expect(
            try world.rows("numbers.@count > 0 sort(numbers.@count, items[1].price desc)")
                == [1, 3, 0])
        #expect(throws: StoreError.self) { try sorted(("items.@cuont", true)) }
        #expect(throws: StoreError.self) { try sorted(("items[1]", true)) }
        #expect(throws: StoreError.self) { try sorted(("@links.Person.buddy.age", true)) }
        #expect(world.fault("truepredicate sort(items.@cuont)").contains("did you mean 'count'?"))
    }

    @Test func `subqueries support backlinks`() throws {
        #expect(
            try world.rows("subquery(@links.Person.buddy, $p, $p.rank == 3).@count == 1") == [0])
        #expect(try world.rows("subquery(admirers, $p, $p.rank > 3).@count == 0") == [0, 1, 2, 3])
    }

    @Test func `properties can have the names of keywords`() throws {
        let other = try QueryWorld(classes: [
            ClassSchema(
                "Odd",
                [
                    Property("in", .int), Property("any", .int), Property("like", .string),
                    Property("text", .string), Property("sort", .int),
                ])
        ])
        let row: ValueMap = [
            "in": .int(1), "any": .int(2), "like": .string("x"), "text": .string("y"),
            "sort": .int(3),
        ]
        try other.add("Odd", [row])
        let results = try other.all("Odd").filtered(equal: row.map { ($0.key, $0.value) })
        #expect(try results.count() == 1)
        #expect(try other.rows("any == 2 and sort == 3", of: "Odd") == [0])
    }
}
