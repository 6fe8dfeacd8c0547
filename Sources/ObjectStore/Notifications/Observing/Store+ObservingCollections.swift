import ColumnStorage

extension Store {
    /// Calls a handler with the rows of a query as they are at the next delivery, and then whenever
    /// they change.
    ///
    /// `keyPaths` name the properties whose changes count as modifications; without any, those of
    /// the row and of everything that it leads to in at most three links. Rows that come and go are
    /// always told. `pace` delays calls, never the first. Throws `invalid_query` for an unknown key
    /// path, and what ``observe(name:_:)`` throws.
    package func observe(
        _ query: Query, keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try observe(.objects(query), keyPaths: keyPaths, name: name, pace: pace, handler)
    }

    /// Calls a handler with the elements of a list, set or map as they are at the next delivery, and
    /// then whenever it changes.
    ///
    /// Setting an element to an equal value is a modification of it. A collection of objects also reports changes to
    /// its objects, as ``observe(_:keyPaths:name:pace:_:)`` does; plain values have no properties, so key paths are an
    /// error there. Throws `invalid_object` if the owner was deleted, `invalid_query`, and the errors of
    /// ``observe(name:_:)``.
    package func observe(
        _ list: some LiveCollection, keyPaths: [String] = [], name: String = "",
        pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try check()
        guard list.isValid else { throw StoreError.deleted(list.classSchema.name) }
        let owner = ObjectReference(table: list.classSchema.table, key: list.owner)
        let collection: ObservedCollection
        let target = view.schema.target(of: list.property)?.table
        if target != nil, list.property.collection != .map {
            collection = .objects(try Results(list).query)
        } else {
            collection = .elements(owner: owner, list.property, target: target)
        }
        return try observe(collection, keyPaths: keyPaths, name: name, pace: pace, handler)
    }

    /// Calls a handler with the plain values of a collection as they are at the next delivery, and then whenever
    /// they change.
    ///
    /// An element that is set stays a row, and is modified where it keeps its place among the others. A commit costs
    /// the elements that it has touched, times a logarithm. Errors: as for
    /// ``observe(_:keyPaths:name:pace:_:)-(LiveCollection,_,_,_,_)``.
    package func observe(
        _ values: CollectionValues, keyPaths: [String] = [], name: String = "",
        pace: ObserverPace? = nil, _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try check()
        let collection: ObservedCollection
        switch values.origin {
        case .property(let list):
            guard list.isValid else { throw StoreError.deleted(list.classSchema.name) }
            collection = .values(owner: values.owner.reference, list.property, values.steps)
        case .nested(let nested):
            _ = try nested.count()
            collection = .nested(nested.address, values.property, values.steps)
        }
        return try observe(
            collection, keyPaths: keyPaths, name: name, pace: pace, handler)
    }

    func observe(
        _ collection: ObservedCollection, keyPaths: [String], name: String, pace: ObserverPace?,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        func make(
            _ name: String, _ handler: @escaping (CollectionChange) throws -> Void
        ) throws -> CollectionObserver {
            try CollectionObserver(
                collection, keyPaths: keyPaths, name: name, dispatcher: notifications,
                schema: view.schema, handler: handler)
        }
        let observer = try make(name, handler)
        if let delay = try makeDelay(pace) {
            observer.delay = delay
            delay.probe = try make("") { [weak delay] change in
                if case .initial = change.kind { return }
                delay?.probeWasTold(of: change.positions, lost: change.deletedDetails)
            }
            delay.probe.map { notifications.enter($0, seen: nil) }
        }
        return notifications.add(observer, seen: nil)
    }

    /// Creates the delay of an observer's calls; nil if they are immediate.
    func makeDelay(_ pace: ObserverPace?) throws -> ObserverDelay? {
        guard let pace else { return nil }
        guard let scheduler = scheduler as? any TimingScheduler else {
            throw StoreError(
                .invalidArgument,
                "'debounce' and 'throttle' require a thread with an event loop")
        }
        return ObserverDelay(pace, scheduler) { [link] in link.store?.requestTurn() }
    }
}
