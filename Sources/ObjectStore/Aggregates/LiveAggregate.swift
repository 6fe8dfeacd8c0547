import ColumnStorage

/// An aggregate that reactions depend on.
final class LiveAggregate: LiveNode {
    private let query: Query
    private let rule: AggregateRule
    private var state: AggregateState?

    init(_ query: Query, _ rule: AggregateRule, dispatcher: NotificationDispatcher) {
        self.query = query
        self.rule = rule
        super.init(dispatcher: dispatcher)
    }

    /// The value in the version that the node has seen; nil once the aggregate can no longer be updated.
    var value: Value? { state?.value }

    override var subject: String { "an aggregate" }

    override var interests: ObserverInterests {
        guard let schema = dispatcher?.store.schema else { return ObserverInterests() }
        return ObserverInterests(state?.query ?? query, state?.rule ?? rule, schema: schema)
    }

    override func release() { state = nil }

    override func start(in view: StoreView) throws {
        state = try AggregateState(query, rule, in: view)
    }

    override func advance(along step: VersionStep) throws -> Call? {
        if try step.removes(query.table, owner: query.owner(in: step.old.schema)) {
            isFinished = true
            noteChange(in: .max)
            return nil
        }
        guard var state else { return nil }
        self.state = nil  // makes `state` the only copy, which is then changed in place
        if try state.advance(along: step) != nil { noteChange(in: step.new.version) }
        self.state = state
        return nil
    }
}

extension ObserverInterests {
    /// Creates a node that depends on the rows of a query and on the aggregated values.
    init(_ query: Query, _ rule: AggregateRule, schema: Schema) {
        self.init()
        add(query, nil, schema: schema)
        if rule.text != nil { add(rule.graph) }
    }
}
