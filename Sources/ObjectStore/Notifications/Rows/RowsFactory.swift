import ColumnStorage

/// Creates the incremental results of queries.
enum RowsFactory {
    /// Returns the kind of rows that updates a query at the lowest cost.
    static func rows(of query: Query, in view: StoreView) throws -> any ObservedRows {
        if case .list(let table, let column, let owner) = query.base,
            isSequence(query, view.schema)
        {
            let keys = try view.table(table).linkedKeys(column, owner)
            return ListRows(keys, of: owner, in: table, column: column)
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

    /// Returns whether a query is a whole list or set without conditions; a map's nil values are not rows.
    private static func isSequence(_ query: Query, _ schema: Schema) -> Bool {
        guard case .list(let table, let column, _) = query.base, query.steps.isEmpty else {
            return false
        }
        return schema.find(table: table)?.property(in: column)?.collection != .map
    }

    private static func unsorted(_ rules: RowRules, _ view: StoreView) throws -> UnsortedRows {
        try UnsortedRows(rules, QueryEvaluator.keys(of: rules.members, in: view))
    }

    /// Returns a description of the cost of a commit that affects a query's observer.
    static func cost(of query: Query, schema: Schema) -> String {
        if isSequence(query, schema) { return ListRows.cost }
        guard let rules = RowRules(query, schema: schema) else { return EmptyRows().cost }
        let later = RowRules.laterStages(of: query).map(WindowedRows.costOfLaterStage)
        return ([firstCost(rules)] + later).joined(separator: "; ")
    }

    private static func firstCost(_ rules: RowRules) -> String {
        if let source = rules.sequence { return WindowedRows.cost(rules, source) }
        guard let limit = rules.limit, rules.distincts.isEmpty, !rules.isPlain else {
            return rules.isPlain ? UnsortedRows.cost : SortedRows.cost(rules)
        }
        return TopKRows.cost(limit)
    }
}
