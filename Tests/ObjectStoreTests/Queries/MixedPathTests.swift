import ObjectStore
import Testing

@Suite struct MixedPathTests {
    static let classes = [
        ClassSchema(
            "Toy",
            [
                Property("name", .string), Property("price", .double, isOptional: true),
                Property("tags", .string, collection: .list), Property("note", .mixed),
            ]),
        ClassSchema("Shop", [Property("name", .string), Property("born", .date)]),
        ClassSchema(
            "Box",
            [
                Property("id", .int, isPrimary: true), Property("any", .mixed),
                Property("many", .mixed, collection: .list),
                Property("map", .mixed, collection: .map),
            ]),
    ]
    let scheduler = ManualScheduler()
    let store: Store
    let toy: LiveObject
    let shop: LiveObject

    init() throws {
        store = try Store.temporary(Self.classes, scheduler: scheduler)
        (toy, shop) = try store.write { [store] in
            let toy = try store.create(
                "Toy",
                .list([
                    .string("ball"), .double(5), .list([.string("red"), .string("round")]),
                    .dictionary(["deep": .list([.int(7)])]),
                ]))
            let shop = try store.create(
                "Shop", .list([.string("ball"), .date(Timestamp(microseconds: 9))]))
            let link = Value.object(toy.reference)
            let rows: [(Value, [Value], ValueMap)] = [
                (
                    .dictionary([
                        "color": .string("red"), "sizes": .list([.int(1), .int(2), .int(3)]),
                        "inner": .list([link]), "count": .int(9),
                    ]), [.int(1), .string("a"), .dictionary(["x": .int(1)]), link],
                    ["a": .int(1), "b": .dictionary(["c": .string("d")])]
                ),
                (link, [], ["t": link]), (.dictionary(["name": .string("ball")]), [], [:]),
                (.list([.int(1), .double(2), link]), [.list([.int(4)])], [:]),
                (.string("text"), [], [:]), (.double(3.5), [], [:]), (.null, [.null], [:]),
                (.object(shop.reference), [], [:]), (.data([1, 2]), [], [:]),
            ]
            for (id, row) in rows.enumerated() {
                try store.create(
                    "Box", .list([.int(Int64(id)), row.0, .list(row.1), .dictionary(row.2)]))
            }
            return (toy, shop)
        }
    }

    private func ids(_ predicate: String, _ arguments: [Value] = []) throws -> [Int64] {
        try store.objects("Box").filtered(predicate, arguments).keys().map { $0.rawValue }
    }

    private func fault(_ predicate: String) -> String {
        storeError(.invalidQuery) { _ = try ids(predicate) }?.message ?? ""
    }

    @Test func `names and brackets lead into maps, brackets into lists`() throws {
        #expect(try ids("any.color == 'red'") == [0] && ids("any['color'] like 'r?d'") == [0])
        #expect(try ids("any.sizes[1] == 1") == [0] && ids("any.sizes[last] == 3.0") == [0])
        #expect(try ids("any[first] == 1") == [3] && ids("any[2] == 2") == [3])
        #expect(try ids("any[$1] == 2", [.int(2)]) == [3])
        #expect(try ids("any[$1] == 'red'", [.string("color")]) == [0])
        #expect(try ids("map['b']['c'] == 'd'") == [0] && ids("map['b'].c == 'd'") == [0])
        #expect(try ids("many[3].x == 1") == [0] && ids("many[1][1] == 4") == [3])
        #expect(try ids("map.b.c == 'd'") == [0] && ids("map.c == 'd'") == [])
        #expect(try ids("map.@values.c == 'd'") == [0] && ids("map.b['c'] == 'd'") == [0])
        #expect(try ids("any.nothing.deeper[3] != nil") == [])
        #expect(try ids("any.color == nil").count == 8)
    }

    @Test
    func `after a link in a mixed value, a name is a property of any class that has it`()
        throws
    {
        #expect(try ids("any.name == 'ball'") == [1, 2, 7])
        #expect(try ids("any.price > 4") == [1] && ids("any[3].price > 4") == [3])
        #expect(try ids("any.inner[1].name beginswith 'b'") == [0])
        #expect(try ids("any.note.deep[1] == 7") == [1])
        #expect(try ids("any.tags == 'red'") == [1] && ids("all any.tags == 'red'") == [])
        #expect(try ids("any.tags.@count == 2") == [1])
        #expect(try ids("any.born < $1", [.date(Timestamp(microseconds: 10))]) == [7])
        #expect(try ids("any.born > 0") == [])
        #expect(try ids("many.name == 'ball'") == [0] && ids("map['t'].price == 5") == [1])
        // Brackets can only contain keys of maps.
        #expect(try ids("any['name'] == 'ball'") == [2])
    }

    @Test func `a wildcard, @values or a quantifier selects nested elements`() throws {
        #expect(try ids("any[*] == 2") == [3] && ids("any any == 2") == [3])
        #expect(try ids("any any.sizes > 2") == [0] && ids("any.@values == 'red'") == [0])
        #expect(try ids("2 in any") == [3] && ids("'red' in any.tags") == [1])
        #expect(try ids("all any[*] == 'ball'") == [1, 2, 4, 5, 6, 7, 8])
        #expect(try ids("none many[*] == 1") == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(try ids("any[*].name == 'ball'") == [3])
        #expect(try ids("any.@keys beginswith 'col'") == [0] && ids("any.@keys.@count == 4") == [0])
    }

    @Test func `counts and aggregates include nested values`() throws {
        #expect(try ids("any.@count == 3") == [3] && ids("any.sizes[size] == 3") == [0])
        #expect(try ids("any.@size == 4") == [0, 4] && ids("any.@count == 2") == [8])
        #expect(try ids("any.sizes.@sum == 6") == [0] && ids("any.sizes.@max > 2") == [0])
        #expect(try ids("any.@avg == 1.5") == [3] && ids("any.@min < 2") == [3])
        #expect(try ids("many.@sum == 1") == [0] && ids("any.@sum.price == 5") == [3])
        #expect(try ids("any + 1 == 4.5") == [5] && ids("any.price * 2 == 10") == [1])
    }

    @Test func `a nested list is compared as a whole`() throws {
        #expect(try ids("any.sizes == {1, 2, 3}") == [0] && ids("{1, 2.0, 3} == any.sizes") == [0])
        #expect(try ids("any.sizes == $1", [.list([.int(1), .int(2)])]) == [])
        // A list of values of a linked object, and a list in a map.
        try store.write {
            try store.object("Box", primaryKey: .int(2))?.set(
                "any", .dictionary(["tags": .list([.string("red"), .string("round")])]))
        }
        #expect(
            try ids("any.tags == {'red', 'round'}") == [1, 2] && ids("any.tags == {'red'}") == [])
        #expect(try ids("not any.sizes == {1, 2, 3}").count == 8)
        #expect(fault("any.sizes != {1, 2, 3}").contains("write 'not (… == {…})'"))
    }

    @Test func `@type distinguishes values and links`() throws {
        #expect(try ids("any.@type == 'double'") == [5] && ids("any.@type == 'numeric'") == [5])
        #expect(try ids("any.@type in {'list', 'string'}") == [3, 4])
        #expect(try ids("any.@type == 'object'") == [1, 7] && ids("any.@type == 'Toy'") == [1])
        #expect(
            try ids("any.@type == 'Map'") == [0, 2]
                && ids("any.@type == 'collection'") == [0, 2, 3])
        #expect(try ids("any.@type == 'nil'") == [6] && ids("any.@type == nil") == [6])
        #expect(try ids("any.@type != 'object'") == [0, 2, 3, 4, 5, 6, 8])
        #expect(
            try ids("'data' == any.@type") == [8]
                && ids("any.sizes[1].@type == $1", [.string("int")]) == [0])
        #expect(
            try ids("many.@type == 'Toy'") == [0] && ids("any.color.@type == 'nil'").count == 8)
        #expect(fault("any.@type == 'strin'").contains("did you mean 'string'"))
        #expect(fault("any.@type > 'int'").contains("compared with names of types"))
        #expect(fault("any.@type == 5").contains("compared with names of types"))
        #expect(fault("any.@type == any.color").contains("compared with names of types"))
        #expect(fault("id.@type == 'int'").contains("'@type' is for mixed values"))
    }

    @Test func `errors inside a mixed value are reported`() {
        #expect(fault("any[0] == 1").contains("counted from 1"))
        #expect(fault("any.@foo == 1").contains("is not valid inside a mixed value"))
        #expect(fault("any.@count.x == 1").contains("'@count' must be the end of a path"))
        #expect(fault("any[size][1] == 1").contains("must be the end of a path"))
        #expect(fault("any any.@count > 1").contains("needs a list"))
        #expect(fault("id[1] == 1").contains("not a list"))
        #expect(fault("any.@sum.@count == 1").contains("cannot follow '@sum'"))
        #expect(fault("any.color and id == 1").contains("compare it with a value"))
        let endless = "any" + String(repeating: ".note", count: 40) + " == 1"
        #expect(fault(endless).contains("in too many ways"))
        #expect(
            (try? ids("any" + String(repeating: "['note']", count: 4000) + " == 1")) == [])
    }

    @Test func `backlinks by name follow links inside mixed values`() throws {
        func toys(_ predicate: String) throws -> Int {
            try store.objects("Toy").filtered(predicate).count()
        }
        #expect(try toys("@links.Box.any.id == 1") == 1 && toys("@links.Box.any.id == 2") == 0)
        #expect(try toys("@links.Box.many.@count == 1") == 1)
        #expect(try toys("@links.Box.map.id == 1") == 1)
        #expect(try toys("subquery(@links.Box.any, $b, $b.id < 4).@count == 3") == 1)
        try store.write {
            try store.object("Box", primaryKey: .int(1))?.set("any", .null)
        }
        #expect(try toys("@links.Box.any.id == 1") == 0)
        #expect(try toys("@links.Box.any.@count == 2") == 1)
        try store.write { try store.delete(toy) }
        #expect(try toys("@links.Box.any.@count > 0") == 0)
        #expect(try ids("any.price > 4") == [])
    }

    @Test func `sorting and aggregates of results support paths into mixed values`() throws {
        let boxes = try store.objects("Box")
        let order = try boxes.sorted([("any.name", false), ("id", true)]).keys().map(\.rawValue)
        #expect(order == [1, 2, 7, 0, 3, 4, 5, 6, 8])
        #expect(
            try ids("any.name != nil sort(any.price desc, id asc) limit(2)") == [1, 2])
        #expect(try ids("truepredicate sort(any.sizes[1] desc, id asc) limit(2)") == [0, 1])
        #expect(try boxes.sum("any.price") == .double(5) && boxes.count(of: "any.name") == 3)
        #expect(try boxes.maximum("any.sizes[2]") == .int(2))
    }

    @Test func `observers of a path through links in mixed values track the linked objects`()
        throws
    {
        var observed: [[Int]] = []
        let token = try store.objects("Box").filtered("any.price > 6").observe {
            observed.append($0.insertions + $0.deletions + $0.modifications)
        }
        var named: [[Int]] = []
        let filtered = try store.objects("Box").observe(keyPaths: ["any.name"]) {
            named.append($0.modifications)
        }
        scheduler.settle()
        try store.write { try toy.set("price", .double(9)) }
        scheduler.settle()
        #expect(observed == [[], [0]] && named == [[]])
        try store.write { try toy.set("name", .string("bone")) }
        scheduler.settle()
        // The toy is in three boxes; in two, the path does not lead to it.
        #expect(named == [[], [1]] && observed == [[], [0], [0]])
        try store.write { try shop.set("name", .string("fair")) }
        scheduler.settle()
        #expect(named.last == [7])
        try store.write { try store.object("Box", primaryKey: .int(1))?.set("any", .int(1)) }
        scheduler.settle()
        #expect(observed.last == [0] && named.last == [1])
        token.invalidate()
        filtered.invalidate()
        // A name that no class has is a key of a map.
        for path in ["any.*", "*.price", "map.*", "any.nmae"] {
            try store.objects("Box").observe(keyPaths: [path]) { _ in }.invalidate()
        }
    }
}
