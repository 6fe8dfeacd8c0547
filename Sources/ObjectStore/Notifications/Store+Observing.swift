import ColumnStorage

extension Store {
    /// Calls a handler whenever the store has moved to a new version or committed one.
    ///
    /// Without autorefresh, the handler is also called when a newer version exists.
    ///
    /// The store's own commits call it before they return; a handler's own commits do not call it again. A store that
    /// was opened read-only receives the commits of other stores. Throws `already_in_write`, `closed`, `wrong_thread`,
    /// `invalid_argument` (the thread has no event loop).
    public func observe(
        name: String = "", _ handler: @escaping (StoreNotification, Store) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        return notifications.add(
            StoreObserver(name: name, dispatcher: notifications) { [unowned self] notification in
                try handler(notification, self)
            })
    }

    /// Throws the errors that all kinds of observation share.
    func checkObservable() throws {
        try check()
        guard !isInWrite else {
            throw alreadyInWrite(
                "observing is not possible inside a write transaction", "observe before or after it"
            )
        }
        guard scheduler.canDeliver else {
            throw StoreError(
                .invalidArgument,
                "observing needs a thread with an event loop that can call the observer")
        }
    }
}

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
                delay?.probeDidReceive(
                    properties: change.properties.map(\.name), viewBeforeEnd: change.viewBefore)
            }
        }
    }
}

extension SectionedResults {
    /// Calls a handler with the sections at the next delivery, and again whenever they change.
    ///
    /// The token keeps the observation alive; these sections need not be kept. Throws the errors of `Store.observe`,
    /// and `frozen` for sections of a frozen version.
    package func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (SectionedChange) throws -> Void
    ) throws -> NotificationToken {
        try results.source.observableStore().observe(
            sections: rules, keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension Store {
    func observe(
        sections rules: SectionRules, keyPaths: [String], name: String, pace: ObserverPace?,
        _ handler: @escaping (SectionedChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        func make(
            _ name: String, _ handler: @escaping (SectionedChange) throws -> Void
        ) throws -> SectionsObserver {
            try SectionsObserver(
                rules, keyPaths: keyPaths, name: name, dispatcher: notifications,
                schema: view.schema,
                handler: handler)
        }
        return try register(make(name, handler), pace: pace, seen: nil) { delay in
            let probe = try make("") { _ in }
            probe.recorder = { [weak delay] positions, lost, gained in
                delay?.probeDidReceive(positions, lost: lost, gained: gained)
            }
            return probe
        }
    }
}

extension Store {
    /// Calls a handler with every change after the store's current version.
    ///
    /// The handler receives each commit of this store before the commit returns. It receives commits of other stores,
    /// possibly several at once, when this store advances. Read-only stores can be observed too, because other stores
    /// may write. Throws `already_in_write`, `closed`, `wrong_thread`, `invalid_argument` (the thread has no event
    /// loop).
    package func observeChanges(
        name: String = "", _ handler: @escaping (VersionChange) throws -> Void
    ) throws -> NotificationToken {
        try checkObservable()
        let dispatcher = notifications
        let observer = ChangeStreamObserver(name: name, dispatcher: dispatcher, handler: handler)
        let token = dispatcher.add(observer, seen: version)
        observer.storeToken = dispatcher.add(
            StoreObserver(name: name, dispatcher: dispatcher) { [weak observer] notification in
                guard notification == .didChange, let observer else { return }
                observer.dispatcher?.serveNow(observer)
            })
        return token
    }
}

/// A handle of rows that can be observed: results, a list, set or map, or the plain values of a collection.
package protocol ObservableRows {
    /// The store, or the frozen view, from which the rows are read.
    var source: ObjectSource { get }
    /// Returns the collection that an observer follows.
    ///
    /// Throws `invalid_object` if the owner was deleted.
    func observed() throws -> ObservedCollection
}

extension ObservableRows {
    /// Calls a handler with the rows at the next delivery, and again whenever they change.
    ///
    /// `keyPaths` name the properties whose changes count as modifications; without any, these are the properties of
    /// the row and of all objects within three links. Plain values have no properties, so key paths are not allowed for
    /// them. Rows that enter and leave are always reported. Setting an element of a collection to an equal value counts
    /// as a modification. `pace` delays calls, but never the first one.
    ///
    /// The token keeps the observation alive; the handle need not be kept. Throws `invalid_object` if the owner was
    /// deleted, `invalid_query` for an unknown key path, `frozen` for a frozen version, and the errors of
    /// ``Store/observe(name:_:)``.
    package func observe(
        keyPaths: [String] = [], name: String = "", pace: ObserverPace? = nil,
        _ handler: @escaping (CollectionChange) throws -> Void
    ) throws -> NotificationToken {
        let store = try source.observableStore()
        try store.check()
        return try store.observe(
            observed(), keyPaths: keyPaths, name: name, pace: pace, handler)
    }
}

extension Results: ObservableRows {
    package func observed() -> ObservedCollection { .objects(query) }
}

extension LiveCollection {
    package func observed() throws -> ObservedCollection {
        guard isValid else { throw StoreError.deleted(classSchema.name) }
        let target = source.view.schema.target(of: property)?.table
        if target != nil, property.collection != .map { return .objects(try Results(self).query) }
        return .elements(owner: header.object.reference, property, target: target)
    }
}

extension CollectionValues: ObservableRows {
    /// Returns the values that an observer follows.
    ///
    /// An element whose value is replaced remains a row, and counts as modified if its position among the others stays
    /// the same. A commit takes time in proportion to the touched elements, times the logarithm of the number of
    /// elements.
    package func observed() throws -> ObservedCollection {
        switch origin {
        case .property(let list):
            guard list.isValid else { throw StoreError.deleted(list.classSchema.name) }
            return .values(owner: owner.reference, list.property, steps)
        case .nested(let nested):
            _ = try nested.count()
            return .nested(nested.address, property, steps)
        }
    }
}

extension NestedCollection: ObservableRows {
    /// Returns the elements of the collection.
    ///
    /// The collection remains observed when enclosing lists change. When another value replaces the collection, the
    /// handler is called a last time, with all elements as deletions and an invalid collection.
    package func observed() throws -> ObservedCollection { try CollectionValues(self).observed() }
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
