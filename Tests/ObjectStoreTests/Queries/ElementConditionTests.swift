import ObjectStore
import Testing

/// Conditions on `SELF`, the plain values of a collection.
@Suite struct ElementConditionTests {
    let store: Store
    let row: LiveObject

    init() throws {
        store = try Store.temporary(
            [
                ClassSchema(
                    "Row",
                    [
                        Property("ints", .int, isOptional: true, collection: .list),
                        Property("words", .string, collection: .set),
                        Property("reals", .double, collection: .map),
                        Property("any", .mixed, collection: .list),
                        Property("days", .date, collection: .list),
                        Property("rows", .object, collection: .list, target: "Row"),
                    ])
            ], scheduler: ManualScheduler())
        row = try store.write { [store] in
            try store.create(
                "Row",
                .dictionary([
                    "ints": .list([.int(5), .null, .int(1), .int(9), .int(5)]),
                    "words": .list([.string("Rex"), .string("älp"), .string("")]),
                    "reals": .dictionary(["a": .double(1.5), "b": .double(.nan), "c": .double(-2)]),
                    "any": .list([.int(1), .string("x"), .double(2.5), .null, .list([.int(4)])]),
                    "days": .list([.date(Timestamp(microseconds: 5_000_000))]),
                ]))
        }
    }

    private func list(_ name: String, _ text: String, _ arguments: [Value] = []) throws -> [Value] {
        try CollectionValues(row.list(name)).filtered(text, arguments).values()
    }

    @Test func `conditions on SELF filter lists, sets and maps of values`() throws {
        #expect(try list("ints", "SELF > 3") == [.int(5), .int(9), .int(5)])
        #expect(try list("ints", "self > 3 and not SELF == $1", [.int(9)]) == [.int(5), .int(5)])
        #expect(try list("ints", "SELF == nil") == [.null])
        #expect(try list("ints", "SELF != 5") == [.null, .int(1), .int(9)])
        #expect(try list("ints", "SELF in {1, 9} or SELF between {5, 6}").count == 4)
        #expect(try list("ints", "SELF > 4.5") == [.int(5), .int(9), .int(5)])
        #expect(try list("ints", "truepredicate").count == 5)
        #expect(try list("ints", "4 < SELF") == [.int(5), .int(9), .int(5)])
        #expect(try list("days", "SELF > 1970-01-01T00:00:01Z").count == 1)
        let words = try CollectionValues(row.set("words"))
        #expect(try words.filtered("SELF beginswith[c] 'r'").values() == [.string("Rex")])
        #expect(try words.filtered("SELF like[cd] 'A*'").values() == [.string("älp")])
        #expect(try words.filtered("SELF == ''").values() == [.string("")])
        let reals = try CollectionValues(row.map("reals"))
        #expect(
            try reals.filtered("SELF < 2").values() == [.double(1.5), .double(.nan), .double(-2)])
    }

    @Test func `mixed values compare as in a predicate`() throws {
        #expect(try list("any", "SELF > 0") == [.int(1), .double(2.5)])
        #expect(try list("any", "SELF == 'x'") == [.string("x")])
        #expect(try list("any", "SELF == nil") == [.null])
    }

    @Test
    func `conditions, orders and limits apply from left to right, and follow the collection`()
        throws
    {
        let found = try CollectionValues(row.list("ints")).sorted().filtered("SELF > 1")
        let two = try found.limited(to: 2)
        #expect(try two.values() == [.int(5), .int(5)] && found.distinct().values().count == 2)
        try store.write { try row.list("ints").append([.int(4)]) }
        #expect(try two.values() == [.int(4), .int(5)])
    }

    @Test func `an invalid condition on SELF is an error`() throws {
        let faults: [(String, String)] = [
            ("value > 3", "^"), ("SELF >", "^"), ("", ""), ("SELF.name == 3", ""),
            ("SELF beginswith 'a'", ""), ("SELF > $1", "^"), ("SELF > 'a'", "^"),
            ("SELF[1] == 2", ""),
            ("SELF + 1 > 3", "constants"), ("SELF > SELF", "constants"), ("any SELF > 3", ""),
            ("SELF > 3 sort(SELF asc)", "sort or limit"), ("SELF > 3 limit(2)", "sort or limit"),
            ("SELF.@count > 1", ""), ("@links.Row.ints > 3", ""),
            ("subquery(SELF, $x, $x > 1).@count > 0", ""),
        ]
        for (text, part) in faults {
            let error = storeError(text == "value > 3" ? .unknownProperty : .invalidQuery) {
                _ = try list("ints", text)
            }
            #expect(part.isEmpty ? error != nil : error?.message.contains(part) == true, "\(text)")
        }
        #expect(throws: StoreError.self) { try CollectionValues(row.list("rows")) }
        try store.write { try store.delete(row) }
        #expect(throws: StoreError.self) { try list("ints", "SELF > 3") }
    }
}
