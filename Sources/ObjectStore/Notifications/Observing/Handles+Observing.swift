extension Results {
    /// Calls a handler with the results at the next delivery, and again whenever they change.
    ///
    /// The token keeps the observation alive; these results need not be kept. Throws the errors of `Store.observe`, and
    /// `frozen` for results of a frozen version.
    public func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try source.observableStore().observe(
            query, keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension LiveObject {
    /// Calls a handler when the object changes, and once when it is deleted.
    ///
    /// Throws the errors of `Store.observe`, and `frozen` for a frozen object.
    public func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (ObjectChange) throws -> Void
    ) throws -> NotificationToken {
        try source.observableStore().observe(
            reference, keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension LiveCollection {
    /// Calls a handler with the collection at the next delivery, and again whenever it changes.
    ///
    /// Throws the errors of `Store.observe`, and `frozen` for a collection of a frozen version.
    public func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try source.observableStore().observe(
            self, keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension CollectionValues {
    /// Calls a handler with the values at the next delivery, and again whenever they change.
    ///
    /// Throws the errors of ``LiveCollection/observe(keyPaths:name:pace:_:)``.
    public func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try source.observableStore().observe(
            self, keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension NestedCollection {
    /// Calls a handler with the collection at the next delivery, and again whenever it changes.
    ///
    /// The collection remains observed when enclosing lists change. When another value replaces the collection, the
    /// handler is called a last time, with all elements as deletions and an invalid collection. Throws the errors of
    /// ``LiveCollection/observe(keyPaths:name:pace:_:)``.
    package func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try CollectionValues(self).observe(
            keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension ObjectSource {
    /// Returns the live store.
    ///
    /// Throws `frozen` for a frozen version.
    func observableStore() throws -> Store {
        guard case .store(let store) = self else {
            throw StoreError(
                .frozen, "a frozen version never changes, so it cannot be observed")
        }
        return store
    }
}
