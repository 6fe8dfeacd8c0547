import ColumnStorage

/// The conditions and the order of a query that can be followed row by row: a whole class, or the
/// objects whose link leads to one object, filtered by predicates that look at one row at a time;
/// perhaps sorted, each value once, and limited.
struct RowRules {
    /// Keeps the first row of each combination of values.
    struct Distinct {
        let paths: [PropertyPath]
        /// The order of the rows that it sees.
        let order: [SortKey]
    }

    let table: TableID
    let predicates: [CompiledPredicate]
    let distincts: [Distinct]
    /// The final order; ties stand in the order of creation.
    let order: [SortKey]
    let limit: Int?
    /// What membership and order depend on.
    let dependencies: WatchGraph
    /// The query without order, distinct and limit.
    let members: Query
    /// Whether the members in the order of creation are the rows.
    var isPlain: Bool { order.isEmpty && distincts.isEmpty }

    private let link: (column: ColumnID, target: ObjectKey)?

    /// Nil if the query has to be evaluated again to find out what became of it.
    init?(_ query: Query, schema: Schema) {
        var paths: [PropertyPath] = []
        switch query.base {
        case .table:
            link = nil
        case .backlinks(let table, let column, let target):
            // A list may hold an object several times; then it has as many rows.
            guard let owner = schema.find(table: table), let property = owner.property(in: column),
                property.isSingle
            else { return nil }
            link = (column, target)
            paths.append(PropertyPath([.init(property, of: owner, in: schema)]))
        case .list:
            return nil
        }
        var predicates: [CompiledPredicate] = []
        var distincts: [Distinct] = []
        var order: [SortKey] = []
        var limit: Int?
        for step in query.plannedSteps {
            // What comes after a limit looks at few rows, in an order of its own.
            guard limit == nil else { return nil }
            switch step {
            case .filter(let predicate):
                guard predicate.isIncremental, distincts.isEmpty else { return nil }
                predicates.append(predicate)
            case .sort(let keys):
                // A later sort is the more significant; the earlier one orders its ties.
                order = keys + order
            case .distinct(let paths):
                distincts.append(Distinct(paths: paths, order: order))
            case .limit(let count):
                limit = count
            }
        }
        table = query.table
        self.predicates = predicates
        self.distincts = distincts
        self.order = order
        self.limit = limit
        paths += predicates.flatMap(\.dependencies) + order.flatMap(\.dependencies)
        paths += distincts.flatMap(\.paths)
        dependencies = WatchGraph(paths, of: table)
        members = predicates.reduce(Query(query.base, of: table)) { $0.adding(.filter($1)) }
    }

    /// Whether a row that exists is a member in a view; for any number of questions.
    func membership(in view: StoreView) -> (ObjectKey) -> Bool {
        let bound = predicates.map { $0.bound(to: view) }
        guard let link else { return { key in bound.allSatisfy { $0.matches(key) } } }
        let rows = view.table(table)
        return { key in
            rows.link(link.column, key) == link.target && bound.allSatisfy { $0.matches(key) }
        }
    }

    /// Ties stand in the order of creation, which is the order of the keys.
    func order(in view: StoreView) -> SortedKeys.Order { Self.order(order, in: view) }

    /// Ties stand in the order of creation.
    static func order(_ keys: [SortKey], in view: StoreView) -> SortedKeys.Order {
        guard !keys.isEmpty else { return { $0 < $1 } }
        let comparator = SortComparator(keys, in: view)
        return { first, second in comparator.order(first, second) < 0 }
    }

    /// What a step does to the members; `isMember` knows those before.
    func delta(along step: VersionStep, isMember: (ObjectKey) -> Bool) -> RowDelta {
        let changes = step.changes(of: table)
        let inserted = changes?.inserted ?? KeySet()
        let admits = membership(in: step.new)
        var delta = RowDelta()
        delta.left = changes?.deleted.filter(isMember) ?? []
        for key in dependencies.touchedRows(in: step) where !inserted.contains(key) {
            switch (isMember(key), admits(key)) {
            case (true, false): delta.left.append(key)
            case (false, true): delta.entered.append(key)
            case (true, true): delta.stayed.append(key)
            case (false, false): break
            }
        }
        delta.entered += inserted.filter(admits)
        return delta
    }
}
