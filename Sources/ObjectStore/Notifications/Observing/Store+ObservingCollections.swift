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
        return try register(make(name, handler), pace: pace, seen: nil) { delay in
            try make("") { [weak delay] change in
                if case .initial = change.kind { return }
                try delay?.probeDidReceive(change.positions, lost: change.deletedDetails)
            }
        }
    }

    /// Registers an observer that has seen a version; with a pace, also the probe that receives every delivery.
    func register(
        _ observer: Observer, pace: ObserverPace?, seen version: UInt64?,
        probe: (ObserverDelay) throws -> Observer
    ) throws -> NotificationToken {
        if let delay = try makeDelay(pace) {
            observer.delay = delay
            let probe = try probe(delay)
            delay.probe = probe
            notifications.enter(probe, seen: version)
        }
        return notifications.add(observer, seen: version)
    }

    /// Creates the delay of an observer's calls; nil if they are immediate.
    private func makeDelay(_ pace: ObserverPace?) throws -> ObserverDelay? {
        guard let pace else { return nil }
        guard let scheduler = scheduler as? any TimingScheduler else {
            throw StoreError(
                .invalidArgument,
                "'debounce' and 'throttle' require a thread with an event loop")
        }
        return ObserverDelay(pace, scheduler) { [link] in link.store?.requestTurn() }
    }
}
