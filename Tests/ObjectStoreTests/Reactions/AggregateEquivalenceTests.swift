import ColumnStorage
import TestThreads
import Testing

@testable import ObjectStore

/// Incremental aggregates equal recomputed ones, for random data, commits, queries and properties.
@Suite struct AggregateEquivalenceTests {
    private static let aggregates: [(kind: AggregateKind, path: String?)] = [
        (.count, nil), (.count, "text"), (.count, "link"), (.sum, "value"), (.minimum, "value"),
        (.maximum, "value"), (.average, "value"), (.sum, "link.value"), (.minimum, "link.value"),
        (.maximum, "link.link.value"), (.average, "second.value"),
    ]

    /// An observed aggregate, and its reported values.
    private final class Observed {
        let results: Results
        let kind: AggregateKind
        let path: String?
        let description: String
        var reported: Value?
        var calls = 0
        var token: NotificationToken?

        init(_ world: ObservedWorld, using random: inout SplitMix) throws {
            let query = try RandomRows(world, using: &random)
            results = Results(.store(world.store), query.query)
            (kind, path) = AggregateEquivalenceTests.aggregates.randomElement(using: &random)!
            description = "\(kind) of \(path ?? "objects") of \(query.description)"
            token = try results.observeAggregate(kind, path) { [unowned self] new, old in
                #expect(old == reported, "\(description)")
                #expect(calls == 0 || new != old, "\(description)")
                calls += 1
                reported = new
            }
        }

        func check() throws {
            #expect(calls > 0)
            // An observer ends when the owner of its collection is deleted, even if an undo restores the owner.
            guard token?.isValid == true else { return }
            let now = try AggregateEquivalenceTests.value(kind, path, of: results)
            #expect(reported == now, "\(description)")
        }
    }

    fileprivate static func value(
        _ kind: AggregateKind, _ path: String?, of results: Results
    ) throws -> Value {
        switch kind {
        case .count:
            .int(Int64(try path.map { try results.count(of: $0) } ?? results.count()))
        case .sum: try results.sum(path ?? "")
        case .minimum: try results.minimum(path ?? "")
        case .maximum: try results.maximum(path ?? "")
        case .average: try results.average(path ?? "")
        }
    }

    /// The reported aggregates of sections.
    private final class ObservedGroups {
        private static let keys = ["value", "text", "link.value", "targets.@count"]
        let sections: SectionedResults
        let kind: AggregateKind
        let path: String?
        let description: String
        var reported: [Value: Value] = [:]
        var token: NotificationToken?

        init(_ world: ObservedWorld, using random: inout SplitMix) throws {
            let query = try RandomRows(world, using: &random)
            let key = Self.keys.randomElement(using: &random)!
            sections = try Results(.store(world.store), query.query).grouped(by: key)
            (kind, path) = AggregateEquivalenceTests.aggregates.randomElement(using: &random)!
            description = "\(kind) of \(path ?? "objects") of \(query.description) by \(key)"
            token = try sections.observeAggregate(kind, path) { [unowned self] changes in
                for change in changes {
                    #expect(change.old == reported[change.key], "\(description)")
                    #expect(change.new != change.old, "\(description)")
                    reported[change.key] = change.new
                }
            }
        }

        func check() throws {
            guard token?.isValid == true else { return }
            var now: [Value: Value] = [:]
            for index in 0..<(try sections.count()) {
                let (key, objects) = try sections.section(at: index)
                now[key] = try AggregateEquivalenceTests.value(kind, path, of: objects)
            }
            #expect(reported == now, "\(description)")
        }
    }

    /// An effect that reads an aggregate, the first object and a property, and the same as computed values.
    private final class Reading {
        let results: Results
        let kind: AggregateKind
        let path: String?
        let description: String
        var seen: [Value] = []
        var runs = 0
        var effect: Effect?
        var computed: Computed?
        private let scope: ReadScope

        init(_ world: ObservedWorld, using random: inout SplitMix) throws {
            let query = try RandomRows(world, using: &random)
            results = Results(.store(world.store), query.query)
            let (kind, path) = AggregateEquivalenceTests.aggregates.randomElement(using: &random)!
            (self.kind, self.path) = (kind, path)
            description = "\(kind) of \(path ?? "objects") of \(query.description)"
            scope = try #require(world.store.readScope)
            var last: Value?
            let results = results
            let computed = Computed(in: scope) {
                let value = try AggregateEquivalenceTests.value(kind, path, of: results)
                defer { last = value }
                return value != last
            }
            self.computed = computed
            let usesComputed = Bool.random(using: &random)
            let readsOthers = Bool.random(using: &random)
            effect = try Effect(in: scope, report: { Issue.record($0) }) { [unowned self] in
                runs += 1
                if usesComputed {
                    try computed.update()
                    seen = [last ?? .null]
                } else {
                    seen = [try AggregateEquivalenceTests.value(kind, path, of: results)]
                }
                guard readsOthers else { return }
                seen += try Self.others(results)
            }
        }

        private static func others(_ results: Results) throws -> [Value] {
            guard let first = try results.first() else { return [] }
            var values: [Value] = [.object(first.reference), try first.value("value")]
            if case .object(let link) = try first.value("link"),
                let target = first.source.object(link)
            {
                values.append(try target.value("value"))
            }
            let list = try first.list("targets")
            values.append(.int(Int64(try list.count())))
            values += try results.keys().prefix(2).array.map { .int($0.rawValue) }
            return values
        }

        private var now: [Value] {
            get throws {
                var values = [try AggregateEquivalenceTests.value(kind, path, of: results)]
                if seen.count > 1 { values += try Self.others(results) }
                return values
            }
        }

        func check(_ before: (runs: Int, seen: [Value])) throws {
            // After the owner of a collection is deleted, there is nothing to follow.
            if let effect, effect.isDisposed { return }
            let now = try now
            #expect(now.starts(with: seen) || seen.starts(with: now), "\(description)")
            #expect(seen == now || seen.count == 1, "\(description)")
            #expect(runs <= before.runs + 1 || seen != before.seen, "\(description)")
        }
    }

    @Test(arguments: RandomSeeds.sample(10, of: 1...40))
    func `incremental aggregates equal recomputed ones`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let world = try ObservedWorld(objects: Int.random(in: 0...30, using: &random))
        try world.store.write {
            for _ in 0..<4 { try world.store.create("Holder", .dictionary([:])) }
            for _ in 0..<4 { try world.store.create("Bag", .dictionary([:])) }
            for _ in 0..<30 { try RandomChange.make(in: world.store, using: &random) }
        }
        try world.other.refresh()
        world.stores.settle()
        world.store.readScope = ReadScope()
        let observed = try (0..<16).map { _ in try Observed(world, using: &random) }
        let groups = try (0..<10).map { _ in try ObservedGroups(world, using: &random) }
        let readings = try (0..<12).map { _ in try Reading(world, using: &random) }
        world.stores.settle()
        for _ in 0..<15 {
            let before = readings.map { ($0.runs, $0.seen) }
            let isOwn = Bool.random(using: &random)
            let store = isOwn ? world.store : world.other
            for _ in 0..<(isOwn ? 1 : Int.random(in: 1...3, using: &random)) {
                if Int.random(in: 0..<6, using: &random) == 0 {
                    _ = try? Bool.random(using: &random) ? store.undo() : store.redo()
                    continue
                }
                try store.write {
                    for _ in 0..<Int.random(in: 0...6, using: &random) {
                        try RandomChange.make(in: store, using: &random)
                    }
                }
            }
            world.stores.settle()
            for observed in observed { try observed.check() }
            for groups in groups { try groups.check() }
            for (reading, before) in zip(readings, before) { try reading.check(before) }
        }
        #expect(world.errors.errors.isEmpty, "\(world.errors.errors)")
    }

    @Test func `exact sums do not depend on removed values`() {
        var random = SplitMix(seed: 7)
        var sum = ExactSum()
        let numbers = (0..<400).map { index -> Double in
            let size = Double.random(in: -300...300, using: &random)
            return (index % 50 == 0 ? 1e300 : 1) * Double.random(in: -1...1, using: &random)
                * (index % 3 == 0 ? size : 1e-200)
        }
        for number in numbers { sum.add(number) }
        for number in numbers.shuffled(using: &random) { sum.change(number, by: -1) }
        #expect(sum.value == 0)
        for number in [0.1, 0.2, 0.3, .infinity, .nan, 1e16, -1e16, 1.7e308, 1.7e308] {
            sum.add(number)
        }
        #expect(sum.value.isNaN)
        sum.change(.nan, by: -1)
        #expect(sum.value == .infinity)
        sum.change(.infinity, by: -1)
        #expect(sum.value == .infinity)
        sum.change(1.7e308, by: -1)
        sum.change(1.7e308, by: -1)
        #expect(sum.value == 0.6)
    }

    @Test func `a sum does not depend on the order of its values or on who computes it`() throws {
        let store = try Store.temporary([
            ClassSchema("A", "d: double?, c: decimal?, x: mixed, link: A, links: A[], ds: double[]")
        ])
        var random = SplitMix(seed: 11)
        let numbers = [1e300, 0x1p53, -1e300, 0.1, 0.2, 0.3, 1e-300, -0x1p53, 1, 2.5]
        let decimals = ["0.5", "1E+40", "0.25", "-1E+40"].compactMap { DecimalValue($0) }
        let all = try store.objects("A")
        let kinds: [AggregateKind] = [.sum, .average]
        var seen: [String: Value] = [:]
        var tokens: [NotificationToken] = []
        for (kind, path) in kinds.flatMap({ kind in ["d", "c", "x"].map { (kind, $0) } }) {
            tokens.append(
                try all.observeAggregate(kind, path) { new, _ in seen["\(kind) \(path)"] = new })
        }
        for _ in 0..<10 {
            let order = numbers.shuffled(using: &random)
            try store.write {
                let old = try all.keys().array
                for (number, value) in order.enumerated() {
                    try store.create(
                        "A",
                        .dictionary([
                            "d": .double(value), "x": .double(value),
                            "c": number < 4 ? .decimal(decimals[number]) : .null,
                        ]))
                }
                try store.delete(old, of: store.schema.classes[0])
                let objects = try (0..<numbers.count).map { try all.object(at: $0) }
                for object in objects { try object.set("link", .object(object.reference)) }
                let holder = try #require(try all.first())
                try holder.set("ds", .list(order.map { .double($0) }))
                try holder.set("links", .list(objects.map { .object($0.reference) }))
            }
            try store.refresh()
            for path in ["d", "link.d", "x"] { #expect(try all.sum(path) == .double(3.6 + 0.5)) }
            #expect(try all.sum("c") == .decimal(#require(DecimalValue("0.75"))))
            #expect(
                try CollectionValues(#require(try all.first()).list("ds")).aggregate(.sum)
                    == all.sum("d"))
            #expect(try all.filtered("links.@sum.d == links.@sum.x && ds.@sum == 4.1").count() == 1)
            for path in ["d", "c", "x"] {
                #expect(try seen["sum \(path)"] == all.sum(path))
                #expect(try seen["average \(path)"] == all.average(path))
            }
        }
        _ = tokens
    }

    @Test func `a minimum is correct after the loss of all its candidates`() throws {
        let store = try Store.temporary([ClassSchema("A", "n: int", defaults: ["n": .int(0)])])
        let count = ExtremeValues.limit * 3
        try store.write {
            for number in 0..<count {
                try store.create("A", .dictionary(["n": .int(Int64(number))]))
            }
        }
        let all = try store.objects("A")
        var seen: [Value] = []
        let token = try all.observeAggregate(.minimum, "n") { new, _ in seen.append(new) }
        try store.refresh()
        let objects = try all.keys().array
        for end in stride(from: 500, through: count, by: 500) {
            try store.write {
                for key in objects[(end - 500)..<end] {
                    try store.delete([key], of: store.schema.classes[0])
                }
            }
            try store.refresh()
            #expect(seen.last == (end < count ? .int(Int64(end)) : .null))
        }
        _ = token
    }
}
