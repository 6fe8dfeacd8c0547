import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

/// Compares observed values with values that are read again.
@Suite struct ArrangedValuesTests {
    private static let classes = [
        ClassSchema(
            "Row",
            "ints: int?[], reals: double[], words: string[], prices: decimal[], any: mixed[], "
                + "ages: int<>, marks: int{}")
    ]

    private typealias Step = (CollectionValues) throws -> CollectionValues

    /// Random steps in any order.
    private static func steps(_ condition: String, _ random: inout SplitMix) -> [Step] {
        (0..<Int.random(in: 1...4, using: &random)).map { _ in
            switch Int.random(in: 0..<5, using: &random) {
            case 0: { try $0.filtered(condition) }
            case 1: { $0.sorted() }
            case 2: { $0.sorted(ascending: false) }
            case 3: { $0.distinct() }
            default:
                { [count = Int.random(in: 0..<8, using: &random)] in try $0.limited(to: count) }
            }
        }
    }

    private static func value(_ name: String, _ random: inout SplitMix) throws -> Value {
        let number = Int64.random(in: -3...6, using: &random)
        switch name {
        case "ints": return number == 0 ? .null : .int(number)
        case "reals":
            return .double(
                [.nan, -0.0, 0.0, .infinity].randomElement(using: &random)!
                    + (number > 2 ? Double(number) : 0))
        case "words":
            return .string(
                ["", "a", "ä", "longer than a code", "longer than b"]
                    .randomElement(using: &random)!)
        case "prices":
            return .decimal(
                try #require(
                    DecimalValue(
                        ["1", "1.0", "1.00", "-2.5", "7"]
                            .randomElement(using: &random)!)))
        case "any":
            return [.int(number), .double(Double(number)), .null, .string("x"), .bool(true)]
                .randomElement(using: &random)!
        default: return .int(number)
        }
    }

    /// One change of a list, set or map.
    private static func change(_ row: LiveObject, _ name: String, _ random: inout SplitMix) throws {
        func value() throws -> Value { try Self.value(name, &random) }
        switch name {
        case "ages":
            let set = try row.set(name)
            if Bool.random(using: &random) {
                try set.insert(value())
            } else {
                try set.remove(value())
            }
        case "marks":
            let map = try row.map(name)
            let key = "k\(Int.random(in: 0..<12, using: &random))"
            if Int.random(in: 0..<3, using: &random) > 0 {
                try map.set(value(), forKey: key)
            } else {
                try map.removeValue(forKey: key)
            }
        default:
            let list = try row.list(name)
            let count = try list.count()
            func randomIndex(_ end: Int) -> Int { Int.random(in: 0..<end, using: &random) }
            switch randomIndex(12) {
            case 0 where randomIndex(6) == 0: try list.removeAll()
            case 0...3: try list.insert(value(), at: randomIndex(count + 1))
            case 4...5 where count > 0: try list.remove(at: randomIndex(count))
            case 6...8 where count > 0: try list.set(value(), at: randomIndex(count))
            case 9...10 where count > 0:
                try list.move(from: randomIndex(count), to: randomIndex(count))
            case 11 where randomIndex(8) == 0:
                try row.set(name, .list((0..<200).map { _ in try value() }))
            default: try list.append([value()])
            }
        }
    }

    @Test(arguments: [
        ("ints", "SELF > 1"), ("reals", "SELF >= 0"), ("words", "SELF contains 'o'"),
        ("prices", "SELF >= 1"), ("any", "SELF > 0"), ("ages", "SELF > 1"), ("marks", "SELF > 1"),
    ]) func `reported changes convert each version to the next`(name: String, condition: String)
        throws
    {
        var random = SplitMix(seed: UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) }))
        let pair = try StorePair(Self.classes)
        let store = pair.store
        let row = try store.write { try store.create("Row", .dictionary([:])) }
        var tokens: [NotificationToken] = []
        for _ in 0..<12 {
            let all: any LiveCollection =
                switch name {
                case "ages": try row.set(name)
                case "marks": try row.map(name)
                default: try row.list(name)
                }
            var values = try Self.values(of: all)
            for step in Self.steps(condition, &random) { values = try step(values) }
            var shadow: [Value] = []
            tokens.append(
                try values.observe { [values] change in
                    let now = try values.values()
                    if case .initial = change.kind { return shadow = now }
                    try Self.check(change, from: shadow, to: now, "\(values.steps)")
                    shadow = now
                })
        }
        pair.settle()
        let rounds = RandomSeeds.count(40, of: 120)
        for _ in 0..<rounds {
            // Several commits may be reported together.
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                try store.write {
                    for _ in 0..<Int.random(in: 1...4, using: &random) {
                        try Self.change(row, name, &random)
                    }
                }
            }
            pair.settle()
        }
        #expect(tokens.allSatisfy { $0.isValid })
        #expect(tokens.map(\.statistics.calls).reduce(0, +) > 3 * rounds)
    }

    private static func values(of collection: any LiveCollection) throws -> CollectionValues {
        func open(_ collection: some LiveCollection) throws -> CollectionValues {
            try CollectionValues(collection)
        }
        return try open(collection)
    }

    /// Applies the change to the earlier values.
    ///
    /// Values are compared by their text, so that NaN equals itself.
    private static func check(
        _ change: CollectionChange, from old: [Value], to new: [Value], _ steps: String
    ) throws {
        func text(_ values: [Value]) -> [String] { values.map { "\($0)" } }
        #expect(
            try text(change.deletedValues) == text(change.deletions.map { old[$0] }), "\(steps)")
        #expect(
            try text(change.insertedValues) == text(change.insertions.map { new[$0] }), "\(steps)")
        #expect(
            try text(change.modifiedValues) == text(change.modificationsNew.map { new[$0] }),
            "\(steps)"
        )
        let modified = Set(change.modifications)
        let gone = Set(change.deletions)
        let come = Set(change.insertions)
        let modifiedNew = Set(change.modificationsNew)
        let kept = old.indices.filter { !gone.contains($0) }
        let keptNew = new.indices.filter { !come.contains($0) }
        #expect(kept.count == keptNew.count, "\(steps)")
        for (before, after) in zip(kept, keptNew) {
            #expect(modified.contains(before) == modifiedNew.contains(after), "\(steps)")
            if !modified.contains(before) {
                #expect("\(old[before])" == "\(new[after])", "\(steps)")
            }
        }
    }
}
