import ColumnStorage

/// The conditions and the order of a query, up to its first limit or from one limit to the next.
///
/// The rows come from a whole class, a collection, backlinks or the rows before the limit. Predicates filter them row
/// by row; optionally, the rows are then sorted, made distinct and limited.
struct RowRules {
    /// Keeps the first row of each combination of values.
    struct Distinct {
        let keys: [DistinctKey]
        /// The order of the rows before this step.
        let order: [SortKey]
    }

    let table: TableID
    let predicates: [CompiledPredicate]
    let distincts: [Distinct]
    /// The final order; rows with equal values are in the order of creation.
    let order: [SortKey]
    let limit: Int?
    /// The dependencies of membership and order.
    let dependencies: WatchGraph
    /// The query without order, `distinct` and limit; after a limit, only the operations that follow the limit.
    let members: Query
    /// Whether the rows are the members in the order of creation.
    var isPlain: Bool { order.isEmpty && distincts.isEmpty }

    /// The source of the rows if an object may occur several times; nil if the rows are objects.
    let sequence: ObservedSequence.Source?

    private let link: (column: ColumnID, target: ObjectKey)?

    /// Creates the rules of a query up to its first limit; nil if its base does not exist.
    init?(_ query: Query, schema: Schema) {
        let link: (column: ColumnID, target: ObjectKey)?
        let sequence: ObservedSequence.Source?
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
            guard let kind = schema.find(table: table)?.property(in: column)?.collection
            else { return nil }
            (link, sequence) = (
                nil, .list(.init(table: table, column: column, owner: owner, kind: kind))
            )
        }
        self.init(
            query, steps: query.plannedSteps.stages[0], link: link, sequence: sequence, paths: paths
        )
    }

    /// Returns the rules of a query's later stages: the steps after its first limit, or after `distinct` and from the
    /// next filter on.
    static func laterStages(of query: Query) -> [RowRules] {
        query.plannedSteps.stages.dropFirst().map {
            RowRules(query, steps: $0, sequence: .rows)
        }
    }

    private init(
        _ query: Query, steps: ArraySlice<Query.Step>,
        link: (column: ColumnID, target: ObjectKey)? = nil, sequence: ObservedSequence.Source?,
        paths: [PropertyPath] = []
    ) {
        var predicates: [CompiledPredicate] = []
        var distincts: [Distinct] = []
        var order: [SortKey] = []
        var limit: Int?
        for step in steps {
            switch step {
            case .filter(let predicate):
                predicates.append(predicate)
            case .sort(let keys):
                // A later sort takes precedence; the earlier one orders rows with equal values.
                order = keys + order
            case .distinct(let keys):
                distincts.append(Distinct(keys: keys, order: order))
            case .limit(let count):
                limit = count
            }
        }
        table = query.table
        self.link = link
        self.sequence = sequence
        self.predicates = predicates
        self.distincts = distincts
        self.order = order
        self.limit = limit
        let conditions = predicates.flatMap(\.dependencies) + order.flatMap(\.dependencies)
        let values = distincts.flatMap(\.keys).flatMap(\.dependencies)
        dependencies = WatchGraph(paths + conditions + values, of: table)
        members = predicates.reduce(Query(query.base, of: table)) { $0.adding(.filter($1)) }
    }

    /// Returns a function that decides whether an existing row is a member in a view.
    ///
    /// The function can be called any number of times.
    func membership(in view: StoreView) throws -> (ObjectKey) throws -> Bool {
        let bound = try predicates.map { try $0.bound(to: view) }
        guard let link else { return { key in try bound.allSatisfy { try $0.matches(key) } } }
        let rows = try view.table(table)
        return { key in
            try rows.link(link.column, key) == link.target
                && bound.allSatisfy { try $0.matches(key) }
        }
    }

    /// Whether the membership and the position of an object in a query depend only on its own plain values and those of
    /// the objects beside it.
    func isLocal(in query: Query) -> Bool {
        guard case .table = query.base, limit == nil, distincts.isEmpty,
            query.plannedSteps.stages.count == 1
        else { return false }
        let isPlain = query.dependencies.allSatisfy { path in
            path.components.count == 1 && path.components[0].origin == nil
                && path.components[0].property.type != .object
                && path.components[0].property.type != .mixed
        }
        return isPlain && order.allSatisfy(\.searches.isEmpty)
    }

    /// The first order that is needed: that of the first `distinct` step, or the final order.
    var firstOrder: [SortKey] { distincts.first?.order ?? order }

    /// The members in the order in which ``ArrangedRows`` needs them.
    var membersInFirstOrder: Query {
        firstOrder.isEmpty ? members : members.adding(.sort(firstOrder))
    }

    /// Returns the effect of a step on the members; `isMember` decides membership before the step.
    func delta(along step: VersionStep, isMember: (ObjectKey) throws -> Bool) throws -> RowDelta {
        let changes = step.changes(of: table)
        let inserted = changes?.inserted ?? KeySet()
        let admits = try membership(in: step.new)
        var delta = RowDelta()
        delta.left = try changes?.deleted.filter(isMember) ?? []
        for key in try dependencies.touchedRows(in: step) where !inserted.contains(key) {
            try delta.add(key, was: isMember(key), is: admits(key))
        }
        delta.entered += try inserted.filter(admits)
        return delta
    }
}

extension [Query.Step] {
    /// The steps up to each limit, or up to a filter after `distinct`; at least one stage.
    fileprivate var stages: [ArraySlice<Query.Step>] {
        var stages: [ArraySlice<Query.Step>] = []
        var start = startIndex
        for (index, step) in enumerated() {
            if case .filter = step, index > start {
                stages.append(self[start..<index])
                start = index
            } else if case .limit = step {
                stages.append(self[start...index])
                start = index + 1
            }
        }
        if start < endIndex || stages.isEmpty { stages.append(self[start...]) }
        return stages
    }
}

/// Reads the rows of an observed query in one version: their values, and the order of rows with equal values.
struct RowReader {
    private let view: StoreView
    /// The sequence whose elements are the rows; nil if the rows are objects.
    private let sequence: ObservedSequence?
    private let labelsBefore: [ObjectKey: Int64]

    /// Creates a reader of a class's objects.
    ///
    /// Objects with equal values have the order of their creation, which is the order of their keys.
    init(_ view: StoreView) {
        self.view = view
        sequence = nil
        labelsBefore = [:]
    }

    /// Creates a reader of elements; elements with equal values keep the order of their sequence.
    init(_ view: StoreView, _ sequence: ObservedSequence, labelsBefore: [ObjectKey: Int64] = [:]) {
        self.view = view
        self.sequence = sequence
        self.labelsBefore = labelsBefore
    }

    /// Returns a total order by some sort keys.
    func order(_ keys: [SortKey]) throws -> CodedOrder {
        let ties = sequence?.order(labelsBefore: labelsBefore) ?? .byKey
        guard !keys.isEmpty else { return ties }
        let comparator = try SortComparator(keys, in: view)
        func code(_ row: ObjectKey) throws -> UInt64 {
            try comparator.code(of: sequence?.object(row) ?? row)
        }
        if keys.count == 1, keys[0].isExactlyCoded {
            return CodedOrder(code: code, precedesAmongEqual: ties.precedes)
        }
        return CodedOrder(code: code) { first, second in
            let order = try comparator.orderByValues(
                sequence?.object(first) ?? first, sequence?.object(second) ?? second)
            return try order == 0 ? ties.precedes(first, second) : order < 0
        }
    }

    /// Returns a function that reads the values by which `distinct` compares a row.
    func values(_ keys: [DistinctKey]) throws -> (ObjectKey) throws -> [Scalar] {
        let readers = try keys.map { try $0.reader(in: view) }
        guard let sequence else { return { key in try readers.map { try $0(key) } } }
        return { number in
            let key = sequence.object(number)
            return try readers.map { try $0(key) }
        }
    }
}

/// Creates the incremental results of queries.
enum RowsFactory {
    /// Returns the kind of rows that updates a query at the lowest cost.
    static func rows(of query: Query, in view: StoreView) throws -> any ObservedRows {
        if let list = wholeList(query, view.schema), let owner = query.owner(in: view.schema) {
            return try ElementRows(owner, list, in: view)
        }
        guard let rules = RowRules(query, schema: view.schema) else { return EmptyRows() }
        var rows = try first(rules, query, in: view)
        for later in RowRules.laterStages(of: query) {
            let staged = try WindowedRows(later, after: rows, in: view)
            rows = later.limit.map { LimitedRows(staged, $0) } ?? staged
        }
        return rows
    }

    /// Returns the rows of the first stage.
    private static func first(
        _ rules: RowRules, _ query: Query, in view: StoreView
    ) throws -> any OrderedRows {
        if let source = rules.sequence {
            let rows = try WindowedRows(rules, source, query, in: view)
            return rules.limit.map { LimitedRows(rows, $0) } ?? rows
        }
        guard let limit = rules.limit else {
            return try rules.isPlain ? unsorted(rules, view) : SortedRows(rules, in: view)
        }
        if rules.isPlain { return try LimitedRows(unsorted(rules, view), limit) }
        return try rules.distincts.isEmpty
            ? TopKRows(rules, limit, in: view) : LimitedRows(SortedRows(rules, in: view), limit)
    }

    /// Returns the list or set of which a query is the whole; nil for other queries, and for a map, whose nil values
    /// are not rows.
    private static func wholeList(_ query: Query, _ schema: Schema) -> Property? {
        guard case .list(let table, let column, _) = query.base, query.steps.isEmpty else {
            return nil
        }
        let property = schema.find(table: table)?.property(in: column)
        return property?.collection == .map ? nil : property
    }

    private static func unsorted(_ rules: RowRules, _ view: StoreView) throws -> UnsortedRows {
        try UnsortedRows(rules, QueryEvaluator.keys(of: rules.members, in: view))
    }

    /// Returns a description of the cost of a commit that affects a query's observer.
    static func cost(of query: Query, schema: Schema) -> String {
        if wholeList(query, schema) != nil {
            return "follows the edits of the list, and reads the objects that a commit changes"
        }
        guard let rules = RowRules(query, schema: schema) else { return "has no rows to follow" }
        let later = RowRules.laterStages(of: query).map { "then " + cost(of: $0) }
        return ([costOfFirst(rules)] + later).joined(separator: "; ")
    }

    private static func costOfFirst(_ rules: RowRules) -> String {
        if case .list(let list)? = rules.sequence {
            let name = list.kind == .map ? "map" : "list"
            return
                "follows the edits of the \(name), \(rules.isPlain ? "and " : "")\(cost(of: rules))"
        }
        guard rules.sequence == nil, let limit = rules.limit, rules.distincts.isEmpty,
            !rules.isPlain
        else { return cost(of: rules) }
        return "reads only objects that a commit changes; runs the query again when no more of the "
            + "\(TopKRows.reserve(limit)) rows after the limit are left"
    }

    private static func cost(of rules: RowRules) -> String {
        let cost = "reads only objects that a commit changes"
        if rules.isPlain { return cost }
        return cost
            + (rules.distincts.isEmpty
                ? ", and searches for their positions" : ", and the next ones with the same values")
    }
}
