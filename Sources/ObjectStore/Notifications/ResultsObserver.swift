import ColumnStorage

/// Follows the rows of a query.
///
/// The rows are kept with their positions; a step costs the rows that it touches times the
/// logarithm of their number wherever the query allows it.
final class ResultsObserver: Observer {
    typealias Handler = (CollectionChange) throws -> Void

    private let query: Query
    private let texts: [String]
    private let table: TableID
    private let owner: ObjectReference?
    private var filter: KeyPathFilter
    private var rows: (any ObservedRows)?
    private var handler: Handler?
    private let className: String

    /// Throws `invalid_query` for a key path that the class does not have.
    init(
        _ query: Query, keyPaths: [String], name: String, pump: NotificationPump, schema: Schema,
        handler: @escaping Handler
    ) throws {
        guard let elements = schema.find(table: query.table) else {
            throw StoreError(.invalidArgument, "the class of the observed collection is gone")
        }
        filter = try KeyPathFilter(keyPaths, class: elements, schema: schema)
        self.query = query
        table = query.table
        owner = query.owner(in: schema)
        self.handler = handler
        texts = keyPaths
        className = elements.name
        super.init(name: name, pump: pump)
    }

    override var subject: String { "a collection of '\(className)'" }

    override func release() {
        handler = nil
        rows = nil
    }

    override func begin(in view: StoreView) throws -> Call? {
        guard let handler else { return nil }
        let isValid = owner.map(view.isPresent) ?? true
        let change = CollectionChange(.initial, isCollectionValid: isValid, table: table)
        if isValid {
            rows = Self.rows(of: query, in: view)
            return { try handler(change) }
        }
        isFinished = true
        return { try handler(change) }
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if step.changes.schemaChanged {
            if step.new.schema.find(table: table) == nil { return lastCall(step) }
            try follow(step.new.schema)
        }
        if let owner,
            step.changes(of: owner.table)?.deleted.contains(owner.key) == true
        {
            return lastCall(step)
        }
        guard var rows else { return nil }
        self.rows = nil  // so that the copy is the only one and is changed in place
        defer { if isActive { self.rows = rows } }
        let positions = rows.advance(along: step, modified: filter.touchedRows(in: step))
        guard !positions.isEmpty, let handler else { return nil }
        let change = CollectionChange(.update, positions: positions, table: table, step: step)
        explain(positions, step)
        return { try handler(change) }
    }

    override func failed(_ error: StoreError) -> Call? {
        guard let handler else { return nil }
        let change = CollectionChange(.error(error), table: table)
        isFinished = true
        return { try handler(change) }
    }

    private func follow(_ schema: Schema) throws {
        guard let elements = schema.find(table: table) else {
            throw StoreError(
                .unknownClass, "the class '\(className)', which is observed, was removed")
        }
        try query.check(in: schema)
        filter = try KeyPathFilter(texts, class: elements, schema: schema)
    }

    /// The owner or the class is gone: every row is, and the collection with it.
    private func lastCall(_ step: VersionStep) -> Call? {
        guard let handler else { return nil }
        let keys = QueryEvaluator.keys(of: query, in: step.old).array
        var positions = PositionChanges()
        positions.deletions = Array(keys.indices)
        positions.deletedKeys = keys
        let change = CollectionChange(
            .update, isCollectionValid: false, positions: positions, table: table, step: step)
        explain(positions, step)
        isFinished = true
        return { try handler(change) }
    }

    static func rows(of query: Query, in view: StoreView) -> any ObservedRows {
        guard let rules = RowRules(query) else { return ComparedRows(query, in: view) }
        let keys = QueryEvaluator.keys(of: query, in: view)
        return rules.sortKeys.isEmpty
            ? UnsortedRows(rules, keys) : SortedRows(rules, inOrder: keys.array)
    }

    private func explain(_ positions: PositionChanges, _ step: VersionStep) {
        // Holds the change set, but neither of the versions, which would stay in the file.
        let (table, texts, changes) = (table, texts, step.changes)
        let (from, to) = (step.old.version, step.new.version)
        let schema = step.new.schema
        let path =
            texts.count > 1
            ? filter.matchingPath(for: KeySet(unordered: positions.modifiedKeys), in: step)
            : positions.modifiedKeys.isEmpty ? nil : texts.first
        makeReason = {
            let keys = Set(
                positions.deletedKeys + positions.insertedKeys + positions.modifiedKeys)
            let modified = changes.tables[table]?.modified ?? [:]
            let properties = schema.find(table: table)?.properties ?? []
            return DeliveryReason(
                previousVersion: from, version: to,
                objects: keys.sorted().map { ObjectReference(table: table, key: $0) },
                properties: properties.filter { property in
                    !property.isBacklinks
                        && keys.contains { modified[property.column]?.contains($0) == true }
                }.map(\.name),
                keyPath: path)
        }
    }
}

extension Query {
    /// The object whose list or backlinks the query starts from; nil for a whole class.
    func owner(in schema: Schema) -> ObjectReference? {
        switch base {
        case .table: return nil
        case .list(let table, _, let key): return ObjectReference(table: table, key: key)
        case .backlinks(let source, let column, let key):
            let property = schema.find(table: source)?.property(in: column)
            let target = property.flatMap(schema.target)
            return target.map { ObjectReference(table: $0.table, key: key) }
        }
    }
}
