import ObjectStore

extension Live: ChangeReporting {
    /// How the object is observed: when it changes, and once when it is deleted.
    public var _changes: LiveChanges<ObjectChange<M>, Fields<M>> {
        let (context, object) = (modelTable.context, modelTable.liveObject(objectKey))
        return LiveChanges(
            ChangeSource(context: context) { keyPaths, handler in
                try object.observe(keyPaths: keyPaths) { change in
                    let isLast = if case .change = change.kind { false } else { true }
                    do {
                        handler(
                            try ObjectChange(change, in: context).map { .success($0) }, isLast)
                    } catch {
                        handler(.failure(error), true)
                    }
                }
            })
    }

    /// Returns the changes of the object; the paths are texts such as `owner.name`.
    public func changes(keyPaths: [String]) -> ChangeSequence<ObjectChange<M>> {
        _changes.source.sequence(keyPaths)
    }

    /// Returns the current value of a property, and then each value that differs from the previous one.
    public func values<V: StoredValue>(of path: KeyPath<M, V>) -> ChangeSequence<V> {
        let live = self
        return ChangeSequence {
            ChangePull(live.modelTable.context) { handler in
                let name = try ModelRegistry.description(of: M.self).field(of: path).name
                var last = try live.get(path)
                handler(.success(last), false)
                return try live.modelTable.liveObject(live.objectKey).observe(keyPaths: [name]) {
                    change in
                    switch change.kind {
                    case .change:
                        handler(
                            Result {
                                let value = try live.get(path)
                                guard value.stored != last.stored else { return nil }
                                last = value
                                return value
                            }.flatMapOptional(), false)
                    case .deleted: handler(nil, true)
                    case .error(let error): handler(.failure(error), false)
                    }
                }
            }
        }
    }
}

extension Result {
    /// Returns nil for a success without a value.
    fileprivate func flatMapOptional<Wrapped>() -> Result<Wrapped, Failure>?
    where Success == Wrapped? {
        switch self {
        case .success(let value): value.map { .success($0) }
        case .failure(let error): .failure(error)
        }
    }
}

extension Store {
    /// Calls a handler on the caller's actor whenever the store has advanced to another version or committed one.
    ///
    /// Commits of this store call the handler before they return. Throws `invalid_argument` for a store without an
    /// actor, `read_only`, `already_in_write`, `closed`.
    public func observe(
        isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (StoreNotification, Store) -> Void
    ) throws -> NotificationToken {
        let context = context
        let source = ChangeSource<StoreNotification>(context: context) { _, pass in
            try context.engine.observe { notification, _ in pass(.success(notification), false) }
        }
        return try source.token([], on: isolation) { [weak self] result in
            guard case .success(let notification) = result else { return }
            handler(notification, self ?? Store(context))
        }
    }

    /// Returns a notification after each advance to another version; several advances between two elements are one
    /// notification.
    public func changes() -> ChangeSequence<StoreNotification> {
        let context = context
        return ChangeSequence {
            ChangePull(context) { handler in
                try context.engine.observe { notification, _ in
                    handler(.success(notification), false)
                }
            }
        }
    }
}
