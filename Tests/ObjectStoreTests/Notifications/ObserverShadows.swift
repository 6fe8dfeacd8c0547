import ColumnStorage
import Testing

@testable import ObjectStore

/// An observer, and its expected reports.
protocol Shadow: AnyObject {
    /// Whether its reports are delayed.
    var isDelayed: Bool { get }

    /// Compares the reports since the last call with the differences of the versions.
    func check(_ now: StoreView, _ store: Store) throws
}

private let paces: [ObserverPace?] = [
    nil, nil, nil, .debounce(.seconds(1)), .throttle(.seconds(2)),
]

/// An observer of a query of any kind.
final class QueryShadow: Shadow {
    private static let keyPaths = [
        "value", "text", "link", "link.value", "link.link.value", "targets", "targets.value",
        "targets.link.value", "linkings", "linkings.value", "link.origin", "link.origin.text",
        "link.holders.value", "*", "link.*", "*.value",
    ]

    private let description: String
    private let query: Query
    private let paths: [PropertyPath]
    private let isLimited: Bool
    /// Whether the query starts from a list, set or map.
    private let isList: Bool
    /// The list or set that the query shows element by element; setting an element modifies the element.
    private let sequence: (owner: ObjectReference, column: ColumnID)?
    private let pace: ObserverPace?
    private var keys: [ObjectKey] = []
    private var seen: StoreView
    private var received: [CollectionChange] = []
    private var calls = 0
    private var isOver = false
    private var token: NotificationToken?

    var isDelayed: Bool { pace != nil }

    init(_ world: ObservedWorld, using random: inout SplitMix) throws {
        let store = world.store
        let schema = store.schema
        let obj = try schema.require("Obj")
        let created = try RandomRows(world, using: &random)
        let query = created.query
        isLimited = created.isLimited
        self.query = query
        isList = if case .list = query.base { true } else { false }
        sequence = Self.sequence(of: query, schema)
        let texts = (0..<Int.random(in: 0...2, using: &random)).map { _ in
            Self.keyPaths.randomElement(using: &random)!
        }
        pace = paces.randomElement(using: &random)!
        self.description =
            created.description
            + " \(query.steps.count) steps, \(texts), \(String(describing: pace))"
        // The names that the wildcards match, written explicitly.
        paths = try texts.flatMap { text -> [String] in
            switch text {
            case "*": obj.properties.map(\.name)
            case "link.*": try schema.require("Target").properties.map { "link." + $0.name }
            case "*.value": ["link", "second", "targets", "linkings"].map { $0 + ".value" }
            default: [text]
            }
        }.map { try PropertyPath.parse($0, class: obj, schema: schema) }
        seen = try frozen(store)
        token = try store.observe(query, keyPaths: texts, pace: pace) { [unowned self] change in
            calls += 1
            if case .initial = change.kind {
                #expect(calls == 1)
                keys = try QueryEvaluator.keys(of: query, in: store.view).array
                seen = try frozen(store)
                isOver = !change.isCollectionValid
            } else {
                received.append(change)
                if !change.isCollectionValid {
                    let keys = try QueryEvaluator.keys(of: query, in: store.view).array
                    #expect(keys.isEmpty, "\(description)")
                }
            }
        }
    }

    func check(_ now: StoreView, _ store: Store) throws {
        #expect(calls > 0)
        guard !isOver else {
            return #expect(received.isEmpty, "\(description) received a report after its end")
        }
        defer {
            seen = now
            received = []
        }
        if let last = received.last, !last.isCollectionValid {
            isOver = true
            return
        }
        let new = try QueryEvaluator.keys(of: query, in: now).array
        // A throttled observer can receive two reports, at the beginning and at the end of its pause.
        guard received.count < 2 else {
            keys = received.reduce(keys) { keys(after: $1, $0) }
            return #expect(keys == new, "\(description)")
        }
        let changes = try #require(
            try store.view.snapshot.changes(from: seen.version, to: now.version))
        let oracle = Oracle(before: seen, now: now, changes: changes, paths: paths)
        let obj = try now.schema.require("Obj")
        let both = Set(keys).intersection(new)
        let touched = try both.filter { try oracle.isTouched(obj, $0) }
        let expected = SequenceDifference.changes(from: keys, to: new, isTouched: touched.contains)
        guard let received = received.first else {
            return #expect(expected.isEmpty, "\(description) received no report")
        }
        let replaced = sequence == nil ? [:] : Self.replaced(by: received, keys, new)
        #expect(keys(after: received, keys) == new, "\(description)")
        #expect(!received.positions.isEmpty)
        let moved = Set(received.positions.deletedKeys).intersection(
            received.positions.insertedKeys)
        let hasTwins = Set(keys).count < keys.count || Set(new).count < new.count
        if hasTwins {
            // If an object occurs several times, any of its indexes can be the removed one.
        } else if isLimited {
            // The smallest set of changed rows overall is not always the smallest for the first rows.
            #expect(received.deletions.count >= expected.deletions.count, "\(description)")
        } else if sequence != nil {
            // A replaced element stays, while one object is inserted and another is removed.
            #expect(received.deletions.count + replaced.count >= expected.deletions.count)
            #expect(received.insertions.count + replaced.count >= expected.insertions.count)
        } else if isList {
            // An object that was removed from a list and inserted again between two calls is a new element, even at the
            // same index.
            let more = received.deletions.count - expected.deletions.count
            #expect(more >= 0 && more <= moved.count, "\(description)")
            #expect(received.insertions.count == expected.insertions.count + more, "\(description)")
        } else {
            #expect(received.deletions.count == expected.deletions.count, "\(description)")
            #expect(received.insertions.count == expected.insertions.count, "\(description)")
        }
        #expect(received.deletions.map { keys[$0] } == received.positions.deletedKeys)
        #expect(received.insertions.map { new[$0] } == received.positions.insertedKeys)
        let modified = Set(received.positions.modifiedKeys)
        if let sequence,
            changes.tables[sequence.owner.table]?.modified[sequence.column]?
                .contains(sequence.owner.key) == true
        {
            // Setting an element to its current object also modifies it.
            let named = modified.union(received.positions.insertedKeys)
            #expect(touched.isSubset(of: named), "\(description)")
        } else {
            #expect(modified.union(moved) == touched.union(moved), "\(description)")
        }
        #expect(
            received.modifications.map { replaced[$0] ?? keys[$0] }
                == received.positions.modifiedKeys)
        #expect(received.modificationsNew.map { new[$0] } == received.positions.modifiedKeys)
        #expect(received.modificationsNew == received.modificationsNew.sorted())
        keys = new
    }

    /// The list or set of a query without steps; nil for other queries, and for maps, whose rows do not contain nil.
    private static func sequence(
        of query: Query, _ schema: Schema
    ) -> (owner: ObjectReference, column: ColumnID)? {
        guard query.steps.isEmpty, case .list(let table, let column, let owner) = query.base,
            schema.find(table: table)?.property(in: column)?.collection != .map
        else { return nil }
        return (ObjectReference(table: table, key: owner), column)
    }

    /// The new objects of elements that stayed, by the old positions of the elements.
    private static func replaced(
        by change: CollectionChange, _ old: [ObjectKey], _ new: [ObjectKey]
    ) -> [Int: ObjectKey] {
        var replaced: [Int: ObjectKey] = [:]
        for (before, after) in zip(change.modifications, change.modificationsNew)
        where old[before] != new[after] {
            replaced[before] = new[after]
        }
        return replaced
    }

    /// The keys after a change.
    ///
    /// Only an element of a list can stay and become another object.
    private func keys(after change: CollectionChange, _ keys: [ObjectKey]) -> [ObjectKey] {
        var keys = keys
        for position in change.deletions.reversed() { keys.remove(at: position) }
        for (position, key) in zip(change.insertions, change.positions.insertedKeys) {
            keys.insert(key, at: position)
        }
        guard sequence != nil else { return keys }
        for (position, key) in zip(change.modificationsNew, change.positions.modifiedKeys) {
            keys[position] = key
        }
        return keys
    }
}

/// An observer of a list, set or map, of objects or of plain values.
final class ListShadow: Shadow {
    private let list: any LiveCollection
    private let read: () throws -> [Value]
    private let pace: ObserverPace?
    private var values: [Value] = []
    private var seen: StoreView
    private var received: [CollectionChange] = []
    private var isOver = false
    private var token: NotificationToken?

    var isDelayed: Bool { pace != nil }

    init?(_ world: ObservedWorld, using random: inout SplitMix) throws {
        let store = world.store
        let name = ["Holder", "Bag"].randomElement(using: &random)!
        let classSchema = try store.schema.require(name)
        let keys = try QueryEvaluator.keys(of: Query(all: classSchema), in: store.view).array
        guard let key = keys.randomElement(using: &random) else { return nil }
        let owner = LiveObject(.store(store), classSchema, key)
        let isOfObjects = Bool.random(using: &random)
        if name == "Holder" {
            let observed = try owner.list(isOfObjects ? "targets" : "ints")
            (list, read) = (observed, observed.values)
        } else if Bool.random(using: &random) {
            let observed = try owner.set(isOfObjects ? "links" : "ints")
            (list, read) = (observed, observed.values)
        } else {
            let observed = try owner.map(isOfObjects ? "things" : "names")
            (list, read) = (observed, observed.values)
        }
        pace = paces.randomElement(using: &random)!
        seen = try frozen(store)
        token = try list.observe(pace: pace) { [unowned self] change in
            if case .initial = change.kind {
                if change.isCollectionValid { values = try read() } else { isOver = true }
                seen = try frozen(store)
            } else {
                received.append(change)
                if change.isCollectionValid {
                    try apply(change, read())
                } else {
                    #expect(!list.isValid)
                }
            }
        }
    }

    /// Applies a change to the known state; everything that the change does not contain must be unchanged.
    private func apply(_ change: CollectionChange, _ new: [Value]) throws {
        for position in change.deletions.reversed() { values.remove(at: position) }
        for position in change.insertions { values.insert(new[position], at: position) }
        for position in change.modificationsNew { values[position] = new[position] }
        #expect(values == new)
        #expect(change.modifications == change.modifications.sorted())
        #expect(change.modificationsNew == change.modificationsNew.sorted())
        if change.isOfValues {
            #expect(try change.insertedValues == change.insertions.map { new[$0] })
        } else {
            #expect(change.insertedObjects.map(Value.object) == change.insertions.map { new[$0] })
            #expect(
                change.modifiedObjects.map(Value.object) == change.modificationsNew.map { new[$0] })
        }
    }

    func check(_ now: StoreView, _ store: Store) throws {
        guard !isOver else { return #expect(received.isEmpty) }
        defer {
            seen = now
            received = []
        }
        if let last = received.last, !last.isCollectionValid {
            isOver = true
            return
        }
        let new = try read()
        #expect(values == new, "\(list.property.name) received no report")
        guard received.count < 2, list.property.type == .object else { return }
        let changes = try #require(
            try store.view.snapshot.changes(from: seen.version, to: now.version))
        let oracle = Oracle(before: seen, now: now, changes: changes, paths: [])
        let target = try now.schema.require("Target")
        let named = Set(received.first?.modificationsNew ?? []).union(
            received.first?.insertions ?? [])
        for (position, value) in new.enumerated() {
            guard case .object(let object) = value, try seen.isPresent(object) else { continue }
            if try oracle.isTouched(target, object.key) {
                #expect(named.contains(position), "a modified element was not reported")
            }
        }
    }
}

/// An observer of one object.
final class ObjectShadow: Shadow {
    private static let keyPaths = [
        "value", "text", "link", "link.value", "link.link.value", "targets", "targets.value",
        "linkings", "linkings.value", "link.origin.text",
    ]

    private let object: LiveObject
    private let paths: [PropertyPath]
    private let pace: ObserverPace?
    private var seen: StoreView
    private var received: [ObjectChange] = []
    private var isOver = false
    private var token: NotificationToken?

    var isDelayed: Bool { pace != nil }

    init?(_ world: ObservedWorld, using random: inout SplitMix) throws {
        let store = world.store
        let obj = try store.schema.require("Obj")
        let keys = try QueryEvaluator.keys(of: Query(all: obj), in: store.view).array
        guard let key = keys.randomElement(using: &random) else { return nil }
        object = LiveObject(.store(store), obj, key)
        let texts = (0..<Int.random(in: 0...2, using: &random)).map { _ in
            Self.keyPaths.randomElement(using: &random)!
        }
        paths = try texts.map { try PropertyPath.parse($0, class: obj, schema: store.schema) }
        pace = paces.randomElement(using: &random)!
        seen = try frozen(store)
        token = try object.observe(keyPaths: texts, pace: pace) { [unowned self] in
            received.append($0)
        }
    }

    func check(_ now: StoreView, _ store: Store) throws {
        guard !isOver else { return #expect(received.isEmpty) }
        defer {
            seen = now
            received = []
        }
        guard try now.isPresent(object.reference) else {
            isOver = true
            if case .deleted? = received.last?.kind { return }
            Issue.record("the deletion was not reported")
            return
        }
        // The observer received the deletion before it was undone, so the observation has ended.
        if case .deleted? = received.last?.kind {
            isOver = true
            return
        }
        let changes = try #require(
            try store.view.snapshot.changes(from: seen.version, to: now.version))
        let oracle = Oracle(before: seen, now: now, changes: changes, paths: paths)
        let modified = changes.tables[object.classSchema.table]?.modified ?? [:]
        var expected: Set<String> = []
        if paths.isEmpty {
            for property in object.classSchema.properties where !property.isBacklinks {
                if modified[property.column]?.contains(object.key) == true {
                    expected.insert(property.name)
                }
            }
        } else {
            for path in paths where try oracle.isTouched(path.components[...], object.key) {
                expected.insert(path.components[0].property.name)
            }
        }
        let names = received.flatMap(\.properties).map(\.name)
        guard received.count < 2 else {
            // Two calls have reported a property that changed and changed back.
            return #expect(expected.isSubset(of: names), "\(paths.map(\.description))")
        }
        #expect(Set(names) == expected, "\(paths.map(\.description))")
        #expect(names.count == expected.count)
    }
}
