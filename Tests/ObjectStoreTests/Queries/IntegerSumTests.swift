import Decimals
import Testing

@testable import ObjectStore

/// Compares sums of ints with exact arithmetic: every implementation gives the same value in every order.
@Suite struct IntegerSumTests {
    private static let classes = [
        ClassSchema(
            "Row",
            "id: int primary, value: int, group: int, optional: int?, mixed: mixed, "
                + "list: int[], set: int<>, map: int{}, many: mixed[], named: mixed{}, "
                + "money: mixed[], rows: Row[]")
    ]

    private let scheduler = ManualScheduler()
    private let store: Store

    init() throws { store = try Store.temporary(Self.classes, scheduler: scheduler) }

    /// The documented value for an exact sum.
    private static func value(_ exact: Int128) -> Value {
        Int64(exactly: exact).map(Value.int) ?? .double(Double(exact))
    }

    private static func sum(_ numbers: [Int64]) -> Int128 { numbers.reduce(0) { $0 + Int128($1) } }

    /// Numbers whose partial sums often need more than 64 bits.
    private static func numbers(_ count: Int, using random: inout SplitMix) -> [Int64] {
        var numbers = (0..<count).map { _ -> Int64 in
            switch Int.random(in: 0..<6, using: &random) {
            case 0: .max - Int64.random(in: 0...2, using: &random)
            case 1: .min + Int64.random(in: 0...2, using: &random)
            case 2: (1 << 53) + Int64.random(in: -1...1, using: &random)
            case 3: Int64.random(in: .min ... .max, using: &random)
            default: Int64.random(in: -9...9, using: &random)
            }
        }
        // Half of the total sums fit into 64 bits.
        if Bool.random(using: &random),
            let exact = numbers.indices.last.map({ last in
                Self.sum(Array(numbers[..<last]))
            }), let rest = Int64(exactly: -exact)
        {
            numbers[numbers.count - 1] = rest
        }
        return numbers
    }

    @Test(arguments: 1...20)
    func `the sum of ints is exact in every order and implementation`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let numbers = Self.numbers(Int.random(in: 1...12, using: &random), using: &random)
        let exact = Self.sum(numbers)
        let expected = Self.value(exact)
        try fill(numbers)
        let rows = try store.objects("Row")
        for path in ["value", "optional", "mixed"] {
            #expect(try rows.sum(path) == expected, "\(path) of \(numbers)")
            #expect(try rows.sorted([(path, true)]).sum(path) == expected)
            #expect(try rows.sorted([(path, false)]).sum(path) == expected)
            let average = try rows.average(path)
            #expect(average == .double(Double(exact) / Double(numbers.count)))
        }
        let all = try #require(try store.object("Row", primaryKey: .int(0)))
        for name in ["list", "many"] {
            #expect(try CollectionValues(all.list(name)).aggregate(.sum) == expected, "\(name)")
            #expect(
                try CollectionValues(all.list(name)).sorted().aggregate(.sum) == expected, "\(name)"
            )
        }
        for name in ["map", "named"] {
            #expect(try CollectionValues(all.map(name)).aggregate(.sum) == expected, "\(name)")
        }
        let different = Self.value(Self.sum(Array(Set(numbers))))
        #expect(try CollectionValues(all.set("set")).aggregate(.sum) == different)
        for (path, sum) in [
            ("list", expected), ("map", expected), ("many", expected), ("named", expected),
            ("set", different),
        ] {
            #expect(
                try rows.filtered("id == 0 and \(path).@sum == $1", [sum]).count() == 1, "\(path)")
            // Comparisons are exact too, so an adjacent int is a different number.
            if case .int(let whole) = sum, whole < .max {
                #expect(
                    try rows.filtered("id == 0 and \(path).@sum == $1", [.int(whole + 1)]).count()
                        == 0)
            }
        }
        #expect(try rows.filtered("id == 0 and rows.@sum.value == $1", [expected]).count() == 1)
    }

    private func fill(_ numbers: [Int64]) throws {
        try store.write {
            for (index, number) in numbers.enumerated() {
                try create(index, number, group: Int64(index % 2))
            }
            let all = try #require(try store.object("Row", primaryKey: .int(0)))
            let values = numbers.map(Value.int)
            let named = ValueMap(uniqueKeysWithValues: values.enumerated().map { ("k\($0)", $1) })
            let rows = try store.objects("Row").keys().map {
                Value.object(ObjectReference(table: all.classSchema.table, key: $0))
            }
            try store.update(
                all,
                [
                    "list": .list(values), "set": .list(values), "map": .dictionary(named),
                    // In mixed collections, only numbers count.
                    "many": .list(values + [.string("text"), .bool(true), .null]),
                    "named": .dictionary(named.merging(["text": .string("9")]) { $1 }),
                    "rows": .list(rows),
                ])
        }
    }

    private func create(_ id: Int, _ number: Int64, group: Int64) throws {
        try store.create(
            "Row",
            .dictionary([
                "id": .int(Int64(id)), "value": .int(number), "group": .int(group),
                "optional": .int(number), "mixed": .int(number),
            ]))
    }

    @Test(arguments: 1...10)
    func `observed sums of ints are exact, also by section`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var numbers: [Int64: Int64] = [:]
        var reported: ValueMap = [:]
        var groups: [Value: Value] = [:]
        var tokens: [NotificationToken] = []
        for path in ["value", "optional", "mixed"] {
            tokens.append(
                try store.objects("Row").observeAggregate(.sum, path) { new, _ in
                    reported[path] = new
                })
        }
        let sections = try store.objects("Row").grouped(by: "group")
        tokens.append(
            try sections.observeAggregate(.sum, "value") { changes in
                for change in changes { groups[change.key] = change.new }
            })
        for _ in 0..<20 {
            let number = try #require(Self.numbers(1, using: &random).first)
            let id = Int64.random(in: 0..<8, using: &random)
            try store.write {
                if let old = try store.object("Row", primaryKey: .int(id)) { try store.delete(old) }
                numbers[id] = nil
                guard Int.random(in: 0..<4, using: &random) > 0 else { return }
                try create(Int(id), number, group: id % 2)
                numbers[id] = number
            }
            scheduler.settle()
            let expected = Self.value(Self.sum(Array(numbers.values)))
            #expect(reported.values.allSatisfy { $0 == expected }, "\(reported) of \(numbers)")
            for group in [Int64(0), 1] {
                let members = numbers.filter { $0.key % 2 == group }
                let sum = members.isEmpty ? nil : Self.value(Self.sum(Array(members.values)))
                #expect(groups[.int(group)] == sum)
            }
        }
        withExtendedLifetime(tokens) {}
    }

    @Test func `a list of objects has no plain values`() throws {
        try fill([1])
        let row = try #require(try store.object("Row", primaryKey: .int(0)))
        _ = storeError(.typeMismatch) { _ = try CollectionValues(row.list("rows")) }
    }

    @Test func `ints and decimals are added exactly, also beyond 64 bits`() throws {
        let values: [Value] = [
            .int(.max), .decimal(try #require(DecimalValue("0.25"))), .int(.max), .int(.max),
        ]
        try fill([1])
        for order in [values, Array(values.reversed())] {
            let row = try #require(try store.object("Row", primaryKey: .int(0)))
            try store.write { try store.update(row, ["money": .list(order)]) }
            let sum = try CollectionValues(row.list("money")).aggregate(.sum)
            #expect(sum.summary == "27670116110564327421.25")
        }
    }
}
