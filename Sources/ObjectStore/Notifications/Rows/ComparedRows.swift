import ColumnStorage

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

    static let cost = "runs the query again after a commit that touches it"
    var cost: String { Self.cost }

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
        switch query.base {
        case .table:
            if let changes = step.changes(of: query.table),
                !changes.inserted.isEmpty || !changes.deleted.isEmpty
            {
                return true
            }
        case .list(let owners, let column, let owner):
            if step.isChanged(owners, column, owner) { return true }
        case .backlinks(let sources, let column, let target):
            let links = WatchGraph.Backlinks(table: sources, column: column)
            guard let table = query.owner(in: step.new.schema)?.table else { return true }
            if step.relinkedTargets(links, in: table).contains(target) { return true }
        }
        return !dependencies.touchedRows(in: step).isEmpty
    }
}
