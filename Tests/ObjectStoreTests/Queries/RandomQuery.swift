import ObjectStore

/// Writes random predicates that are valid for a ``RandomWorld``, each with its meaning for one
/// object as plain code.
struct RandomQuery {
    /// A condition on the objects of one class.
    struct Condition {
        let text: String
        let holds: (Int) -> Bool
    }

    /// A path with the values that it leads to.
    struct Path {
        var text: String
        /// The class at the end of the path; nil after a value.
        var reached: String?
        var type: PropertyType?
        var isToMany = false
        /// Whether the values are floats, to which constants with a fraction are rounded.
        var isFloat = false
        /// Nil means a nil link in the path.
        var objects: (Int) -> [Int?]
        var values: (Int) -> [PlainValue] = { _ in [] }
    }

    let world: RandomWorld
    var generator: SplitMix
    var arguments: [Value] = []
    private var variables = 0

    init(_ world: RandomWorld, seed: UInt64) {
        self.world = world
        generator = SplitMix(seed: seed)
    }

    mutating func pick<T>(_ choices: [T]) -> T { choices.randomElement(using: &generator)! }
    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &generator) == 0 }
    mutating func number(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &generator)
    }

    // MARK: Conditions

    mutating func condition(
        of className: String, _ depth: Int, variable: String? = nil
    ) -> Condition {
        if depth > 0 {
            let next = depth - 1
            switch number(0...4) {
            case 0, 1:
                let parts = (0...number(1...2)).map { _ in
                    condition(of: className, next, variable: variable)
                }
                let isAll = chance(2)
                let sign = isAll ? pick([" and ", " && "]) : pick([" or ", " || "])
                return Condition(text: "(" + parts.map(\.text).joined(separator: sign) + ")") {
                    row in
                    isAll
                        ? parts.allSatisfy { $0.holds(row) } : parts.contains { $0.holds(row) }
                }
            case 2:
                let part = condition(of: className, next, variable: variable)
                return Condition(text: pick(["not ", "!"]) + "(\(part.text))") {
                    !part.holds($0)
                }
            default: break
            }
        }
        return leaf(className, variable)
    }

    private mutating func leaf(_ className: String, _ variable: String?) -> Condition {
        switch number(0...15) {
        case 0: return count(className, variable)
        case 1: return aggregate(className, variable)
        case 2: return subquery(className, variable)
        case 3: return sequence(className, variable)
        case 4: return arithmetic(className, variable)
        case 5: return twoPaths(className, variable)
        case 6: return objects(className, variable)
        case 7 where chance(2): return textSize(className, variable)
        case 7:
            let value = chance(2)
            return Condition(text: value ? "truepredicate" : "FALSEPREDICATE") { _ in value }
        default: return comparison(className, variable)
        }
    }

    /// Chooses a quantifier for a path and evaluates it.
    mutating func quantified(
        _ path: Path, _ test: @escaping (PlainValue) -> Bool
    ) -> (prefix: String, holds: (Int) -> Bool) {
        let quantifier = path.isToMany ? pick(["", "any ", "some ", "all ", "none "]) : ""
        return (
            quantifier,
            { row in
                let values = path.values(row)
                switch quantifier {
                case "all ": return values.allSatisfy(test)
                case "none ": return !values.contains(where: test)
                default: return values.contains(where: test)
                }
            }
        )
    }

    private mutating func comparison(_ className: String, _ variable: String?) -> Condition {
        let path = valuePath(className, variable)
        switch number(0...5) {
        case 0:
            var members = (0..<number(0...12)).map { _ in
                chance(6) ? constant(pick([.int, .string, .bool])) : constant(path.type!)
            }
            if !path.isToMany, path.type != .mixed, chance(4) { members.append(("nil", .null)) }
            let values = members.map { Self.beside(path, $0.value) }
            let (prefix, holds) = quantified(path) { value in
                values.contains { PlainValue.holds(value, "==", $0) }
            }
            let list = members.map(\.text).joined(separator: ", ")
            return Condition(text: "\(prefix)\(path.text) in {\(list)}", holds: holds)
        case 1 where path.type == .int || path.type == .double || path.type == .date:
            let (low, high) = (constant(path.type!), constant(path.type!))
            let (first, last) = (Self.beside(path, low.value), Self.beside(path, high.value))
            let (prefix, holds) = quantified(path) {
                PlainValue.holds($0, ">=", first) && PlainValue.holds($0, "<=", last)
            }
            return Condition(
                text: "\(prefix)\(path.text) between {\(low.text), \(high.text)}", holds: holds)
        case 2, 3:
            guard path.type == .string else { fallthrough }
            let operation =
                pick(["beginswith", "endswith", "contains", "like", "=="]) + pick(["", "[c]"])
            let part = pick(RandomWorld.texts + ["a*", "?b", "*b*", "?"])
            let (prefix, holds) = quantified(path) {
                PlainValue.searches($0, operation, part)
            }
            return Condition(text: "\(prefix)\(path.text) \(operation) '\(part)'", holds: holds)
        case 4:
            let sign = pick(["==", "!="])
            let (prefix, holds) = quantified(path) { PlainValue.holds($0, sign, .null) }
            return Condition(text: "\(prefix)\(path.text) \(sign) nil", holds: holds)
        default:
            let isOrdered = path.type != .bool && path.type != .uuid
            let sign = pick(isOrdered ? ["==", "!=", "<", "<=", ">", ">="] : ["==", "!="])
            let other = constant(path.type!)
            let value = Self.beside(path, other.value)
            let (prefix, holds) = quantified(path) { PlainValue.holds($0, sign, value) }
            if !path.isToMany, chance(4), let mirrored = Self.mirrored[sign] {
                return Condition(text: "\(other.text) \(mirrored) \(path.text)", holds: holds)
            }
            return Condition(text: "\(prefix)\(path.text) \(sign) \(other.text)", holds: holds)
        }
    }

    private static let mirrored = [
        "==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
    ]

    /// The value of a constant in a comparison with a path: for floats, a constant with a fraction becomes the nearest
    /// float, unless that is 0 or infinite.
    private static func beside(_ path: Path, _ value: PlainValue) -> PlainValue {
        guard path.isFloat, case .real(let real) = value, real.rounded() != real else {
            return value
        }
        let nearest = Float(real)
        return nearest != 0 && nearest.isFinite ? .real(Double(nearest)) : value
    }

    private mutating func textSize(_ className: String, _ variable: String?) -> Condition {
        let path = singlePath(className, variable, types: [.string])
        let sign = pick(["==", "!=", "<", "<=", ">", ">="])
        let wanted = PlainValue.int(Int64(number(0...5)))
        let suffix = pick([".@count", ".@size"])
        return Condition(text: "\(path.text)\(suffix) \(sign) \(constantText(wanted))") { row in
            guard case .text(let text) = path.values(row)[0] else {
                return PlainValue.holds(.null, sign, wanted)
            }
            return PlainValue.holds(.int(Int64(text.utf8.count)), sign, wanted)
        }
    }

    private mutating func count(_ className: String, _ variable: String?) -> Condition {
        let sign = pick(["==", "!=", "<", "<=", ">", ">="])
        let wanted = PlainValue.int(Int64(number(0...4)))
        let path = chance(2) ? collectionPath(className, variable) : listPath(className, variable)
        let suffix = pick([".@count", ".@size"])
        return Condition(text: "\(path.text)\(suffix) \(sign) \(constantText(wanted))") { row in
            // Nil elements of a map count.
            PlainValue.holds(.int(Int64(path.values(row).count)), sign, wanted)
        }
    }

    private mutating func aggregate(_ className: String, _ variable: String?) -> Condition {
        let sign = pick(["==", "!=", "<", "<=", ">", ">="])
        let operation = pick(["@sum", "@min", "@max", "@avg"])
        let wanted = constant(pick([.int, .double]))
        let path: Path
        let text: String
        if chance(2) {
            path = listPath(className, variable, types: [.int, .double])
            text = "\(path.text).\(operation)"
        } else {
            let list = collectionPath(className, variable)
            let name = pick(["n", "d", "i"])
            path = follow(list, name)
            text = "\(list.text).\(operation).\(name)"
        }
        return Condition(text: "\(text) \(sign) \(wanted.text)") { row in
            PlainValue.holds(PlainValue.aggregate(operation, path.values(row)), sign, wanted.value)
        }
    }

    private mutating func subquery(_ className: String, _ variable: String?) -> Condition {
        let list = collectionPath(className, variable)
        variables += 1
        let name = "$v\(variables)"
        let inner = condition(of: list.reached!, number(0...1), variable: name)
        let sign = pick(["==", "!=", "<", ">", ">="])
        let wanted = PlainValue.int(Int64(number(0...2)))
        let text =
            "subquery(\(list.text), \(name), \(inner.text)).@count \(sign) \(constantText(wanted))"
        return Condition(text: text) { row in
            let count = list.objects(row).compactMap { $0 }.count { inner.holds($0) }
            return PlainValue.holds(.int(Int64(count)), sign, wanted)
        }
    }

    private mutating func sequence(_ className: String, _ variable: String?) -> Condition {
        let path = listPath(className, variable, isOrdered: true)
        let members = (0..<number(0...3)).map { _ in constant(path.type!) }
        let list = "{\(members.map(\.text).joined(separator: ", "))}"
        let text = chance(2) ? "\(path.text) == \(list)" : "\(list) == \(path.text)"
        let values = members.map(\.value)
        return Condition(text: text) { row in
            let found = path.values(row)
            return found.count == values.count
                && zip(found, values).allSatisfy { PlainValue.holds($0, "==", $1) }
        }
    }

    private mutating func arithmetic(_ className: String, _ variable: String?) -> Condition {
        let first = singlePath(className, variable, types: [.int, .double])
        let second = singlePath(className, variable, types: [.int, .double])
        let sign = pick(["+", "-", "*", "/"])
        let factor = constant(pick([.int, .double]))
        let comparison = pick(["==", "!=", "<", ">="])
        return Condition(
            text: "\(first.text) \(sign) \(factor.text) \(comparison) \(second.text)"
        ) { row in
            let value = PlainValue.calculate(first.values(row)[0], sign, factor.value)
            return PlainValue.holds(value, comparison, second.values(row)[0])
        }
    }

    private mutating func twoPaths(_ className: String, _ variable: String?) -> Condition {
        let type = pick([PropertyType.int, .double, .string, .date, .bool])
        let types: [PropertyType] = type == .int || type == .double ? [.int, .double] : [type]
        let left = valuePath(className, variable, types: types)
        let right = valuePath(className, variable, types: types)
        let sign = pick(type == .bool ? ["==", "!="] : ["==", "!=", "<", ">="])
        let text = "\(left.text) \(sign) \(right.text)"
        return Condition(text: text) { row in
            left.values(row).contains { first in
                right.values(row).contains { PlainValue.holds(first, sign, $0) }
            }
        }
    }

    private mutating func objects(_ className: String, _ variable: String?) -> Condition {
        let path = objectPath(className, variable)
        let rows = (0..<number(1...3)).map { _ in
            number(0...world.rows[path.reached!]!.count - 1)
        }
        let values = rows.map { PlainValue.link(path.reached!, $0) }
        arguments.append(.list(rows.map { .object(world.references[path.reached!]![$0]) }))
        let (prefix, holds) = quantified(path) { value in
            values.contains { PlainValue.holds(value, "==", $0) }
        }
        return Condition(text: "\(prefix)\(path.text) in $\(arguments.count)", holds: holds)
    }
}
