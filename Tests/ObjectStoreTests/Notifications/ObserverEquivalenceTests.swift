import ColumnStorage
import Testing

@testable import ObjectStore

/// What observers are told is what a full comparison of the two versions finds: random data,
/// random commits, random queries and key paths, both ways.
@Suite struct ObserverEquivalenceTests {
    @Test(arguments: 1...40)
    func `incremental changes are those of a full comparison`(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let world = try ObservedWorld(objects: Int.random(in: 0...30, using: &random))
        let shadows = try (0..<12).map { _ in try Shadow(world, using: &random) }
        world.stores.settle()
        for shadow in shadows { #expect(shadow.calls == 1) }
        var before = try frozen(world.store)
        for _ in 0..<15 {
            // Several commits of another thread arrive together; an own write takes in what came
            // before it, so it stands alone.
            let isOwn = Bool.random(using: &random)
            let store = isOwn ? world.store : world.other
            for _ in 0..<(isOwn ? 1 : Int.random(in: 1...3, using: &random)) {
                try store.write {
                    for _ in 0..<Int.random(in: 0...6, using: &random) {
                        try RandomChange.make(in: store, using: &random)
                    }
                }
            }
            world.stores.settle()
            let now = try frozen(world.store)
            let changes = try #require(
                try world.store.view.snapshot.changes(from: before.version, to: now.version))
            for shadow in shadows { try shadow.check(before, now, changes) }
            before = now
        }
        #expect(world.errors.errors.isEmpty, "\(world.errors.errors)")
    }

    @Test(arguments: 1...10)
    func `a history that does not reach back changes nothing but equal values`(seed: UInt64) throws
    {
        var random = SplitMix(seed: seed)
        let world = try ObservedWorld(objects: 20)
        let before = try frozen(world.store)
        for _ in 0..<5 {
            try world.store.write {
                for _ in 0..<5 { try RandomChange.make(in: world.store, using: &random) }
            }
        }
        let now = try frozen(world.store)
        let compared = VersionComparison.changes(from: before, to: now)
        let recorded = try #require(
            try world.store.view.snapshot.changes(from: before.version, to: now.version))
        for classSchema in now.schema.classes {
            let (found, known) = (
                compared.tables[classSchema.table] ?? TableChanges(),
                recorded.tables[classSchema.table] ?? TableChanges()
            )
            #expect(found.inserted == known.inserted)
            #expect(found.deleted == known.deleted)
            for property in classSchema.properties where !property.isBacklinks {
                let differing = (known.modified[property.column] ?? KeySet()).filter {
                    (try? before.value(property, of: $0, in: classSchema))
                        != (try? now.value(property, of: $0, in: classSchema))
                }
                #expect(found.modified[property.column] ?? KeySet() == KeySet(unordered: differing))
            }
        }
    }

    private func frozen(_ store: Store) throws -> StoreView {
        StoreView(schema: store.schema, snapshot: try store.view.snapshot.frozen(), isFrozen: true)
    }
}

/// An observer, and what it must have been told.
private final class Shadow {
    private static let predicates = [
        "", "value > 3 and value < 15", "link.value > 4", "link == nil or value < 9",
        "link.link.value < 5", "any targets.value > 6", "targets.@count > 1", "text beginswith 'a'",
        "linkings.@count > 0", "second.value == link.value",
    ]
    private static let sorts: [[(path: String, ascending: Bool)]] = [
        [], [("value", true)], [("value", false), ("text", true)], [("link.value", true)],
        [("link.link.value", false), ("value", true)],
    ]
    private static let keyPaths = [
        "value", "text", "link", "link.value", "link.link.value", "targets", "targets.value",
        "targets.link.value", "linkings", "linkings.value", "link.origin", "link.origin.text",
        "link.holders.value", "*", "link.*", "*.value",
    ]

    let description: String
    private let query: Query
    private let texts: [String]
    private let paths: [PropertyPath]
    private var keys: [ObjectKey] = []
    private var told: CollectionChange?
    private(set) var calls = 0
    private var token: NotificationToken?

    init(_ world: ObservedWorld, using random: inout SplitMix) throws {
        let store = world.store
        let schema = store.schema
        let text = Self.predicates.randomElement(using: &random)!
        let sort = Self.sorts.randomElement(using: &random)!
        var query = try world.query("Obj", text, sort: sort)
        var description = "\(text) \(sort)"
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            query = try query.limited(to: 5)
            description += " limit"
        case 1:
            query = try query.distinct(["value"], schema: schema)
            description += " distinct"
        default: break
        }
        self.query = query
        texts = (0..<Int.random(in: 0...2, using: &random)).map { _ in
            Self.keyPaths.randomElement(using: &random)!
        }
        self.description = description + " \(texts)"
        let obj = try schema.require("Obj")
        // The names that the stars stand for, spelled out by hand.
        paths = try texts.flatMap { text -> [String] in
            switch text {
            case "*": obj.properties.map(\.name)
            case "link.*": try schema.require("Target").properties.map { "link." + $0.name }
            case "*.value": ["link", "second", "targets", "linkings"].map { $0 + ".value" }
            default: [text]
            }
        }.map { try PropertyPath.parse($0, class: obj, schema: schema) }
        token = try store.observe(query, keyPaths: texts) { [unowned self] change in
            calls += 1
            if case .initial = change.kind {
                keys = QueryEvaluator.keys(of: query, in: store.view).array
            } else {
                #expect(told == nil, "one call for each delivery")
                told = change
            }
        }
    }

    func check(_ before: StoreView, _ now: StoreView, _ changes: ChangeSet) throws {
        let new = QueryEvaluator.keys(of: query, in: now).array
        let oracle = Oracle(before: before, now: now, changes: changes, paths: paths)
        let obj = try now.schema.require("Obj")
        let both = Set(keys).intersection(new)
        let touched = both.filter { oracle.isTouched(obj, $0) }
        let expected = SequenceDifference.changes(from: keys, to: new, isTouched: touched.contains)
        guard let told else {
            #expect(expected.isEmpty, "\(description) was told nothing")
            return
        }
        var applied = keys
        for position in told.deletions.reversed() { applied.remove(at: position) }
        for position in told.insertions { applied.insert(new[position], at: position) }
        #expect(applied == new, "\(description)")
        #expect(!told.positions.isEmpty)
        #expect(told.deletions.count == expected.deletions.count, "\(description)")
        #expect(told.insertions.count == expected.insertions.count, "\(description)")
        let moved = Set(told.positions.deletedKeys).intersection(told.positions.insertedKeys)
        #expect(
            Set(told.positions.modifiedKeys) == touched.subtracting(moved), "\(description)")
        #expect(told.modifications.map { keys[$0] } == told.positions.modifiedKeys)
        #expect(told.modificationsNew.map { new[$0] } == told.positions.modifiedKeys)
        #expect(told.modificationsNew == told.modificationsNew.sorted())
        keys = new
        self.told = nil
    }
}

/// Whether a row counts as modified, found by walking forward from it.
private struct Oracle {
    let before: StoreView
    let now: StoreView
    let changes: ChangeSet
    let paths: [PropertyPath]

    func isTouched(_ classSchema: ClassSchema, _ key: ObjectKey) -> Bool {
        paths.isEmpty
            ? isTouched(classSchema, key, hops: 3)
            : paths.contains { isTouched($0.components[...], key) }
    }

    private func isModified(_ table: TableID, _ column: ColumnID, _ key: ObjectKey) -> Bool {
        changes.tables[table]?.modified[column]?.contains(key) == true
    }

    private func targets(_ property: Property, _ table: TableID, _ key: ObjectKey) -> [ObjectKey] {
        guard let value = try? now.value(property, of: key, in: now.schema.find(table: table)!)
        else { return [] }
        switch value {
        case .object(let reference): return [reference.key]
        case .list(let values):
            return values.compactMap {
                if case .object(let object) = $0 { object.key } else { nil }
            }
        default: return []
        }
    }

    private func isTouched(_ classSchema: ClassSchema, _ key: ObjectKey, hops: Int) -> Bool {
        classSchema.properties.contains { property in
            guard !property.isBacklinks else { return false }
            if isModified(classSchema.table, property.column, key) { return true }
            guard property.type == .object, hops > 0, let target = now.schema.target(of: property)
            else { return false }
            return targets(property, classSchema.table, key).contains {
                isTouched(target, $0, hops: hops - 1)
            }
        }
    }

    private func isTouched(
        _ components: ArraySlice<PropertyPath.Component>, _ key: ObjectKey
    ) -> Bool {
        guard let component = components.first else { return false }
        if let origin = component.origin {
            // An object that is new has all its linkers since the version before.
            let old =
                before.table(component.table).isPresent(key)
                ? before.table(origin.table).sources(of: key, through: origin.column) : []
            if old != now.table(origin.table).sources(of: key, through: origin.column) {
                return true
            }
        } else if isModified(component.table, component.property.column, key) {
            return true
        }
        return targets(component.property, component.table, key).contains {
            isTouched(components.dropFirst(), $0)
        }
    }
}

/// One change of something, in a write.
private enum RandomChange {
    static func make(in store: Store, using random: inout SplitMix) throws {
        func any(_ className: String) throws -> LiveObject? {
            let classSchema = try store.schema.require(className)
            let keys = QueryEvaluator.keys(of: Query(all: classSchema), in: store.view).array
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
        switch Int.random(in: 0..<18, using: &random) {
        case 0, 1:
            let values: [String: Value] = [
                "value": number, "text": .string(text), "link": try link("Target"),
                "second": try link("Target"),
            ]
            try store.create("Obj", .dictionary(values))
        case 2: try any("Obj").map(store.delete)
        case 3:
            try store.create(
                "Target", .dictionary(["value": number, "link": try link("Other")]))
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
}
