import ColumnStorage

/// A node that records when the objects of a query, their order or some of their values change.
final class LiveRows: LiveNode {
    private var rows: ValuedRows?
    private var query: Query
    private let path: String?
    /// The rows and columns that the values depend on; nil without a path.
    private var values: WatchGraph?

    /// Creates a node; `path` names the values to watch; without a path, only the objects and their order are watched.
    init(_ query: Query, path: String?, dispatcher: NotificationDispatcher) {
        self.query = query
        self.path = path
        super.init(dispatcher: dispatcher)
    }

    override var subject: String { "the rows of a query" }

    override var interests: ObserverInterests {
        var interests = ObserverInterests()
        guard let schema = dispatcher?.store.schema else { return interests }
        interests.add(query, nil, schema: schema)
        if let values { interests.add(values) }
        return interests
    }

    override func release() { rows = nil }

    override func start(in view: StoreView) throws {
        try watchValues(view.schema)
        rows = try ValuedRows(query, in: view)
    }

    private func watchValues(_ schema: Schema) throws {
        guard let path, let elements = schema.find(table: query.table) else { return }
        let compiled = try ValuePath(path, class: elements, schema: schema)
        values = WatchGraph(compiled.dependencies, of: query.table)
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if try step.removes(query.table, owner: query.owner(in: step.old.schema)) {
            isFinished = true
            noteChange(in: .max)
            return nil
        }
        guard var rows else { return nil }
        self.rows = nil  // makes `rows` the only copy, which is then changed in place
        if step.changes.schemaChanged {
            try rows.follow(step)
            query = rows.query
            try watchValues(step.new.schema)
        }
        let change = try rows.advance(
            along: step, touched: values?.touchedRows(in: step) ?? KeySet())
        if !change.isEmpty { noteChange(in: step.new.version) }
        self.rows = rows
        return nil
    }
}
