extension Store {
    /// Calls a handler with the rows of a query as they are at the next delivery, and then whenever
    /// they change.
    ///
    /// `keyPaths` name the properties whose changes count as modifications; without any, those of
    /// the row and of everything that it leads to in at most three links. Rows that come and go are
    /// always told. Throws `invalid_query` for an unknown key path, and what ``observe(name:_:)``
    /// throws.
    public func observe(
        _ query: Query, keyPaths: [String] = [], name: String = "",
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        let observer = try ResultsObserver(
            query, keyPaths: keyPaths, name: name, pump: notifications, schema: view.schema,
            handler: handler)
        return notifications.add(observer, seen: nil)
    }
}
