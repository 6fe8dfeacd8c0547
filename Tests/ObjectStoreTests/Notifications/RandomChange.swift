import ColumnStorage

@testable import ObjectStore

/// Makes one random change in a write.
enum RandomChange {
    static func make(in store: Store, using random: inout SplitMix) throws {
        func any(_ className: String) throws -> LiveObject? {
            let classSchema = try store.schema.require(className)
            let keys = try QueryEvaluator.keys(of: Query(all: classSchema), in: store.view).array
            return keys.randomElement(using: &random).map {
                LiveObject(.store(store), classSchema, $0)
            }
        }
        func link(_ className: String) throws -> Value {
            guard Int.random(in: 0..<5, using: &random) > 0, let object = try any(className) else {
                return .null
            }
            return .object(object.reference)
        }
        let number = Value.int(.random(in: 0...20, using: &random))
        let text = ["a", "ab", "b", "c"].randomElement(using: &random)!
        switch Int.random(in: 0..<37, using: &random) {
        case 0, 1:
            let values: ValueMap = [
                "value": number, "text": .string(text), "link": try link("Target"),
                "second": try link("Target"),
            ]
            try store.create("Obj", .dictionary(values))
        case 2: try any("Obj").map(store.delete)
        case 3:
            try store.create("Target", .dictionary(["value": number, "link": try link("Other")]))
        case 4:
            if Int.random(in: 0..<3, using: &random) == 0 { try any("Target").map(store.delete) }
        case 5: try store.create("Other", .dictionary(["value": number]))
        case 6: try any("Other").map { try $0.set("value", number) }
        case 7, 8: try any("Obj").map { try $0.set("value", number) }
        case 9:
            try any("Obj").map {
                try $0.set("text", Bool.random(using: &random) ? .null : .string(text))
            }
        case 10: try any("Obj").map { try $0.set("link", link("Target")) }
        case 11: try any("Obj").map { try $0.set("second", link("Target")) }
        case 12, 13: try any("Target").map { try $0.set("value", number) }
        case 14: try any("Target").map { try $0.set("link", link("Other")) }
        case 15:
            guard let list = try any("Obj")?.list("targets"), let target = try any("Target") else {
                return
            }
            try list.insert(
                .object(target.reference), at: .random(in: 0...list.count(), using: &random))
        case 16:
            guard let list = try any("Obj")?.list("targets"), try list.count() > 0 else { return }
            try list.remove(at: .random(in: 0..<list.count(), using: &random))
        case 17, 18:
            try edit(any("Holder")?.list("ints"), using: &random) { _ in number }
        case 19, 20:
            let target = try any("Target")
            try edit(any("Holder")?.list("targets"), using: &random) { _ in
                target.map { .object($0.reference) }
            }
        case 21:
            let target = try any("Target")
            try edit(any("Obj")?.list("targets"), using: &random) { _ in
                target.map { .object($0.reference) }
            }
        case 23, 24:
            guard let bag = try any("Bag") else { return }
            let target = try any("Target")
            if Bool.random(using: &random) {
                let set = try bag.set("ints")
                if Bool.random(using: &random) {
                    try set.insert(number)
                } else {
                    try set.remove(number)
                }
            } else if let target {
                let set = try bag.set("links")
                let value = Value.object(target.reference)
                if Bool.random(using: &random) {
                    try set.insert(value)
                } else {
                    try set.remove(value)
                }
            }
        case 25, 26:
            guard let bag = try any("Bag") else { return }
            let target = try any("Target")
            let isOfObjects = Bool.random(using: &random)
            let map = try bag.map(isOfObjects ? "things" : "names")
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2: try map.removeValue(forKey: text)
            case 3: try map.removeAll()
            default:
                try map.set(
                    isOfObjects ? target.map { .object($0.reference) } ?? .null : number,
                    forKey: text)
            }
        case 30, 31, 32:
            let object = try any("Obj")
            try edit(any("Holder")?.list("objects"), using: &random) { _ in
                object.map { .object($0.reference) }
            }
        case 33:
            guard let set = try any("Bag")?.set("objects"), let object = try any("Obj") else {
                return
            }
            let value = Value.object(object.reference)
            if try set.insert(value) == false { _ = try set.remove(value) }
        case 34, 35, 36:
            guard let map = try any("Bag")?.map("named") else { return }
            let key = ["a", "ab", "b", "c", "d", "e"].randomElement(using: &random)!
            let object = try any("Obj")
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try map.removeAll()
            case 1, 2: try map.removeValue(forKey: key)
            case 3: try map.set(.null, forKey: key)
            default: try map.set(object.map { .object($0.reference) } ?? .null, forKey: key)
            }
        case 27:
            if Int.random(in: 0..<8, using: &random) == 0 { try any("Bag").map(store.delete) }
        case 22:
            if Int.random(in: 0..<6, using: &random) == 0 { try any("Holder").map(store.delete) }
        default:
            if Bool.random(using: &random) {
                try store.create(
                    "Linking", .dictionary(["value": number, "link": try link("Obj")]))
            } else if let linking = try any("Linking") {
                if Bool.random(using: &random) {
                    try linking.set("link", link("Obj"))
                } else {
                    try linking.set("value", number)
                }
            }
        }
    }
    /// Makes one random edit of a list.
    private static func edit(
        _ list: LiveList?, using random: inout SplitMix, _ element: (Int) throws -> Value?
    ) throws {
        guard let list, let value = try element(0) else { return }
        let count = try list.count()
        func randomIndex(_ limit: Int) -> Int { .random(in: 0..<limit, using: &random) }
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1, 2: try list.insert(value, at: randomIndex(count + 1))
        case 3, 4: try list.append([value])
        case 5, 6: if count > 0 { try list.remove(at: randomIndex(count)) }
        case 7, 8: if count > 0 { try list.set(value, at: randomIndex(count)) }
        case 9: if count > 0 { try list.move(from: randomIndex(count), to: randomIndex(count)) }
        case 10: if count > 0 { try list.swap(randomIndex(count), randomIndex(count)) }
        default: if randomIndex(3) == 0 { try list.removeAll() }
        }
    }
}
