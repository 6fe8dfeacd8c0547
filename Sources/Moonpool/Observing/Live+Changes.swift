import ObjectStore

extension Live {
    var source: ChangeSource<ObjectChange<M>> {
        let (context, object) = (modelTable.context, modelTable.liveObject(objectKey))
        return ChangeSource(context: context) { keyPaths, handler in
            try object.observe(keyPaths: keyPaths) { change in
                let isLast = if case .change = change.kind { false } else { true }
                do {
                    handler(
                        try ObjectChange(change, in: context).map { .success($0) }, isLast)
                } catch {
                    handler(.failure(error), true)
                }
            }
        }
    }

    /// Returns the changes of the object from now on.
    ///
    /// `paths` are the observed properties; without any, all properties of the object.
    public func changes(_ paths: FieldPath<M>...) -> ChangeSequence<ObjectChange<M>> {
        source.sequence(paths.map { FieldPaths.text($0) })
    }

    /// Returns the changes of the object; the paths are texts such as `owner.name`.
    public func changes(keyPaths: [String]) -> ChangeSequence<ObjectChange<M>> {
        source.sequence(keyPaths)
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

    /// Calls a handler on the caller's actor when the object changes, and once when it is deleted.
    ///
    /// Throws the errors of ``Results/observe(_:once:isolation:_:)``, and `invalid_object` for a deleted object.
    public func observe(
        _ paths: FieldPath<M>..., once: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<ObjectChange<M>, any Error>) -> Void
    ) throws -> NotificationToken {
        try source.token(paths.map { FieldPaths.text($0) }, once: once, on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ handler: @escaping (Result<ObjectChange<M>, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try source.token([], on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure, for one path.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ path: FieldPath<M>, _ handler: @escaping (Result<ObjectChange<M>, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try source.token([FieldPaths.text(path)], on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, when the object changes, and once when it is deleted.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<M>..., once: Bool = false, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<ObjectChange<M>, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source.token(paths.map { FieldPaths.text($0) }, once: once, on: actor, handler)
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
