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
        try observe(
            object, keyPaths: keyPaths, ObjectObservation(), name: name, pace: pace, handler)
    }

    /// Calls a handler when an object changes, with the calls of an observation.
    ///
    /// Throws `invalid_argument` for a pace together with calls before a change.
    package func observe(
        _ object: ObjectReference, keyPaths: [String] = [], _ extras: ObjectObservation,
        name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (ObjectChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        guard extras.prior == nil || pace == nil else {
            throw StoreError(
                .invalidArgument,
                "'debounce' and 'throttle' delay calls, and 'prior' calls before a change; pass one "
                    + "of them")
        }
        guard try view.isPresent(object) else {
            throw StoreError(.invalidObject, "the object was deleted, so it cannot be observed")
        }
        func make(
            _ name: String, _ extras: ObjectObservation,
            _ handler: @escaping (ObjectChange) throws -> Void
        ) throws -> ObjectObserver {
            try ObjectObserver(
                object, keyPaths: keyPaths, extras, name: name, dispatcher: notifications,
                schema: view.schema,
                handler: handler)
        }
        let seen = extras.initial == nil ? view.version : nil
        return try register(make(name, extras, handler), pace: pace, seen: seen) { delay in
            var extras = extras
            extras.initial = nil
            return try make("", extras) { [weak delay] change in
                delay?.probeDidReceive(properties: change.properties.map(\.name))
            }
        }
    }
}
