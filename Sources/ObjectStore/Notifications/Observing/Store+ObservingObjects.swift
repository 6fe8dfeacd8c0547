extension Store {
    /// Calls a handler when an object changes, and once when it is deleted.
    ///
    /// There is no initial call.
    ///
    /// `keyPaths` name the observed properties, also of objects reached through links, lists and backlinks; without
    /// any, all of the object's own properties are observed. `pace` delays calls. Throws `invalid_object` for a deleted
    /// object, `invalid_query` for an unknown key path, and the errors of ``observe(name:_:)``.
    public func observe(
        _ object: ObjectReference, keyPaths: [String] = [], name: String = "",
        pace: ObserverPace? = nil,
        _ handler: @escaping (ObjectChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        guard try view.isPresent(object) else {
            throw StoreError(.invalidObject, "the object was deleted, so it cannot be observed")
        }
        func make(
            _ name: String, _ handler: @escaping (ObjectChange) throws -> Void
        ) throws -> ObjectObserver {
            try ObjectObserver(
                object, keyPaths: keyPaths, name: name, dispatcher: notifications,
                schema: view.schema,
                handler: handler)
        }
        return try register(make(name, handler), pace: pace, seen: view.version) { delay in
            try make("") { [weak delay] change in
                delay?.probeDidReceive(properties: change.properties.map(\.name))
            }
        }
    }
}
