import ColumnStorage

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
