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
        let store = try source.observableStore()
        try store.checkObservable()
        let rule = try AggregateRule(
            kind, path, class: try classSchema(), schema: store.view.schema)
        let observer = AggregateObserver(
            try query.followed(to: store.view.schema), rule, name: name,
            dispatcher: store.notifications, schema: store.view.schema, handler: handler)
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
        let store = try results.source.observableStore()
        try store.checkObservable()
        let schema = store.view.schema
        let rule = try AggregateRule(
            kind, path, class: try results.classSchema(), schema: schema)
        let observer = GroupedAggregateObserver(
            try rules.remade(for: schema), rule, name: name, dispatcher: store.notifications,
            schema: schema, handler: handler)
        try StoreError.evaluating { try observer.prepare(in: store.view) }
        return store.notifications.add(observer, seen: nil)
    }
}
