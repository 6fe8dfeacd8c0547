import ObjectStore
import Testing

/// Predicates on sets and maps.
@Suite struct SetAndMapPredicateTests {
    let world: QueryWorld

    init() throws {
        world = try QueryWorld(classes: [
            ClassSchema(
                "Box",
                [
                    Property("id", .int, isPrimary: true),
                    Property("numbers", .int, collection: .set),
                    Property("notes", .string, isOptional: true, collection: .map),
                    Property("boxes", .object, collection: .map, target: "Box"),
                    Property("others", .object, collection: .set, target: "Box"),
                ])
        ])
        try world.store.write { [world] in
            let numbers: [[Int64]] = [[3, 1, 2], [2], []]
            let notes: [ValueMap] = [
                ["a": .string("x"), "b": .null], ["b": .string("y"), "é.'": .string("z")], [:],
            ]
            let boxes = try (0..<3).map { index in
                try world.store.create(
                    "Box",
                    .dictionary([
                        "id": .int(Int64(index)), "notes": .dictionary(notes[index]),
                        "numbers": .list(numbers[index].map(Value.int)),
                    ]))
            }
            let references = boxes.map { Value.object($0.reference) }
            try boxes[0].set(
                "boxes", .dictionary(["first": references[1], "second": references[2]]))
            try boxes[2].set("boxes", .dictionary(["first": references[0]]))
            try boxes[1].set("others", .list([references[0], references[2]]))
        }
    }

    private func rows(_ text: String, _ arguments: Value...) throws -> [Int] {
        try world.positions(world.all("Box").filtered(text, arguments))
    }

    @Test func `a predicate tests keys, values and the value of a key of maps`() throws {
        #expect(try rows("notes['a'] == 'x'") == [0])
        #expect(try rows("notes[$1] == 'z'", .string("é.'")) == [1])
        #expect(try rows("notes['b'] == nil") == [0, 2])
        #expect(try rows("any notes.@keys == 'b'") == [0, 1])
        #expect(try rows("none notes.@keys beginswith 'b'") == [2])
        #expect(try rows("notes.@keys.@count == 2 and notes.@count == 2") == [0, 1])
        #expect(try rows("any notes.@values == 'y'") == [1])
        #expect(try rows("notes.@values == nil") == [0])
        #expect(try rows("notes[size] == 0") == [2])
        #expect(try rows("'x' in notes") == [0])
        #expect(try rows("boxes['first'].notes['b'] == 'y'") == [0])
        #expect(try rows("boxes['first'].id == 0") == [2])
        #expect(try rows("any boxes.id == 2") == [0])
        #expect(try rows("boxes.@values.id == 1") == [0])
        #expect(try rows("boxes.@keys == 'second'") == [0])
        #expect(try rows("boxes['none'] == nil") == [0, 1, 2])
        #expect(try rows("boxes.@count == 1") == [2])
        #expect(try rows("@links.Box.boxes.id == 0") == [1, 2])
    }

    @Test func `sets are queried like lists, and compared without an order`() throws {
        #expect(try rows("any numbers == 2") == [0, 1])
        #expect(try rows("all numbers > 1") == [1, 2])
        #expect(try rows("numbers == {1, 2, 3}") == [0])
        #expect(try rows("{3, 2, 1} == numbers") == [0])
        #expect(try rows("numbers == {}") == [2])
        #expect(try rows("numbers == {1, 2}").isEmpty)
        #expect(try rows("numbers[1] == 1 and numbers[last] == 3") == [0])
        #expect(try rows("numbers.@sum == 6 or numbers.@count == 0") == [0, 2])
        #expect(try rows("any others.id == 2") == [1])
        #expect(try rows("others.@count == 2") == [1])
        #expect(try rows("subquery(others, $o, $o.id > 0).@count == 1") == [1])
    }

    @Test(arguments: [
        ("notes[1] == 'x'", "a key such as"), ("numbers['a'] == 1", "an index from 1"),
        ("numbers.@keys == 1", "needs a map"), ("notes.@keys.foo == 'x'", "only '@count'"),
        ("notes.@kyes == 'x'", "did you mean 'keys'?"), ("id.@values == 1", "needs a map"),
        ("all notes['a'] == 'x'", "needs a list"),
    ])
    func `invalid operations on sets and maps are refused`(text: String, part: String) {
        let message = world.fault(text, of: "Box")
        #expect(message.contains(part), "\(text): \(message)")
        #expect(message.contains("^"))
    }
}
