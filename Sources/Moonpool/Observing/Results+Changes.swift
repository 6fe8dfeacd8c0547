import ObjectStore

extension Results {
    /// The report to an observer of the results.
    public typealias Change = CollectionChange<FrozenResults<M>>

    var source: ChangeSource<Change> {
        let (context, results) = (table.context, engineResults)
        return ChangeSource(context: context) { keyPaths, handler in
            try results.observe(keyPaths: keyPaths) { change in
                handler(
                    ChangeConversion.collection(change) {
                        FrozenResults(try FrozenVersion.of(context), results.query)
                    }, !change.isCollectionValid)
            }
        }
    }

    /// Returns the changes of the results; the first one contains all rows.
    ///
    /// `paths` are the properties whose changes count as modifications; without any, all properties of the row and of
    /// the objects that it reaches in up to three links.
    public func changes(_ paths: FieldPath<M>...) -> ChangeSequence<Change> {
        source.sequence(paths.map { FieldPaths.text($0) })
    }

    /// Returns the changes of the results; the paths are texts such as `owner.name`.
    public func changes(keyPaths: [String]) -> ChangeSequence<Change> {
        source.sequence(keyPaths)
    }

    /// Calls a handler on the caller's actor with the rows, and whenever they change.
    ///
    /// The first call occurs in the actor's next turn. The observation ends when the token is invalidated or released.
    /// Throws `invalid_argument` for a store without an actor, `already_in_write`, `closed`.
    public func observe(
        _ paths: FieldPath<M>..., once: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try source.token(paths.map { FieldPaths.text($0) }, once: once, on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ handler: @escaping (Result<Change, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try source.token([], on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure, for one path.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ path: FieldPath<M>, _ handler: @escaping (Result<Change, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try source.token([FieldPaths.text(path)], on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the rows, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<M>..., once: Bool = false, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source.token(paths.map { FieldPaths.text($0) }, once: once, on: actor, handler)
    }
}

enum ChangeConversion {
    /// Converts the engine's change, and creates the rows while the versions of the change are open.
    static func collection<Rows: Sendable>(
        _ change: ObjectStore.CollectionChange, _ rows: () throws -> Rows
    ) -> Result<CollectionChange<Rows>, any Error> {
        Result {
            switch change.kind {
            case .initial: .initial(try rows())
            case .update:
                .update(
                    try rows(), deletions: change.deletions, insertions: change.insertions,
                    modifications: change.modificationsNew)
            case .error(let error): throw error
            }
        }
    }
}
