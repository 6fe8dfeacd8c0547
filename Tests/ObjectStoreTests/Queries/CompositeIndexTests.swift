import ColumnStorage
import ObjectStore
import Testing

/// Indexes on several properties, and ranges of ordered indexes, give the same results as a scan.
@Suite struct CompositeIndexTests {
    static let properties = [
        Property("id", .int, isPrimary: true),
        Property("name", .string, isOptional: true),
        Property("nick", .string, isIndexed: true),
        Property("age", .int, isOptional: true),
        Property("rank", .int, isIndexed: true),
        Property("score", .double),
        Property("weight", .float, isOptional: true),
        Property("good", .bool),
        Property("born", .date, isOptional: true),
        Property("code", .uuid),
        Property("buddy", .object, target: "Dog"),
        Property("tags", .string, collection: .list),
    ]
    static let indexes = [
        CompositeIndex(["name", "age"]), CompositeIndex(["good", "score", "name"]),
        CompositeIndex(["buddy", "born"]), CompositeIndex(["weight", "code"]),
    ]

    let stores: StorePair
    var store: Store { stores.store }

    init() throws {
        stores = try StorePair([ClassSchema("Dog", Self.properties, indexes: Self.indexes)])
    }

    private func dogs() throws -> Results {
        Results(.store(store), all: try store.schema.require("Dog"))
    }

    @Test func `composite indexes are part of the file's schema, and change with define`() throws {
        let other = stores.other
        #expect(
            other.schema.find("Dog")?.indexes.map(\.properties) == Self.indexes.map(\.properties))
        try store.define([
            ClassSchema("Dog", Self.properties, indexes: [CompositeIndex(["age", "name"])])
        ])
        try other.refresh()
        #expect(other.schema.find("Dog")?.indexes.map(\.properties) == [["age", "name"]])
        #expect(try dogs().filtered("age == 1 and name == 'a'").explain().contains("'age', 'name'"))
        #expect(try store.verify() == [])
    }

    @Test(arguments: 1...8)
    func `a composite index agrees with a scan through random writes`(seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        func pick(_ count: UInt64) -> Int { Int(random.next() % count) }
        func values() -> ValueMap {
            [
                "name": pick(6) == 0 ? .null : .string(["", "a", "a\u{0}", "ab", "b"][pick(5)]),
                "nick": .string("n\(pick(60))"),
                "age": pick(6) == 0 ? .null : .int([-1, 0, 1, 2, .max, .min][pick(6)]),
                "rank": .int(Int64(pick(300)) - 150),
                "score": .double([0, -0.0, 1.5, -2, .infinity, .nan][pick(6)]),
                "weight": pick(4) == 0 ? .null : .float([0.5, 1, 3.14][pick(3)]),
                "good": .bool(pick(2) == 0),
                "born": pick(4) == 0 ? .null : .date(Timestamp(microseconds: Int64(pick(4)))),
                "code": .uuid(UUIDValue(high: UInt64(pick(2)), low: 7)),
            ]
        }
        let predicates = [
            "name == 'a' and age == 1", "name == 'a' and age >= 1", "name == 'a' and age < 1",
            "name == 'a' and age > 9223372036854775806", "name == nil and age == nil",
            "name == 'a' and age between {0, 1}", "age > -5 and name == ''",
            "good == true and score > 0", "good == false and score <= 0 and name == 'b'",
            "good == true and score == 0 and name > 'a'", "good == true and score != 1.5",
            "weight == 3.14 and code == uuid(00000000-0000-0001-0000-000000000007)",
            "weight == 1 and code >= uuid(00000000-0000-0001-0000-000000000007)",
            "rank > 140", "rank >= 149", "rank < -148 and good == true", "rank between {3, 4}",
            "rank > 100 and rank < 102", "rank > 9223372036854775807", "id < 3", "id >= 0",
            "nick beginswith 'n5'", "nick > 'n58'", "nick >= 'n58' and nick <= 'n59'",
            "nick < 'n1'",
            "buddy == nil and born == nil", "buddy == nil and born > 1970-01-01",
        ]
        var next: Int64 = 0
        for _ in 0..<10 {
            try store.beginWrite()
            if pick(3) == 0 {
                let indexes = Self.indexes.filter { _ in pick(3) > 0 }
                try store.defineInWrite([ClassSchema("Dog", Self.properties, indexes: indexes)])
            }
            let dog = try store.schema.require("Dog")
            let inserter = try pick(2) == 0 ? store.inserter(of: dog) : nil
            for _ in 0..<pick(inserter == nil ? 60 : 500) {
                var row = values()
                row["id"] = .int(next)
                next += 1
                guard let inserter else {
                    try store.create("Dog", .dictionary(row))
                    continue
                }
                for (position, property) in Self.properties.enumerated() {
                    if let value = row[property.name] { inserter.set(position, value) }
                }
                try inserter.insert()
            }
            let all = try dogs()
            for key in try all.keys().array where pick(8) == 0 {
                let object = try #require(store.object(ObjectReference(table: dog.table, key: key)))
                switch pick(4) {
                case 0: try store.delete(object)
                case 1:
                    let buddy = try all.object(at: 0)
                    try store.update(object, ["buddy": .object(buddy.reference)])
                default:
                    try store.update(object, values().filter { _ in pick(2) == 0 })
                }
            }
            try check(predicates)
            if pick(4) == 0 { try store.cancelWrite() } else { try store.commitWrite() }
            try check(predicates)
            if pick(3) == 0 { #expect(try store.verify() == []) }
        }
        #expect(try store.verify() == [])
    }

    private func check(_ predicates: [String]) throws {
        var texts = predicates
        if try dogs().count() > 0 {
            let buddy = try dogs().object(at: 0).reference
            let linked = try dogs().filtered("buddy == $1 and born >= 1970-01-01", [.object(buddy)])
            let naive = try dogs().filtered(
                "not (buddy != $1 or not born >= 1970-01-01)", [.object(buddy)])
            #expect(try linked.keys().array == naive.keys().array)
        } else {
            texts = []
        }
        for text in texts {
            let planned = try dogs().filtered(text)
            // A negation never uses an index.
            let scanned = try dogs().filtered("not (not (\(text)))")
            #expect(try planned.keys().array == scanned.keys().array, "\(text)")
            #expect(try planned.count() == scanned.count(), "\(text)")
        }
    }
}
