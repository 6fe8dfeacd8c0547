import ObjectStore
import Testing

/// For random changes, observers of paths into mixed values receive the differences of a new query.
@Suite struct MixedPathObserverTests {
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `observed rows agree with a new query after changes of linked objects`(seed: UInt64) throws
    {
        let scheduler = ManualScheduler()
        let store = try Store.temporary(
            [
                ClassSchema("Dog", "n: int?, z: Dog"),
                ClassSchema("Cat", "n: double, any: mixed, price: decimal?"),
                ClassSchema("Box", "any: mixed, many: mixed{}"),
            ], scheduler: scheduler)
        let conditions = [
            ("Box", "any.n > 2"), ("Box", "any.z.n > 2"), ("Box", "any[*].n == 1"),
            ("Box", "any.a.n >= 0 sort(any.a.n desc)"), ("Box", "any.@type == 'Dog'"),
            ("Box", "any.any.n > 1"), ("Box", "many.@values.n > 3"), ("Box", "many.a.n < 3"),
            ("Dog", "@links.Box.any.@count > 1"), ("Dog", "@links.Cat.any.n > 2"),
            ("Box", "truepredicate sort(any.n asc)"), ("Box", "all any.a != 1"),
            ("Box", "any != 3 sort(any desc)"), ("Cat", "truepredicate sort(price)"),
        ]
        var rows: [String: [ObjectKey]] = [:]
        var tokens: [NotificationToken] = []
        for (className, condition) in conditions {
            let results = try store.objects(className).filtered(condition)
            tokens.append(
                try results.observe { change in
                    let now = (try? results.keys().array) ?? []
                    var keys = rows[condition] ?? []
                    if case .initial = change.kind {
                        keys = now
                    } else {
                        for index in change.deletions.reversed() { keys.remove(at: index) }
                        for index in change.insertions { keys.insert(now[index], at: index) }
                    }
                    rows[condition] = keys
                })
        }
        scheduler.settle()
        var random = SplitMix(seed: seed)
        var maker = MixedMaker(seed: seed)
        let prices: [Value] = ["1.50", "1.5", "NaN", "-2", "Infinity", "0"].map {
            DecimalValue($0).map(Value.decimal) ?? .null
        }
        func any(_ className: String) throws -> LiveObject? {
            let keys = try store.objects(className).keys().array
            return keys.randomElement(using: &random).map {
                ObjectSource.store(store).object(store.schema.find(className)!, $0)
            }
        }
        func link(_ className: String) throws -> Value {
            try any(className).map { .object($0.reference) } ?? .null
        }
        func value(_ depth: Int) throws -> Value {
            switch Int.random(in: -1..<(depth > 0 ? 7 : 4), using: &random) {
            case -1: return maker.value(depth: 2)
            case 0: return .int(.random(in: 0...4, using: &random))
            case 1, 2: return try link("Dog")
            case 3: return try link("Cat")
            case 4: return .list([try value(depth - 1), try value(depth - 1)])
            case 5: return .dictionary(["a": try value(depth - 1), "n": try value(depth - 1)])
            default: return .dictionary(["any": try value(depth - 1)])
            }
        }
        for _ in 0..<80 {
            try store.write {
                for _ in 0..<Int.random(in: 1...5, using: &random) {
                    let number = Int64.random(in: 0...5, using: &random)
                    switch Int.random(in: 0..<12, using: &random) {
                    case 0: try store.create("Dog", .list([.int(number), try link("Dog")]))
                    case 1:
                        let price = prices.randomElement(using: &random) ?? .null
                        try store.create(
                            "Cat", .list([.double(Double(number)), try value(1), price]))
                    case 2, 3: try store.create("Box", .list([try value(2)]))
                    case 4, 5: try any("Dog")?.set("n", .int(number))
                    case 6: try any("Cat")?.set("n", .double(Double(number)))
                    case 7: try any("Box")?.set("any", try value(2))
                    case 8: try any("Cat")?.set("any", try value(1))
                    case 9: try any("Dog")?.set("z", try link("Dog"))
                    case 10: try any("Box")?.map("many").set(try value(1), forKey: "a")
                    default:
                        if let gone = try any(["Dog", "Cat", "Box"].randomElement(using: &random)!)
                        {
                            try store.delete(gone)
                        }
                    }
                }
            }
            scheduler.settle()
            for (className, condition) in conditions {
                let now = try store.objects(className).filtered(condition).keys().array
                #expect(rows[condition] == now, "\(condition)")
            }
        }
        for token in tokens { token.invalidate() }
    }
}
