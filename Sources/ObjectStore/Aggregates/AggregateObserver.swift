import ColumnStorage

/// Calls a handler with the aggregates of a query, or of its sections, that changed.
final class AggregateObserver: Observer {
    typealias Handler = ([GroupChange]) throws -> Void

    private var query: Query
    private var rule: AggregateRule
    private var sections: SectionRules?
    private let owner: ObjectReference?
    private let className: String
    private var state: AggregateState?
    private var preparedVersion: UInt64?
    private var handler: Handler?

    init(
        _ query: Query, _ rule: AggregateRule, by sections: SectionRules?, name: String,
        dispatcher: NotificationDispatcher, schema: Schema, handler: @escaping Handler
    ) {
        self.query = query
        self.rule = rule
        self.sections = sections
        self.handler = handler
        owner = query.owner(in: schema)
        className = schema.find(table: query.table)?.name ?? "?"
        super.init(name: name, dispatcher: dispatcher)
    }

    override var subject: String {
        let rows = sections == nil ? "" : "sections of "
        return
            "the \(rule.kind.rawValue)\(rule.text.map { " of '\($0)'" } ?? "") of \(rows)'\(className)'"
    }

    override var interests: ObserverInterests {
        guard let schema = dispatcher?.store.schema else { return ObserverInterests() }
        var interests = ObserverInterests(query, rule, schema: schema)
        if let sections { interests.add(sections.graph) }
        return interests
    }

    override func cost(in schema: Schema) -> String { RowsFactory.cost(of: query, schema: schema) }

    override func release() {
        handler = nil
        state = nil
    }

    private func read(_ view: StoreView) throws -> AggregateState {
        try AggregateState(query, rule, by: sections, in: view)
    }

    /// Reads the aggregates at the registration, whose caller receives the errors.
    ///
    /// The first call uses them, unless it reports another version.
    fileprivate func prepare(in view: StoreView) throws {
        guard try owner.map(view.isPresent) ?? true else { return }
        state = try read(view)
        preparedVersion = view.version
    }

    override func begin(in view: StoreView) throws -> Call? {
        guard let handler else { return nil }
        guard try owner.map(view.isPresent) ?? true else {
            isFinished = true
            return { try handler([]) }
        }
        let state = try (preparedVersion == view.version ? state : nil) ?? read(view)
        self.state = state
        let values = state.values
        try Interruption.step(8 * values.count)
        return { try handler(values) }
    }

    override func advance(along step: VersionStep) throws -> Call? {
        guard let handler else { return nil }
        // After an error, the state is read again in the version that the observer has seen.
        var state = try state ?? read(step.old)
        if try step.removes(query.table, owner: owner) {
            isFinished = true
            let changes = state.changesAtEnd()
            guard !changes.isEmpty else { return nil }
            let reason = DeliveryReason(ending: owner, in: step)
            makeReason = { reason }
            return { try handler(changes) }
        }
        self.state = nil  // makes `state` the only copy, which is then changed in place
        let change = try state.advance(along: step)
        (query, rule, sections) = (state.query, state.rule, state.sections)
        // After an error in the reason, the state is read again.
        if let change {
            makeReason = try rule.reason(sections?.ordered ?? query, change.rows, in: step)
        }
        self.state = state
        guard let change else { return nil }
        return { try handler(change.groups) }
    }
}

extension Results {
    /// Calls a handler with an aggregate at the next delivery, and again whenever the aggregate changes.
    ///
    /// `path` names the property; a count needs none. A commit takes time in proportion to the objects that it touches.
    /// The token keeps the observation alive. When the owner of the collection is deleted, the last call of the handler
    /// receives the value of an empty collection.
    ///
    /// Reads the values, and throws the errors of ``Results/count()``, `invalid_query` for an unknown property or one
    /// without this aggregate, `invalid_argument` for a missing property, `frozen` for a frozen version, and the errors
    /// of `Store.observe`.
    package func observeAggregate(
        _ kind: AggregateKind, _ path: String? = nil, name: String = "",
        _ handler: @escaping (_ new: Value, _ old: Value?) throws -> Void
    ) throws -> NotificationToken {
        try observeAggregate(kind, path, by: nil, name: name) { rule, changes in
            try handler(changes.first?.new ?? rule.valueOfNothing, changes.first?.old)
        }
    }

    fileprivate func observeAggregate(
        _ kind: AggregateKind, _ path: String?, by sections: SectionRules?, name: String,
        _ handler: @escaping (AggregateRule, [GroupChange]) throws -> Void
    ) throws -> NotificationToken {
        let store = try source.observableStore()
        try store.checkObservable()
        let schema = store.view.schema
        let rule = try AggregateRule(kind, path, class: try classSchema(), schema: schema)
        let sections = try sections?.remade(for: schema)
        let observer = AggregateObserver(
            try sections?.base ?? query.followed(to: schema), rule, by: sections, name: name,
            dispatcher: store.notifications, schema: schema
        ) { try handler(rule, $0) }
        try StoreError.evaluating { try observer.prepare(in: store.view) }
        return store.notifications.add(observer, seen: nil)
    }
}

extension SectionedResults {
    /// Calls a handler with the aggregate of each section at the next delivery, and then with the sections whose
    /// aggregate changed.
    ///
    /// Costs and errors: as for ``Results/observeAggregate(_:_:name:_:)``.
    package func observeAggregate(
        _ kind: AggregateKind, _ path: String? = nil, name: String = "",
        _ handler: @escaping ([GroupChange]) throws -> Void
    ) throws -> NotificationToken {
        try results.observeAggregate(kind, path, by: rules, name: name) { try handler($1) }
    }
}
