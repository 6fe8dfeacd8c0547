import ColumnStorage

/// The rows of an observed query as its observer last saw them, and how they move with a step.
protocol ObservedRows {
    /// How many rows there are.
    var count: Int { get }

    /// Moves along a step. `modified` are the rows whose changes the observer wants to hear of.
    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges
}

/// The conditions and the order of a query that can be followed row by row: a whole class,
/// filtered by predicates that look at one row at a time, perhaps sorted by to-one paths.
struct RowRules {
    let table: TableID
    let predicates: [CompiledPredicate]
    let sortKeys: [SortKey]
    /// What membership and order depend on.
    let dependencies: WatchGraph

    /// Nil if the query has to be evaluated again to find out what became of it.
    init?(_ query: Query) {
        guard case .table(let table) = query.base else { return nil }
        var predicates: [CompiledPredicate] = []
        var sortKeys: [SortKey] = []
        for step in query.steps {
            switch step {
            case .filter(let predicate) where predicate.isIncremental:
                predicates.append(predicate)
            case .sort(let keys):
                // A later sort is the more significant; the earlier one orders its ties.
                sortKeys = keys + sortKeys
            default:
                return nil
            }
        }
        self.table = table
        self.predicates = predicates
        self.sortKeys = sortKeys
        dependencies = WatchGraph(
            predicates.flatMap(\.dependencies) + sortKeys.flatMap(\.dependencies), of: table)
    }

    /// Whether a row that exists is a member in a view; for any number of questions.
    func membership(in view: StoreView) -> (ObjectKey) -> Bool {
        let bound = predicates.map { $0.bound(to: view) }
        return { key in bound.allSatisfy { $0.matches(key) } }
    }

    /// Ties stand in the order of creation, which is the order of the keys.
    func order(in view: StoreView) -> SortedKeys.Order {
        let comparator = SortComparator(sortKeys, in: view)
        return { first, second in comparator.order(first, second) < 0 }
    }
}

/// The rows of an unsorted query, in the order of their keys.
struct UnsortedRows: ObservedRows {
    private let rules: RowRules
    private var keys: KeyBitmap

    /// Takes the keys of the query, which ascend.
    init(_ rules: RowRules, _ keys: ResultKeys) {
        self.rules = rules
        self.keys = KeyBitmap(keys)
    }

    var count: Int { keys.count }

    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges {
        let changes = step.changes(of: rules.table)
        var result = PositionChanges()
        var left = changes?.deleted.filter(keys.contains) ?? []
        var entered: [ObjectKey] = []
        let inserted = changes?.inserted ?? KeySet()
        let admits = rules.membership(in: step.new)
        for key in rules.dependencies.touchedRows(in: step) where !inserted.contains(key) {
            switch (keys.contains(key), admits(key)) {
            case (true, false): left.append(key)
            case (false, true): entered.append(key)
            default: break
            }
        }
        entered += inserted.filter(admits)

        left.sort()
        result.deletedKeys = left
        result.deletions = left.map(keys.rank)
        let gone = KeySet(unordered: left)
        for key in modified where keys.contains(key) && !gone.contains(key) {
            result.modifiedKeys.append(key)
            result.modifications.append(keys.rank(key))
        }
        for key in left { keys.remove(key) }
        entered.sort()
        for key in entered { keys.insert(key) }
        result.insertedKeys = entered
        result.insertions = entered.map(keys.rank)
        result.modificationsNew = result.modifiedKeys.map(keys.rank)
        return result
    }
}

/// The rows of a sorted query.
struct SortedRows: ObservedRows {
    private let rules: RowRules
    private var keys: SortedKeys

    init(_ rules: RowRules, inOrder keys: [ObjectKey]) {
        self.rules = rules
        self.keys = SortedKeys(inOrder: keys)
    }

    var count: Int { keys.count }

    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges {
        let changes = step.changes(of: rules.table)
        let inserted = changes?.inserted ?? KeySet()
        let placed = rules.dependencies.touchedRows(in: step).subtracting(inserted)
        let before = rules.order(in: step.old)
        let after = rules.order(in: step.new)
        let admits = rules.membership(in: step.new)
        let oldCount = keys.count

        var positions = TouchedPositions()
        var moving: [ObjectKey] = []
        for key in changes?.deleted ?? KeySet() {
            if let old = keys.position(of: key, by: before) { positions.leaving.append((key, old)) }
        }
        for key in placed {
            let old = keys.position(of: key, by: before)
            let isMember = admits(key)
            if let old, isMember {
                positions.staying.append(
                    .init(key: key, old: old, new: 0, isModified: modified.contains(key)))
                moving.append(key)
            } else if let old {
                positions.leaving.append((key, old))
            } else if isMember {
                moving.append(key)
            }
        }
        let membersBefore = KeySet(unordered: positions.staying.map(\.key))
        let arrivals =
            moving.filter { !membersBefore.contains($0) }
            + inserted.filter(admits)
        // Rows that only changed elsewhere keep their place among the others.
        for key in modified where !placed.contains(key) && !inserted.contains(key) {
            guard let old = keys.position(of: key, by: before) else { continue }
            positions.staying.append(.init(key: key, old: old, new: 0, isModified: true))
        }

        let taken =
            positions.leaving.map(\.old)
            + positions.staying.filter { placed.contains($0.key) }.map(\.old)
        for position in taken.sorted(by: >) { keys.remove(at: position) }
        for key in membersBefore { keys.insert(key, by: after) }
        for key in arrivals { keys.insert(key, by: after) }

        for index in positions.staying.indices {
            // The rank of a member is known; a missing one would be an order that contradicts itself.
            positions.staying[index].new =
                keys.position(of: positions.staying[index].key, by: after)
                ?? positions.staying[index].old
        }
        positions.entering = arrivals.compactMap { key in
            keys.position(of: key, by: after).map { (key, $0) }
        }
        return positions.changes(oldCount: oldCount, keyAtNew: keys.key)
    }
}

/// The rows of a query that cannot be followed row by row: evaluated again when something that it
/// depends on was touched, and compared.
struct ComparedRows: ObservedRows {
    private let query: Query
    private let dependencies: WatchGraph
    private var keys: [ObjectKey]

    init(_ query: Query, in view: StoreView) {
        self.query = query
        dependencies = WatchGraph(query.dependencies, of: query.table)
        keys = QueryEvaluator.keys(of: query, in: view).array
    }

    var count: Int { keys.count }

    mutating func advance(along step: VersionStep, modified: KeySet) -> PositionChanges {
        let before = keys
        if isAffected(by: step) {
            keys = QueryEvaluator.keys(of: query, in: step.new).array
        } else if modified.isEmpty {
            return PositionChanges()
        }
        return SequenceDifference.changes(from: before, to: keys, isTouched: modified.contains)
    }

    /// Whether rows may have come, gone or changed places.
    private func isAffected(by step: VersionStep) -> Bool {
        if let changes = step.changes(of: query.table),
            !changes.inserted.isEmpty || !changes.deleted.isEmpty
        {
            return true
        }
        switch query.base {
        case .table: break
        case .list(let owners, let column, let owner):
            if step.changes(of: owners)?.modified[column]?.contains(owner) == true { return true }
        case .backlinks(let sources, let column, _):
            if step.changes(of: sources)?.modified[column]?.isEmpty == false { return true }
        }
        return !dependencies.touchedRows(in: step).isEmpty
    }
}
