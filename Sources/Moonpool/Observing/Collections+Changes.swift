import ObjectStore

extension LiveList {
    /// The report to an observer of the list.
    public typealias Change = CollectionChange<[Element.FrozenForm]>

    private func source() throws -> ChangeSource<Change> {
        let list = try engine
        return ChangeSource(elementsOf: list, try context, as: Element.self) { try list.values() }
    }

    /// The changes of the list, first all elements.
    ///
    /// The sequence ends after the owner was deleted.
    public func changes() -> ChangeSequence<Change> {
        ChangeSource.sequence([], of: source)
    }

    /// Calls a handler on the caller's actor with the elements, and whenever they change.
    ///
    /// Throws as ``Results/observe(_:isolation:_:)``.
    public func observe(
        isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try source().token([], on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source().token([], on: actor, handler)
    }
}

extension LiveList where Element: LinkElement {
    /// The changes of the list and of the named properties of its objects.
    public func changes(_ paths: FieldPath<Element.Linked>...) -> ChangeSequence<Change> {
        ChangeSource.sequence(paths.map { FieldPaths.text($0) }, of: source)
    }

    /// Calls a handler on the caller's actor with the elements, and whenever they or the named properties change.
    ///
    /// Throws as ``Results/observe(_:isolation:_:)``.
    public func observe(
        _ paths: FieldPath<Element.Linked>..., isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try source().token(paths.map { FieldPaths.text($0) }, on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they or the named properties change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<Element.Linked>..., on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source().token(paths.map { FieldPaths.text($0) }, on: actor, handler)
    }
}

extension LiveSet {
    /// The report to an observer of the set.
    public typealias Change = CollectionChange<[Element.FrozenForm]>

    private func source() throws -> ChangeSource<Change> {
        let set = try engine
        return ChangeSource(elementsOf: set, try context, as: Element.self) { try set.values() }
    }

    /// The changes of the set, first all elements.
    ///
    /// The sequence ends after the owner was deleted.
    public func changes() -> ChangeSequence<Change> {
        ChangeSource.sequence([], of: source)
    }

    /// Calls a handler on the caller's actor with the elements, and whenever they change.
    ///
    /// Throws as ``Results/observe(_:isolation:_:)``.
    public func observe(
        isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try source().token([], on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source().token([], on: actor, handler)
    }
}

extension LiveSet where Element: LinkElement {
    /// The changes of the set and of the named properties of its objects.
    public func changes(_ paths: FieldPath<Element.Linked>...) -> ChangeSequence<Change> {
        ChangeSource.sequence(paths.map { FieldPaths.text($0) }, of: source)
    }

    /// Calls a handler on the caller's actor with the elements, and whenever they or the named properties change.
    ///
    /// Throws as ``Results/observe(_:isolation:_:)``.
    public func observe(
        _ paths: FieldPath<Element.Linked>..., isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try source().token(paths.map { FieldPaths.text($0) }, on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they or the named properties change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<Element.Linked>..., on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source().token(paths.map { FieldPaths.text($0) }, on: actor, handler)
    }
}

extension LiveMap {
    /// The report to an observer of the map.
    public typealias Change = MapChange<[String: Element.FrozenForm]>

    private func source() throws -> ChangeSource<Change> {
        let (map, context) = (try engine, try context)
        return ChangeSource(context: context) { keyPaths, handler in
            try map.observe(keyPaths: keyPaths) { change in
                let result = Result<Change, any Error> {
                    if case .error(let error) = change.kind { throw error }
                    var rows: [String: Element.FrozenForm] = [:]
                    if change.isCollectionValid {
                        let frozen = StoredContext(context)
                        for (key, value) in try map.entries() {
                            rows[key] = try Element._frozen(StoredElement(value), in: frozen)
                        }
                    }
                    if case .initial = change.kind { return .initial(rows) }
                    return .update(
                        rows, deletions: change.deletedKeys, insertions: change.insertedKeys,
                        modifications: change.modifiedKeys)
                }
                handler(result, !change.isCollectionValid)
            }
        }
    }

    /// The changes of the map, first all entries.
    ///
    /// The sequence ends after the owner was deleted.
    public func changes() -> ChangeSequence<Change> {
        ChangeSource.sequence([], of: source)
    }

    /// Calls a handler on the caller's actor with the entries, and whenever they change.
    ///
    /// Throws as ``Results/observe(_:isolation:_:)``.
    public func observe(
        isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try source().token([], on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source().token([], on: actor, handler)
    }
}

extension LiveMap where Element: LinkElement {
    /// The changes of the map and of the named properties of its objects.
    public func changes(_ paths: FieldPath<Element.Linked>...) -> ChangeSequence<Change> {
        ChangeSource.sequence(paths.map { FieldPaths.text($0) }, of: source)
    }

    /// Calls a handler on the caller's actor with the entries, and whenever they or the named properties change.
    ///
    /// Throws as ``Results/observe(_:isolation:_:)``.
    public func observe(
        _ paths: FieldPath<Element.Linked>..., isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try source().token(paths.map { FieldPaths.text($0) }, on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they or the named properties change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<Element.Linked>..., on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await source().token(paths.map { FieldPaths.text($0) }, on: actor, handler)
    }
}

extension BacklinkResults where M: Model {
    /// The changes of the linking objects, first all rows.
    ///
    /// The sequence ends after the linked object was deleted.
    public func changes(_ paths: FieldPath<M>...) -> ChangeSequence<Results<M>.Change> {
        results.source.sequence(paths.map { FieldPaths.text($0) })
    }

    /// Calls a handler on the caller's actor with the rows, and whenever they change.
    ///
    /// Throws as ``Results/observe(_:isolation:_:)``.
    public func observe(
        _ paths: FieldPath<M>..., isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Results<M>.Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try results.source.token(paths.map { FieldPaths.text($0) }, on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the rows, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<M>..., on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Results<M>.Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await results.source.token(paths.map { FieldPaths.text($0) }, on: actor, handler)
    }
}

extension ChangeSource {
    /// The changes of a list or a set of the engine, with frozen elements.
    fileprivate init<Element: StoredValue>(
        elementsOf collection: some ObjectStore.LiveCollection, _ context: ModelContext,
        as: Element.Type, _ values: @escaping () throws -> [Value]
    ) where Change == CollectionChange<[Element.FrozenForm]> {
        self.init(context: context) { keyPaths, handler in
            try collection.observe(keyPaths: keyPaths) { change in
                handler(
                    ChangeConversion.collection(change) {
                        guard change.isCollectionValid else { return [] }
                        let frozen = StoredContext(context)
                        return try values().map {
                            try Element._frozen(StoredElement($0), in: frozen)
                        }
                    }, !change.isCollectionValid)
            }
        }
    }

    /// The sequence of a source; traps if the handle is not valid.
    fileprivate static func sequence(
        _ keyPaths: [String], of source: () throws -> Self
    ) -> ChangeSequence<Change> {
        do { return try source().sequence(keyPaths) } catch { ModelContext.trap(error) }
    }
}
