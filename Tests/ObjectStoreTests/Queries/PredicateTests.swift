import ObjectStore
import Testing

/// The objects that predicates match.
@Suite struct PredicateTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld()
    }

    private func addNames(_ names: [String?]) throws {
        try world.addPeople(names.map { ["name": $0.map(Value.string) ?? .null] })
    }

    private func addAges(_ ages: [Int64?]) throws {
        try world.addPeople(ages.map { ["age": $0.map(Value.int) ?? .null] })
    }

    @Test func `a predicate supports all spellings of comparisons`() throws {
        try addAges([1, 2, 3])
        for text in ["age = 2", "age == 2", "2 == age"] {
            #expect(try world.rows(text) == [1], "\(text)")
        }
        for text in ["age != 2", "age <> 2", "not age == 2", "!(age == 2)", "NOT age == 2"] {
            #expect(try world.rows(text) == [0, 2], "\(text)")
        }
        for text in ["age <= 2", "age =< 2", "2 >= age", "not age > 2"] {
            #expect(try world.rows(text) == [0, 1], "\(text)")
        }
        for text in ["age >= 2", "age => 2", "age > 1", "1 < age"] {
            #expect(try world.rows(text) == [1, 2], "\(text)")
        }
        #expect(try world.rows("age == 1 or age == 2 and age == 3") == [0])
        #expect(try world.rows("(age == 1 || age == 2) && age != 1") == [1])
        #expect(try world.rows("TRUEPREDICATE") == [0, 1, 2])
        #expect(try world.rows("falsepredicate").isEmpty)
    }

    @Test func `literals are parsed`() throws {
        try addNames(["it's", "a\"b", "tab\t", "é", "🙂"])
        #expect(try world.rows("name == 'it\\'s'") == [0])
        #expect(try world.rows("name == \"it's\"") == [0])
        #expect(try world.rows("name == 'a\"b'") == [1])
        #expect(try world.rows("name == 'tab\\t'") == [2])
        #expect(try world.rows("name == '\\u00e9'") == [3])
        #expect(try world.rows("name == '\\ud83d\\ude42'") == [4])
    }

    @Test func `a predicate uses arguments by position, repeatedly and in any order`() throws {
        try addAges([1, 2, 3, 4])
        #expect(try world.rows("age > $2 and age < $1", .int(4), .int(1)) == [1, 2])
        #expect(try world.rows("age == $1 or age == $01 + 1", .int(2)) == [1, 2])
        #expect(try world.rows("age in $1", .list([.int(4), .int(1), .null])) == [0, 3])
    }

    @Test func `a predicate compares constants with constants`() throws {
        try addAges([1])
        #expect(try world.rows("5 == 5.0 and 'a' < 'b'") == [0])
        #expect(try world.rows("5 == 6").isEmpty)
        #expect(try world.rows("5 in {4, 5}") == [0])
    }

    @Test func `a predicate compares numbers by value`() throws {
        try world.addPeople([
            ["age": .int(2), "height": .double(2), "weight": .float(3.14)],
            ["age": .int(3), "height": .double(2.5), "weight": .float(2)],
            ["age": .int(4), "height": .double(4), "weight": .float(4)],
        ])
        #expect(try world.rows("age > 2.25") == [1, 2])
        #expect(try world.rows("age >= 3.0") == [1, 2])
        #expect(try world.rows("age < 3.5 and age != 2.5") == [0, 1])
        #expect(try world.rows("age == 2.5").isEmpty)
        #expect(try world.rows("age == height") == [0, 2])
        #expect(try world.rows("height == 4") == [2])
        #expect(try world.rows("weight == 3.14") == [0])
        #expect(try world.rows("weight >= 3.14") == [0, 2])
        #expect(try world.rows("age < 99999999999999999999") == [0, 1, 2])
        #expect(try world.rows("age > -1e300 and age < 1e300") == [0, 1, 2])
        #expect(try world.rows("age == 99999999999999999999").isEmpty)
        #expect(try world.rows("age in {2.0, 3.5, 'x', nil}") == [0])
    }

    @Test func `nil equality matches only nil rows`() throws {
        try addNames(["Bob", nil, "Joe"])
        #expect(try world.rows("name == nil") == [1])
        #expect(try world.rows("name == NULL") == [1])
        #expect(try world.rows("name != nil") == [0, 2])
        #expect(try world.rows("name != 'Bob'") == [1, 2])
        #expect(try world.rows("not name == 'Bob'") == [1, 2])
        #expect(try world.rows("rank == nil").isEmpty)
        #expect(try world.rows("rank != nil") == [0, 1, 2])
        #expect(try world.rows("age == nil") == [0, 1, 2])
        #expect(try world.rows("name in {nil, 'Joe'}") == [1, 2])
        for text in [
            "name <= nil", "name like nil", "name contains nil", "age < nil", "age >= nil",
            "name beginswith nil",
        ] {
            #expect(try world.rows(text).isEmpty, "\(text)")
        }
    }

    @Test func `a nil link in the path makes the value nil`() throws {
        try world.store.write {
            let first = try world.store.create(
                "Person",
                .dictionary([
                    "id": .int(0), "rank": .int(0), "nick": .string("a"), "name": .string("Fish"),
                    "age": .int(1),
                ]))
            try first.set("buddy", .object(first.reference))
            let second = try world.store.create(
                "Person",
                .dictionary(["id": .int(1), "rank": .int(1), "nick": .string("b")]))
            try world.store.create(
                "Person",
                .dictionary([
                    "id": .int(2), "rank": .int(2), "nick": .string("c"), "name": .string("Horse"),
                    "buddy": .object(second.reference),
                ]))
        }
        #expect(try world.rows("buddy.name == nil") == [1, 2])
        #expect(try world.rows("buddy.name != nil") == [0])
        #expect(try world.rows("buddy.age == nil") == [1, 2])
        #expect(try world.rows("buddy.name != 'Bob'") == [0, 1, 2])
        #expect(try world.rows("buddy.age > 0") == [0])
        #expect(try world.rows("buddy == nil") == [1])
        #expect(try world.rows("buddy.buddy == nil") == [1, 2])
        #expect(try world.rows("buddy.buddy.name == 'Fish'") == [0])
    }

    @Test func `a predicate compares links with objects`() throws {
        try addNames(["a", "b", "c"])
        let keys = try world.all().keys()
        let objects = try (0..<3).map { try world.all().object(at: $0) }
        try world.store.write {
            try objects[0].set("buddy", .object(objects[1].reference))
            try objects[1].set("buddy", .object(objects[2].reference))
        }
        let target = Value.object(objects[1].reference)
        #expect(try world.rows("buddy == $1", target) == [0])
        #expect(try world.rows("buddy != $1", target) == [1, 2])
        #expect(try world.rows("buddy in {$1, nil}", target) == [0, 2])
        #expect(try world.rows("buddy == nil") == [2])
        let live = try world.all().filtered("buddy == $1", [target])
        #expect(try live.count() == 1)
        try world.store.write { try world.store.delete(objects[1]) }
        #expect(try live.count() == 0)
        #expect(keys.count == 3)
    }

    @Test func `between includes both ends`() throws {
        try addAges([29, 30, 35, 37, 40, nil])
        #expect(try world.rows("age between {30, 37}") == [1, 2, 3])
        #expect(try world.rows("age between {29.5, 37.5}") == [1, 2, 3])
        #expect(try world.rows("age between {37, 30}").isEmpty)
        #expect(try world.rows("age between $1", .list([.int(35), .int(99)])) == [2, 3, 4])
        #expect(try world.rows("age * 1 between {30, 37}") == [1, 2, 3])
    }

    @Test func `like matches whole strings`() throws {
        try addNames(["abc", "bc", "b*bc", "Äbc", ""])
        #expect(try world.rows("name like 'b*bc'") == [2])
        #expect(try world.rows("name like '*bc'") == [0, 1, 2, 3])
        #expect(try world.rows("name like '?bc'") == [0, 3])
        #expect(try world.rows("name like[c] 'äB?'") == [3])
        #expect(try world.rows("name like '*'") == [0, 1, 2, 3, 4])
        #expect(try world.rows("name like ''") == [4])
        #expect(try world.rows("name like[cd] 'ABC'") == [0, 3])
    }

    @Test func `a predicate searches with text operators`() throws {
        try addNames(["Billy", "Bob", "Joe", "Jake", "Joel", "Unicorn🦄", nil])
        #expect(try world.count("name contains 'oe'") == 2)
        #expect(try world.count("name beginswith 'J'") == 3)
        #expect(try world.count("name beginswith 'j'") == 0)
        #expect(try world.count("name beginswith[c] 'j'") == 3)
        #expect(try world.count("name endswith 'e'") == 2)
        #expect(try world.count("name like '?o?'") == 2)
        #expect(try world.count("name ==[c] 'UNICORN🦄'") == 1)
        #expect(try world.count("name !=[c] 'UNICORN🦄'") == 6)
        #expect(try world.count("name != 'Bob'") == 6)
        #expect(try world.count("name contains ''") == 6)
        #expect(try world.count("'Joel' beginswith name") == 2)
    }

    @Test func `a predicate ignores diacritics on request`() throws {
        try addNames(["tuv", "tüv", "tûv", "TÜV"])
        #expect(try world.rows("name ==[d] 'tuv'") == [0, 1, 2])
        #expect(try world.rows("name ==[cd] 'tuv'") == [0, 1, 2, 3])
        #expect(try world.rows("name contains[cd] 'U'") == [0, 1, 2, 3])
    }

    @Test func `a predicate orders strings by their bytes`() throws {
        try addNames(["a", "b", "B", "é", nil])
        #expect(try world.rows("name < 'b'") == [0, 2])
        #expect(try world.rows("name >= 'b'") == [1, 3])
    }

    @Test func `a predicate counts the bytes of strings and data`() throws {
        try world.addPeople([
            ["name": .string("abc"), "photo": .data([1, 2])], ["name": .string("")], [:],
        ])
        #expect(try world.rows("name.@count == 3") == [0])
        #expect(try world.rows("name.@size < 3") == [1])
        #expect(try world.rows("photo.@size == 2") == [0])
        #expect(try world.rows("name.@count == nil") == [2])
    }

    @Test func `a predicate compares dates, UUIDs and object ids with literals`() throws {
        let uuid = try #require(UUIDValue("01234567-89ab-cdef-0123-456789abcdef"))
        let mark = try #require(ObjectIDValue("0123456789abcdef01234567"))
        let date = try #require(Timestamp("2021-03-04T10:20:30Z"))
        try world.addPeople([
            ["code": .uuid(uuid), "mark": .objectID(mark), "born": .date(date)], [:],
        ])
        #expect(try world.rows("code == uuid(01234567-89AB-cdef-0123-456789abcdef)") == [0])
        #expect(try world.rows("code == uuid('01234567-89ab-cdef-0123-456789abcdef')") == [0])
        #expect(try world.rows("mark == oid(0123456789abcdef01234567)") == [0])
        #expect(try world.rows("born == 2021-03-04T10:20:30Z") == [0])
        #expect(try world.rows("born == 2021-03-04@10:20:30") == [0])
        #expect(try world.rows("born > 2021-03-04 and born < date('2021-03-05')") == [0])
        #expect(try world.rows("born == $1", .date(date)) == [0])
        #expect(try world.rows("code != $1", .uuid(uuid)) == [1])
    }

    @Test func `a predicate evaluates arithmetic`() throws {
        try world.addPeople([
            ["age": .int(2), "height": .double(1.5)], ["age": .int(3)], ["age": .int(.max)],
        ])
        #expect(try world.rows("age + 1 == 3") == [0])
        #expect(try world.rows("age * height == 3") == [0])
        #expect(try world.rows("age / 2 == 1.5") == [1])
        #expect(try world.rows("-age == -3") == [1])
        #expect(try world.rows("2 + 3 * 2 == 8 and age - 1 < 2") == [0])
        #expect(try world.rows("age + 1 > 9e18") == [2])
    }

    @Test func `a bool is a condition`() throws {
        try world.addPeople([["active": .bool(true)], ["active": .bool(false)], [:]])
        #expect(try world.rows("active") == [0])
        #expect(try world.rows("not active") == [1, 2])
        #expect(try world.rows("active == 0") == [1])
        #expect(try world.rows("active != true") == [1, 2])
        #expect(try world.rows("active in {true, nil}") == [0, 2])
    }
}
