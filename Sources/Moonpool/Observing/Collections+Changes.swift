import ObjectStore

/// A list, a set or a map of a live object, whose changes can be observed.
///
/// ```swift
/// for try await change in rex.siblings.changes(\.name) { print(change.rows.count) }
/// ```
///
/// ``LiveList``, ``LiveSet`` and ``LiveMap`` conform.
public protocol LiveCollection<Change> {
    /// The type of the elements; for a map, the type of the values.
    associatedtype Member: StoredValue
    /// The report to an observer.
    associatedtype Change: Sendable
    /// How the collection is observed.
    ///
    /// Throws `invalid_argument` for a literal.
    var _changes: LiveCollectionChanges<Change> { get throws }
}

/// How a ``LiveCollection`` is observed: opaque to programs.
public struct LiveCollectionChanges<Change: Sendable> {
    let source: ChangeSource<Change>
}

extension LiveCollection {
    /// Returns the changes of the collection; the first one contains all elements.
    ///
    /// The sequence ends after the owner is deleted.
    public func changes() -> ChangeSequence<Change> { sequence([]) }

    /// Calls a handler on the caller's actor with the elements, and whenever they change.
    ///
    /// Throws the errors of ``Results/observe(_:once:isolation:_:)``.
    public func observe(
        once: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try _changes.source.token([], once: once, on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        once: Bool = false, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await _changes.source.token([], once: once, on: actor, handler)
    }

    /// Returns the sequence of changes; traps if the handle is not valid.
    private func sequence(_ keyPaths: [String]) -> ChangeSequence<Change> {
        do { return try _changes.source.sequence(keyPaths) } catch { ModelContext.trap(error) }
    }
}

extension LiveCollection where Member: LinkElement {
    /// Returns the changes of the collection and of the named properties of its objects.
    public func changes(_ paths: FieldPath<Member.Linked>...) -> ChangeSequence<Change> {
        sequence(paths.map { FieldPaths.text($0) })
    }

    /// Calls a handler on the caller's actor with the elements, and whenever they or the named properties change.
    ///
    /// Throws the errors of ``Results/observe(_:once:isolation:_:)``.
    public func observe(
        _ paths: FieldPath<Member.Linked>..., once: Bool = false,
        isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try _changes.source.token(
            paths.map { FieldPaths.text($0) }, once: once, on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure, for one path.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ path: FieldPath<Member.Linked>, _ handler: @escaping (Result<Change, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try _changes.source.token([FieldPaths.text(path)], on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the elements, and whenever they or the named properties
    /// change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<Member.Linked>..., once: Bool = false, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await _changes.source.token(
            paths.map { FieldPaths.text($0) }, once: once, on: actor, handler)
    }
}

extension LiveList: LiveCollection {
    /// The type of the elements.
    public typealias Member = Element
    /// The report to an observer of the list.
    public typealias Change = CollectionChange<[Element.FrozenForm]>

    /// How the list is observed.
    public var _changes: LiveCollectionChanges<Change> {
        get throws {
            let list = try engine
            return LiveCollectionChanges(
                source: ChangeSource(elementsOf: list, try context, as: Element.self) {
                    try list.values()
                })
        }
    }
}

extension LiveSet: LiveCollection {
    /// The type of the elements.
    public typealias Member = Element
    /// The report to an observer of the set.
    public typealias Change = CollectionChange<[Element.FrozenForm]>

    /// How the set is observed.
    public var _changes: LiveCollectionChanges<Change> {
        get throws {
            let set = try engine
            return LiveCollectionChanges(
                source: ChangeSource(elementsOf: set, try context, as: Element.self) {
                    try set.values()
                })
        }
    }
}

extension LiveMap: LiveCollection {
    /// The type of the values.
    public typealias Member = Element
    /// The report to an observer of the map.
    public typealias Change = MapChange<[String: Element.FrozenForm]>

    /// How the map is observed.
    public var _changes: LiveCollectionChanges<Change> {
        get throws {
            let (map, context) = (try engine, try context)
            return LiveCollectionChanges(
                source: ChangeSource(context: context) { keyPaths, handler in
                    try map.observe(keyPaths: keyPaths) { change in
                        let result = Result<Change, any Error> {
                            try Self.change(change, of: map, in: context)
                        }
                        handler(result, !change.isCollectionValid)
                    }
                })
        }
    }

    private static func change(
        _ change: ObjectStore.CollectionChange, of map: ObjectStore.LiveMap,
        in context: ModelContext
    ) throws -> Change {
        if case .error(let error) = change.kind { throw error }
        var rows: [String: Element.FrozenForm] = [:]
        if change.isCollectionValid {
            let frozen = StoredContext(context)
            for (key, value) in try map.entries() where rows[key] == nil {
                rows[key] = try Element._frozen(StoredElement(value), in: frozen)
            }
        }
        if case .initial = change.kind { return .initial(rows) }
        return try .update(
            rows, deletions: change.deletedKeys, insertions: change.insertedKeys,
            modifications: change.modifiedKeys)
    }
}

extension BacklinkResults where M: Model {
    /// Returns the changes of the linking objects; the first one contains all rows.
    ///
    /// The sequence ends after the linked object is deleted.
    public func changes(_ paths: FieldPath<M>...) -> ChangeSequence<Results<M>.Change> {
        results.source.sequence(paths.map { FieldPaths.text($0) })
    }

    /// Calls a handler on the caller's actor with the rows, and whenever they change.
    ///
    /// Throws the errors of ``Results/observe(_:once:isolation:_:)``.
    public func observe(
        _ paths: FieldPath<M>..., once: Bool = false, isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Results<M>.Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try results.source.token(
            paths.map { FieldPaths.text($0) }, once: once, on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the rows, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: FieldPath<M>..., once: Bool = false, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Results<M>.Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await results.source.token(
            paths.map { FieldPaths.text($0) }, once: once, on: actor, handler)
    }
}

extension ChangeSource {
    /// Returns the changes of a list or a set of the engine, with frozen elements.
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
}
