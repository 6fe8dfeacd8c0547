import ColumnStorage

/// The conditions and the order of a query that can be followed row by row: a whole class, a list, or
/// the objects that link to one, filtered by predicates that look at one row at a time; perhaps sorted,
/// each value once, and limited.
struct RowRules {
    /// Keeps the first row of each combination of values.
    struct Distinct {
        let keys: [DistinctKey]
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

    /// Where the rows come from if an object may stand there several times; nil if a row is an object.
    let sequence: ObservedSequence.Source?

    private let link: (column: ColumnID, target: ObjectKey)?

    /// Nil if the query has to be evaluated again to find out what became of it.
    init?(_ query: Query, schema: Schema) {
        var paths: [PropertyPath] = []
        switch query.base {
        case .table:
            (link, sequence) = (nil, nil)
        case .backlinks(let table, let column, let target):
            guard let owner = schema.find(table: table), let property = owner.property(in: column),
                let targets = schema.target(of: property)?.table
            else { return nil }
            if property.isSingle {
                (link, sequence) = ((column, target), nil)
                paths.append(PropertyPath([.init(property, of: owner, in: schema)]))
            } else {
                let links = WatchGraph.Backlinks(table: table, column: column)
                (link, sequence) = (nil, .backlinks(links, target: target, targets))
            }
        case .list(let table, let column, let owner):
            // A map leaves out its nulls, so its positions are not those of the rows.
            guard let property = schema.find(table: table)?.property(in: column),
                property.collection != .map
            else { return nil }
            (link, sequence) = (nil, .list(table, column, owner: owner))
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
            case .distinct(let keys):
                distincts.append(Distinct(keys: keys, order: order))
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
        paths += distincts.flatMap(\.keys).flatMap(\.dependencies)
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

    /// The order in which the members are needed at first: that of the first step that keeps each value
    /// once, or of the rows.
    private var firstOrder: [SortKey] { distincts.first?.order ?? order }

    /// The members in the order in which ``ArrangedRows`` takes them.
    var membersInFirstOrder: Query {
        firstOrder.isEmpty ? members : members.adding(.sort(firstOrder))
    }

    /// What a step does to the members; `isMember` knows those before.
    func delta(along step: VersionStep, isMember: (ObjectKey) -> Bool) -> RowDelta {
        let changes = step.changes(of: table)
        let inserted = changes?.inserted ?? KeySet()
        let admits = membership(in: step.new)
        var delta = RowDelta()
        delta.left = changes?.deleted.filter(isMember) ?? []
        for key in dependencies.touchedRows(in: step) where !inserted.contains(key) {
            delta.add(key, was: isMember(key), is: admits(key))
        }
        delta.entered += inserted.filter(admits)
        return delta
    }
}
