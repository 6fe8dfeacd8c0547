import ColumnStorage

extension Store {
    /// Calls a handler with the rows of a query at the next delivery, and again whenever they change.
    ///
    /// `keyPaths` name the properties whose changes count as modifications; without any, these are the properties of
    /// the row and of all objects within three links. Rows that enter and leave are always reported. `pace` delays
    /// calls, but never the first one. Throws `invalid_query` for an unknown key path, and the errors of
    /// ``observe(name:_:)``.
    package func observe(
        _ query: Query, keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        try observe(.objects(query), keyPaths: keyPaths, name: name, pace: pace, handler)
    }

    /// Calls a handler with the elements of a list, set or map at the next delivery, and again whenever it changes.
    ///
    /// Setting an element to an equal value counts as a modification. A collection of objects also reports changes to
    /// its objects, as ``observe(_:keyPaths:name:pace:_:)`` does; plain values have no properties, so key paths are not
    /// allowed for them. Throws `invalid_object` if the owner was deleted, `invalid_query`, and the errors of
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

    /// Calls a handler with the plain values of a collection at the next delivery, and again whenever they change.
    ///
    /// An element whose value is replaced remains a row, and counts as modified if its position among the others stays
    /// the same. A commit takes time in proportion to the touched elements, times the logarithm of the number of
    /// elements. Throws the errors of ``observe(_:keyPaths:name:pace:_:)-(LiveCollection,_,_,_,_)``.
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
                delay?.probeDidReceive(change.positions, lost: change.deletedDetails)
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
