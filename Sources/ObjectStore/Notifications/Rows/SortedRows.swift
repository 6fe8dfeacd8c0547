import ColumnStorage

/// The rows of a query that is sorted or distinct.
struct SortedRows: OrderedRows {
    private let rules: RowRules
    private var arranged: ArrangedRows

    init(_ rules: RowRules, in view: StoreView) throws {
        self.rules = rules
        let members = try QueryEvaluator.keys(of: rules.members, in: view)
        let reader = RowReader(view)
        let rows: [CodedKey]
        if rules.firstOrder.isEmpty || members.count == 0 {
            rows = try members.map(CodedOrder.byKey.coded)
        } else {
            rows = try QuerySorter(rules.firstOrder, table: rules.table, in: view).coded(members)
        }
        arranged = try ArrangedRows(rules, KeyBitmap(members), inOrder: rows, reader)
    }

    var count: Int { arranged.count }

    func key(at position: Int) -> ObjectKey { arranged.row(at: position) }

    mutating func advance(along step: VersionStep, modified: KeySet) throws -> CollectionChangeSet {
        let delta = try rules.delta(along: step, isMember: { arranged.isMember($0) })
        return try arranged.change(
            delta, modified: modified, before: RowReader(step.old), after: RowReader(step.new))
    }
}
