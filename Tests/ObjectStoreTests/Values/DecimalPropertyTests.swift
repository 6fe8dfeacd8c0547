import ObjectStore
import Testing

@Suite struct DecimalPropertyTests {
    static let classes = [
        ClassSchema(
            "Item",
            [
                Property("id", .int, isPrimary: true), Property("price", .decimal),
                Property("old", .decimal, isOptional: true),
                Property("prices", .decimal, collection: .list),
                Property("whole", .int, isOptional: true),
                Property("real", .double, isOptional: true),
            ])
    ]
    let store: Store

    init() throws { store = try Store.temporary(Self.classes) }

    private func decimal(_ text: String) -> Value { .decimal(DecimalValue(text)!) }

    private func item(_ id: Int, _ price: Value, _ more: ValueMap = [:]) throws {
        let values: ValueMap = ["id": .int(Int64(id)), "price": price]
        try store.create("Item", .dictionary(values.merging(more) { $1 }))
    }

    private func ids(_ predicate: String, _ arguments: [Value] = []) throws -> [Int64] {
        try store.objects("Item").filtered(predicate, arguments).keys().map(\.rawValue)
    }

    @Test func `values keep their decimal places through commits and reopening`() throws {
        let folder = TemporaryFolder()
        let configuration = StoreConfiguration(
            .file(folder.file("d.moonpool")), schema: Self.classes)
        let texts = [
            "12.30", "-0", "1.000000000000000000000000000000000E+6144",
            "-9.999999999999999999999999999999999E+6144", "1E-6176",
            "NaN", "Infinity", "-Infinity", "0.000",
        ]
        var store = try Store(configuration, scheduler: ManualScheduler())
        try store.write {
            for (id, text) in texts.enumerated() {
                try store.create(
                    "Item",
                    .list([.int(Int64(id)), decimal(text), decimal(text), .list([decimal(text)])]))
            }
        }
        store.close()
        store = try Store(configuration, scheduler: ManualScheduler())
        for (id, text) in texts.enumerated() {
            let object = try #require(try store.object("Item", primaryKey: .int(Int64(id))))
            for value in [
                try object.value("price"), try object.value("old"),
                try object.list("prices").element(at: 0),
            ] {
                guard case .decimal(let number)? = value else {
                    Issue.record("no decimal"); continue
                }
                #expect(number.description == text)
            }
        }
        store.close()
    }

    @Test func `a decimal property that is added to a class with objects is 0 or nil`() throws {
        let store = try Store.temporary([ClassSchema("A", [Property("id", .int, isPrimary: true)])])
        let object = try store.write { try store.create("A", .list([.int(1)])) }
        try store.define([
            ClassSchema(
                "A",
                [
                    Property("id", .int, isPrimary: true), Property("price", .decimal),
                    Property("old", .decimal, isOptional: true), Property("any", .mixed),
                ])
        ])
        guard case .decimal(let number) = try object.value("price") else {
            Issue.record("no decimal"); return
        }
        #expect(number.description == "0")
        #expect(try object.value("old") == .null && object.value("any") == .null)
    }

    @Test func `numbers become decimals as written, and decimals become numbers if exact`()
        throws
    {
        try store.write {
            try item(1, .int(3))
            try item(2, .double(0.1), ["whole": decimal("12.00"), "real": decimal("2.5")])
            try item(3, .float(0.1))
        }
        let object = try #require(try store.object("Item", primaryKey: .int(2)))
        #expect(try object.value("price") == decimal("0.1"))
        #expect(try object.value("whole") == .int(12) && object.value("real") == .double(2.5))
        #expect(try store.object("Item", primaryKey: .int(3))?.value("price") == decimal("0.1"))
        for wrong in [decimal("1.5"), decimal("1e30"), decimal("NaN"), decimal("Infinity")] {
            let error = storeError(.typeMismatch) {
                try store.write { try object.set("whole", wrong) }
            }
            #expect(error?.message.contains("not a whole number") == true)
        }
        for wrong in [
            .string("1.5"), .bool(true), .data([1]), .list([]), .date(Timestamp(microseconds: 1)),
        ] as [Value] {
            _ = storeError(.typeMismatch) { try store.write { try object.set("price", wrong) } }
        }
        _ = storeError(.missingValue) { try store.write { try object.set("price", .null) } }
    }

    @Test func `predicates compare decimals by value with every kind of number`() throws {
        try store.write {
            try item(
                0, decimal("12.30"),
                ["whole": .int(12), "real": .double(12.3), "old": decimal("12.3")])
            try item(1, decimal("-5"), ["whole": .int(-5), "real": .double(-5)])
            try item(2, decimal("NaN"), ["whole": .int(1)])
            try item(
                3, decimal("9007199254740993"),
                ["whole": .int(9_007_199_254_740_993), "real": .double(9_007_199_254_740_992)])
            try item(4, decimal("Infinity"))
        }
        #expect(
            try ids("price == 12.3") == [0] && ids("price == 12.30") == [0]
                && ids("price == $1", [decimal("12.300")]) == [0]
                && ids("price == $1", [.double(12.3)]) == [0])
        #expect(try ids("price != 12.3") == [1, 2, 3, 4] && ids("price > 12") == [0, 3, 4])
        #expect(try ids("price <= -5") == [1, 2] && ids("price between {-5, 12.3}") == [0, 1])
        #expect(try ids("price in {-5, 12.3, 7}") == [0, 1] && ids("old == nil") == [1, 2, 3, 4])
        #expect(try ids("price == old") == [0] && ids("price == whole") == [1, 3])
        // The double 12.3 is greater than the decimal 12.3.
        #expect(try ids("price == real") == [1] && ids("price > real") == [3])
        #expect(try ids("price < real") == [0])
        #expect(
            try ids("whole == $1", [decimal("12.0")]) == [0]
                && ids("whole > $1", [decimal("0.5")]) == [0, 2, 3])
        #expect(
            try ids("whole < $1", [decimal("1e30")]) == [0, 1, 2, 3]
                && ids("whole != $1", [decimal("0.5")]).count == 5)
        #expect(try ids("whole in $1", [.list([decimal("12"), decimal("1.5")])]) == [0])
        #expect(try ids("whole between $1", [.list([decimal("0.5"), decimal("12.5")])]) == [0, 2])
        #expect(
            try ids("real == $1", [decimal("12.3")]) == []
                && ids("real in $1", [.list([decimal("12.3"), decimal("-5.0")])]) == [1]
                && ids("real > $1", [decimal("12.3")]) == [0, 3])
        #expect(
            try ids("price * 2 == 24.6") == [0] && ids("price + 0.7 == 13") == [0]
                && ids("-price == 5") == [1])
        _ = storeError(.invalidQuery) { _ = try ids("price == 'a'") }
        _ = storeError(.invalidQuery) { _ = try ids("price beginswith '1'") }
    }

    @Test func `sums of decimals are exact, and the other aggregates are decimals too`()
        throws
    {
        let all = try store.objects("Item")
        #expect(
            try all.sum("price") == decimal("0") && all.minimum("price") == .null
                && all.average("price") == .null)
        try store.write {
            for id in 0..<10 {
                try item(id, decimal("0.1"), ["prices": .list([decimal("0.1"), decimal("0.2")])])
            }
            try item(10, decimal("-2.5"))
        }
        #expect(try all.sum("price") == decimal("-1.5") && all.minimum("price") == decimal("-2.5"))
        #expect(try all.maximum("price") == decimal("0.1") && all.sum("old") == decimal("0"))
        #expect(try all.filtered("id < 10").average("price") == decimal("0.1"))
        #expect(try ids("prices.@sum == 0.3").count == 10 && ids("prices.@max == 0.2").count == 10)
        try store.write {
            try item(11, decimal("9e6144")); try item(12, decimal("9e6144"))
        }
        #expect(try all.sum("price") == decimal("Infinity"))
    }

    @Test func `sorting and distinct go by value, NaN first`() throws {
        let texts = ["2.50", "NaN", "-1", "2.5", "1e3", "-Infinity", "0"]
        try store.write {
            for (id, text) in texts.enumerated() {
                try item(id, decimal(text), ["old": decimal(text)])
            }
            try item(7, decimal("0.00"))
        }
        let all = try store.objects("Item")
        #expect(
            try all.sorted([("price", true)]).keys().map(\.rawValue) == [1, 5, 2, 6, 7, 0, 3, 4])
        #expect(
            try all.sorted([("old", false)]).keys().map(\.rawValue) == [4, 0, 3, 6, 2, 5, 1, 7])
        #expect(try all.distinct(["price"]).count() == 6)
    }

    @Test func `decimals and mixed values can neither be primary keys nor be indexed`() {
        for type in [PropertyType.decimal, .mixed] {
            _ = storeError(.invalidSchema) {
                _ = try Store.temporary([ClassSchema("A", [Property("id", type, isPrimary: true)])])
            }
            _ = storeError(.invalidSchema) {
                _ = try Store.temporary([ClassSchema("A", [Property("id", type, isIndexed: true)])])
            }
        }
    }
}
