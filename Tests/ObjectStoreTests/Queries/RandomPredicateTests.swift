import ObjectStore
import Testing

/// Compares random predicates with a simple model that evaluates one row after the other.
@Suite struct RandomPredicateTests {
    /// A row of the model; links are positions.
    struct Row {
        var age: Int64?
        var height: Double?
        var name: String?
        var active: Bool?
        var rank: Int64
        var buddy: Int?
        var items: [Int]
    }

    /// A condition with its text and its meaning.
    struct Condition {
        let text: String
        let holds: (Int) -> Bool
    }

    struct Model {
        var rows: [Row]
        var prices: [Double?]
        var generator: SplitMix

        static let names = ["", "a", "ab", "abc", "b", "Bob", "bob", "é", "zzzzzzzzzzzz"]

        mutating func pick<T>(_ choices: [T]) -> T { choices.randomElement(using: &generator)! }

        mutating func number(_ range: ClosedRange<Int>) -> Int {
            Int.random(in: range, using: &generator)
        }

        mutating func randomCondition() -> Condition {
            let depth = number(0...4)
            return condition(depth)
        }

        mutating func condition(_ depth: Int) -> Condition {
            guard depth > 0 else { return leaf() }
            switch number(0...4) {
            case 0:
                let (a, b) = (condition(depth - 1), condition(depth - 1))
                return Condition(text: "(\(a.text) and \(b.text))") { a.holds($0) && b.holds($0) }
            case 1:
                let (a, b) = (condition(depth - 1), condition(depth - 1))
                return Condition(text: "(\(a.text) || \(b.text))") { a.holds($0) || b.holds($0) }
            case 2:
                let a = condition(depth - 1)
                return Condition(text: "not \(a.text)") { !a.holds($0) }
            default: return leaf()
            }
        }

        private static func compare<T: Comparable>(_ a: T?, _ sign: String, _ b: T?) -> Bool {
            if sign == "==" { return a == b }
            if sign == "!=" { return a != b }
            guard let a, let b else { return false }
            return switch sign {
            case "<": a < b
            case "<=": a <= b
            case ">": a > b
            default: a >= b
            }
        }

        private static func bytes(_ text: String?) -> [UInt8]? { text.map { Array($0.utf8) } }

        private static func text(_ a: String?, _ sign: String, _ b: String) -> Bool {
            guard let a = bytes(a), let b = bytes(b) else { return sign == "!=" }
            return switch sign {
            case "==": a == b
            case "!=": a != b
            case "<": a.lexicographicallyPrecedes(b)
            case ">=": !a.lexicographicallyPrecedes(b)
            case "beginswith": a.starts(with: b)
            case "endswith": a.reversed().starts(with: b.reversed())
            default: b.isEmpty || (a.indices.contains { a[$0...].starts(with: b) })
            }
        }

        private mutating func leaf() -> Condition {
            let rows = rows
            let signs = ["==", "!=", "<", "<=", ">", ">="]
            // Half of the paths follow the link; with a missing buddy, all values are nil.
            let isLinked = number(0...2) == 0
            let prefix = isLinked ? pick(["buddy.", "buddy.buddy."]) : ""
            func row(_ index: Int) -> Row? {
                guard isLinked else { return rows[index] }
                var at: Int? = rows[index].buddy
                if prefix.count > 6 { at = at.flatMap { rows[$0].buddy } }
                return at.map { rows[$0] }
            }
            switch number(0...10) {
            case 0, 1:
                let sign = pick(signs)
                let value = number(-3...3)
                return Condition(text: "\(prefix)age \(sign) \(value)") {
                    Model.compare(row($0)?.age, sign, Int64(value))
                }
            case 2:
                let sign = pick(signs)
                let value = Double(number(-6...6)) / 2
                return Condition(text: "\(prefix)age \(sign) \(value)") {
                    Model.compare(row($0)?.age.map(Double.init), sign, value)
                }
            case 3:
                let sign = pick(signs)
                let value = Double(number(-6...6)) / 2
                return Condition(text: "\(value) \(sign) \(prefix)height") {
                    Model.compare(value, sign, row($0)?.height)
                }
            case 4:
                let sign = pick([
                    "==", "!=", "<", ">=", "beginswith", "endswith", "contains",
                ])
                let value = pick(Model.names)
                return Condition(text: "\(prefix)name \(sign) '\(value)'") {
                    Model.text(row($0)?.name, sign, value)
                }
            case 5:
                let isEqual = number(0...1) == 0
                let name = pick(["age", "height", "name", "active", "buddy"])
                return Condition(text: "\(prefix)\(name) \(isEqual ? "==" : "!=") nil") {
                    let found = row($0)
                    let isNil =
                        switch name {
                        case "age": found?.age == nil
                        case "height": found?.height == nil
                        case "name": found?.name == nil
                        case "active": found?.active == nil
                        default: found?.buddy == nil
                        }
                    return isNil == isEqual
                }
            case 6:
                let (low, high) = (number(-3...3), number(-3...3))
                return Condition(text: "\(prefix)age between {\(low), \(high)}") {
                    row($0)?.age.map { low <= $0 && $0 <= high } ?? false
                }
            case 7:
                let values = (0..<number(0...3)).map { _ in number(-3...3) }
                let hasNil = number(0...2) == 0
                let list = values.map(String.init) + (hasNil ? ["nil"] : [])
                return Condition(text: "\(prefix)age in {\(list.joined(separator: ", "))}") {
                    row($0)?.age.map { values.contains(Int($0)) } ?? hasNil
                }
            case 8:
                let sign = pick(signs)
                return Condition(text: "\(prefix)age \(sign) height") {
                    Model.compare(row($0)?.age.map(Double.init), sign, rows[$0].height)
                }
            case 9:
                let value = number(0...rows.count)
                return Condition(text: "rank == \(value)") { rows[$0].rank == Int64(value) }
            default:
                let prices = prices
                let quantifier = pick(["", "any ", "all ", "none "])
                let sign = pick(signs)
                let value = Double(number(0...6))
                return Condition(text: "\(quantifier)\(prefix)items.price \(sign) \(value)") {
                    // A nil link in the path leads to no values.
                    let found = row($0).map { $0.items.map { prices[$0] } } ?? []
                    let count = found.count { Model.compare($0, sign, value) }
                    return quantifier == "all "
                        ? count == found.count : quantifier == "none " ? count == 0 : count > 0
                }
            }
        }
    }

    private func model(seed: UInt64, count: Int) -> Model {
        var generator = SplitMix(seed: seed)
        func maybe<T>(_ value: T) -> T? {
            Int.random(in: 0..<5, using: &generator) == 0 ? nil : value
        }
        let prices = (0..<8).map { maybe(Double($0)) }
        let rows = (0..<count).map { index in
            Row(
                age: maybe(Int64.random(in: -3...3, using: &generator)),
                height: maybe(Double(Int.random(in: -6...6, using: &generator)) / 2),
                name: maybe(Model.names.randomElement(using: &generator)!),
                active: maybe(Bool.random(using: &generator)), rank: Int64(index),
                buddy: maybe(Int.random(in: 0..<count, using: &generator)),
                items: (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                    Int.random(in: 0..<8, using: &generator)
                })
        }
        return Model(rows: rows, prices: prices, generator: generator)
    }

    private func store(_ model: Model) throws -> QueryWorld {
        let world = try QueryWorld()
        try world.store.write {
            let items = try model.prices.map { price in
                try world.store.create(
                    "Item",
                    .dictionary([
                        "name": .string("x"), "count": .int(0),
                        "price": price.map(Value.double) ?? .null,
                    ])
                ).reference
            }
            let people = try model.rows.enumerated().map { index, row in
                try world.store.create(
                    "Person",
                    .dictionary([
                        "id": .int(Int64(index)), "rank": .int(row.rank), "nick": .string("n"),
                        "age": row.age.map(Value.int) ?? .null,
                        "height": row.height.map(Value.double) ?? .null,
                        "name": row.name.map(Value.string) ?? .null,
                        "active": row.active.map(Value.bool) ?? .null,
                        "items": .list(row.items.map { .object(items[$0]) }),
                    ]))
            }
            for (index, row) in model.rows.enumerated() {
                guard let buddy = row.buddy else { continue }
                try people[index].set("buddy", .object(people[buddy].reference))
            }
        }
        return world
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `a scan agrees with evaluating each row`(seed: UInt64) throws {
        var model = model(seed: seed, count: 700)
        let world = try store(model)
        let keys = try world.all().keys().array
        for _ in 0..<200 {
            let condition = model.randomCondition()
            let expected = model.rows.indices.filter(condition.holds)
            let found = try world.rows(condition.text)
            #expect(found == expected, "\(condition.text)")
            guard found == expected else { continue }
            // Evaluating one row, as observers do, gives the same result as a scan.
            let steps = try QueryText.compile(
                condition.text, class: world.person, schema: world.store.schema)
            guard case .filter(let predicate)? = steps.first else { continue }
            let members = Set(expected)
            for index in stride(from: 0, to: keys.count, by: 37) {
                #expect(
                    try predicate.matches(world.store.view, keys[index]) == members.contains(index))
            }
        }
    }
}
