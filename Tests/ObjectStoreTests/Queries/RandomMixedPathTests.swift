import ObjectStore
import Testing

/// Random paths into mixed values agree with a simple reference implementation.
@Suite struct RandomMixedPathTests {
    /// One step of a path.
    enum Step {
        case name(String), key(String), index(Int), last, every, values, keys, count

        var text: String {
            switch self {
            case .name(let name): ".\(name)"
            case .key(let key): "['\(key)']"
            case .index(let index): "[\(index + 1)]"
            case .last: "[last]"
            case .every: "[*]"
            case .values: ".@values"
            case .keys: ".@keys"
            case .count: ".@count"
            }
        }

        var isBracket: Bool {
            switch self {
            case .key, .index, .last, .every: true
            default: false
            }
        }
    }

    /// The target objects of links, as plain values.
    struct Model {
        var random: SplitMix
        var dogs: [ObjectReference: ValueMap] = [:]
        var references: [ObjectReference] = []

        mutating func pick<T>(_ choices: [T]) -> T { choices.randomElement(using: &random)! }

        mutating func value(_ depth: Int) -> Value {
            switch Int.random(in: 0..<(depth > 0 ? 13 : 7), using: &random) {
            case 0: .null
            case 1: .bool(.random(using: &random))
            case 2: .int(.random(in: -3...3, using: &random))
            case 3: .double(Double(Int.random(in: -6...6, using: &random)) / 2)
            case 4: .string(pick(["", "a", "b", "ab"]))
            case 5, 6: references.isEmpty ? .int(7) : .object(pick(references))
            case 7, 8, 9:
                .list((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth - 1) })
            default:
                .dictionary(
                    ValueMap(
                        uniqueKeysWithValues: ["a", "b", "z"].filter { _ in
                            Int.random(in: 0...2, using: &random) > 0
                        }
                        .map { ($0, value(depth - 1)) }))
            }
        }

        mutating func steps() -> [Step] {
            var steps = (0..<Int.random(in: 1...4, using: &random)).map { _ -> Step in
                switch Int.random(in: 0...8, using: &random) {
                case 0...3: .name(pick(["a", "b", "z"]))
                case 4: .key(pick(["a", "b", "z"]))
                case 5: .index(Int.random(in: 0...2, using: &random))
                case 6: .last
                case 7: .every
                default: .values
                }
            }
            switch Int.random(in: 0...9, using: &random) {
            case 0: steps.append(.count)
            case 1: steps.append(.keys)
            default: break
            }
            return steps
        }

        /// The values of a path; nil if a step has no value.
        ///
        /// With `isMany`, a step leads to many values, so a nil link leads to none.
        func values(_ value: Value, _ steps: ArraySlice<Step>, _ isMany: Bool) -> [Value] {
            guard let step = steps.first else { return [value] }
            let rest = steps.dropFirst()
            switch (step, value) {
            case (.name(let name), .object(let dog)):
                return property(dog, name, rest, isMany) ?? [.null]
            case (.name(let name), .dictionary(let entries)),
                (.key(let name), .dictionary(let entries)):
                return entries[name].map { values($0, rest, isMany) } ?? [.null]
            case (.index(let index), .list(let elements)):
                return index < elements.count ? values(elements[index], rest, isMany) : [.null]
            case (.last, .list(let elements)):
                return elements.last.map { values($0, rest, isMany) } ?? [.null]
            case (.every, .list(let elements)), (.values, .list(let elements)):
                return elements.flatMap { values($0, rest, isMany) }
            case (.every, .dictionary(let entries)), (.values, .dictionary(let entries)):
                return entries.values.flatMap { values($0, rest, isMany) }
            case (.keys, .dictionary(let entries)): return entries.keys.map(Value.string)
            case (.every, _), (.values, _), (.keys, _): return []
            case (.count, .list(let elements)): return [.int(Int64(elements.count))]
            case (.count, .dictionary(let entries)): return [.int(Int64(entries.count))]
            case (.count, .string(let text)): return [.int(Int64(text.utf8.count))]
            default: return [.null]
            }
        }

        /// The values of a property of a dog; nil if the rest of the path is not valid for dogs.
        private func property(
            _ dog: ObjectReference, _ name: String, _ rest: ArraySlice<Step>, _ isMany: Bool
        ) -> [Value]? {
            let value = dogs[dog]![name]!
            switch name {
            case "a": return values(value, rest, isMany)
            case "b": return rest.isEmpty ? [value] : nil
            default:
                switch rest.first {
                case nil: return [value]
                case .count: return [.int(value == .null ? 0 : 1)]
                case .name(let next):
                    guard let shape = meaning(next, rest.dropFirst()), shape else { return nil }
                    guard case .object(let target) = value else { return nilLink(rest, isMany) }
                    return property(target, next, rest.dropFirst(), isMany)
                default: return nil
                }
            }
        }

        /// Whether a path of this form can follow a property of a dog.
        private func meaning(_ name: String, _ rest: ArraySlice<Step>) -> Bool? {
            switch name {
            case "a": return true
            case "b": return rest.isEmpty
            default:
                switch rest.first {
                case nil: return true
                case .count: return true
                case .name(let next): return meaning(next, rest.dropFirst())
                default: return false
                }
            }
        }

        /// A nil link is one nil or no value; the count of its values is 0.
        private func nilLink(_ rest: ArraySlice<Step>, _ isMany: Bool) -> [Value] {
            if case .count? = rest.last,
                rest.dropLast().allSatisfy({ if case .name("z") = $0 { true } else { false } })
            {
                return [.int(0)]
            }
            return isMany ? [] : [.null]
        }

        func number(_ value: Value) -> Double? {
            switch value {
            case .int(let number): Double(number)
            case .double(let number): number
            default: nil
            }
        }

        func holds(_ left: Value, _ sign: String, _ right: Value) -> Bool {
            if left == .null || right == .null {
                return sign == "==" ? left == right : sign == "!=" ? left != right : false
            }
            let order: Int?
            if let a = number(left), let b = number(right) {
                order = a < b ? -1 : a > b ? 1 : 0
            } else if case .string(let a) = left, case .string(let b) = right {
                order = a == b ? 0 : a < b ? -1 : 1
            } else {
                order = left == right ? 0 : nil
            }
            return switch sign {
            case "==": order == 0
            case "!=": order != 0
            case "<": order == -1
            default: order.map { $0 >= 0 } ?? false
            }
        }
    }

    private func text(of constant: Value) -> String {
        switch constant {
        case .string(let text): "'\(text)'"
        case .int(let number): "\(number)"
        case .double(let number): "\(number)"
        case .bool(let flag): "\(flag)"
        default: "nil"
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `random paths agree with a simple evaluation`(seed: UInt64) throws {
        let store = try Store.temporary([
            ClassSchema("Dog", "a: mixed, b: int?, z: Dog"),
            ClassSchema("Box", "any: mixed, many: mixed[]"),
        ])
        var model = Model(random: SplitMix(seed: seed))
        var boxes: [(any: Value, many: [Value])] = []
        try store.write {
            let dogs = try (0..<12).map { _ in try store.create("Dog", .list([])) }
            model.references = dogs.map(\.reference)
            for dog in dogs {
                let values: ValueMap = [
                    "a": model.value(2),
                    "b": Bool.random(using: &model.random)
                        ? .int(.random(in: -3...3, using: &model.random)) : .null,
                    "z": Bool.random(using: &model.random)
                        ? .object(model.pick(model.references)) : .null,
                ]
                model.dogs[dog.reference] = values
                for (name, value) in values { try dog.set(name, value) }
            }
            for _ in 0..<150 {
                let box = (any: model.value(4), many: (0..<3).map { _ in model.value(3) })
                boxes.append(box)
                try store.create("Box", .list([box.any, .list(box.many)]))
            }
        }
        let keys = try store.objects("Box").keys().array
        for _ in 0..<250 {
            let steps = model.steps()
            let isList = Int.random(in: 0...2, using: &model.random) == 0
            // Brackets directly after a list select an element, not a value of its elements.
            if isList, let first = steps.first, first.isBracket { continue }
            if isList, case .values = steps[0] { continue }
            if isList, steps.count == 1 { continue }
            let path = (isList ? "many" : "any") + steps.map(\.text).joined()
            let sign = model.pick(["==", "!=", "<", ">="])
            let constant = model.pick([
                Value.int(.random(in: -2...3, using: &model.random)), .double(0.5), .string("a"),
                .string(""), .null,
            ])
            let condition = "\(path) \(sign) \(text(of: constant))"
            var ends = steps[...]
            ends.removeLast()
            let isNumber = if case .count? = steps.last { true } else { false }
            let isText = if case .keys? = steps.last { true } else { false }
            if isNumber, case .string = constant { continue }
            if isText, model.number(constant) != nil { continue }
            let isMany =
                isList
                || steps.contains { step in
                    switch step {
                    case .every, .values, .keys: true
                    default: false
                    }
                }
            let expected = boxes.indices.filter { row in
                let starts = isList ? boxes[row].many : [boxes[row].any]
                return starts.contains { start in
                    model.values(start, steps[...], isMany).contains {
                        model.holds($0, sign, constant)
                    }
                }
            }
            let results = try store.objects("Box").filtered(condition)
            let found = try results.keys().array.compactMap { keys.firstIndex(of: $0) }
            #expect(found == expected, "\(condition)")
            _ = try results.explain()
        }
    }
}
