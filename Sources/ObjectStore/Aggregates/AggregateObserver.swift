import ColumnStorage

/// Calls a handler when an aggregate over the objects of a query changes.
final class AggregateObserver: Observer {
    typealias Handler = (_ new: Value, _ old: Value?) throws -> Void

    private var query: Query
    private var rule: AggregateRule
    private let owner: ObjectReference?
    private let className: String
    private var state: AggregateState?
    private var preparedVersion: UInt64?
    private var handler: Handler?

    init(
        _ query: Query, _ rule: AggregateRule, name: String, dispatcher: NotificationDispatcher,
        schema: Schema, handler: @escaping Handler
    ) {
        self.query = query
        self.rule = rule
        self.handler = handler
        owner = query.owner(in: schema)
        className = schema.find(table: query.table)?.name ?? "?"
        super.init(name: name, dispatcher: dispatcher)
    }

    override var subject: String {
        "the \(rule.kind.rawValue)\(rule.text.map { " of '\($0)'" } ?? "") of '\(className)'"
    }

    override var interests: ObserverInterests {
        guard let schema = dispatcher?.store.schema else { return ObserverInterests() }
        return ObserverInterests(query, rule, schema: schema)
    }

    override var cost: String { state?.cost ?? "" }

    override func release() {
        handler = nil
        state = nil
    }

    /// Reads the aggregate at the registration, whose caller receives the errors.
    ///
    /// The first call uses the aggregate, unless it reports another version.
    func prepare(in view: StoreView) throws {
        guard try owner.map(view.isPresent) ?? true else { return }
        state = try AggregateState(query, rule, in: view)
        preparedVersion = view.version
    }

    override func begin(in view: StoreView) throws -> Call? {
        guard let handler else { return nil }
        guard try owner.map(view.isPresent) ?? true else {
            isFinished = true
            let nothing = rule.value(rule.empty.result)
            return { try handler(nothing, nil) }
        }
        let prepared = preparedVersion == view.version ? state : nil
        let made = try prepared ?? AggregateState(query, rule, in: view)
        state = made
        return { try handler(made.value, nil) }
    }

    override func advance(along step: VersionStep) throws -> Call? {
        guard let handler else { return nil }
        // After an error, the state is read again in the version that the observer has seen.
        var state = try state ?? AggregateState(query, rule, in: step.old)
        let old = state.value
        if try step.removes(query.table, owner: owner) {
            isFinished = true
            let nothing = state.valueOfNothing
            guard nothing != old else { return nil }
            let reason = DeliveryReason(ending: owner, in: step)
            makeReason = { reason }
            return { try handler(nothing, old) }
        }
        self.state = nil  // makes `state` the only copy, which is then changed in place
        let change = try state.advance(along: step)
        (query, rule) = (state.query, state.rule)
        self.state = state
        guard let change else { return nil }
        makeReason = try rule.reason(query, change, in: step)
        let new = state.value
        return { try handler(new, old) }
    }
}
