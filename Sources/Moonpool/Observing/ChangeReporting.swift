import ObjectStore

/// Content of a store whose changes can be observed: results, sections, projections, objects, lists, sets and maps.
///
/// ```swift
/// for try await change in rex.siblings.changes(\.name) { print(change.rows.count) }
/// let token = try store.all(Dog.self).observe { result in print(result) }
/// ```
public protocol ChangeReporting<Change> {
    /// The report to an observer.
    associatedtype Change: Sendable
    /// The type whose properties the observed paths name: the ``Fields`` of a model, or a projection.
    associatedtype PathRoot
    /// The source of changes of the content.
    ///
    /// Throws `invalid_argument` for a literal.
    var _changes: LiveChanges<Change, PathRoot> { get throws }
}

/// How a ``ChangeReporting`` type is observed: opaque to programs.
public struct LiveChanges<Change: Sendable, Root> {
    let source: ChangeSource<Change>
    let text: (PartialKeyPath<Root>) -> String

    init(_ source: ChangeSource<Change>, text: @escaping (PartialKeyPath<Root>) -> String) {
        self.source = source
        self.text = text
    }

    init<M>(_ source: ChangeSource<Change>) where Root == Fields<M> {
        self.init(source) { FieldPaths.text($0) }
    }
}

extension ChangeReporting {
    /// Returns the changes from now on; the first change of a collection contains all rows.
    ///
    /// `paths` are the properties whose changes count as modifications. Without any, these are all properties of an
    /// object or a projection, and for a collection all properties of a row and of the objects that it reaches in up to
    /// three links. The sequence ends after the object, or the owner of the collection, is deleted.
    public func changes(_ paths: PartialKeyPath<PathRoot>...) -> ChangeSequence<Change> {
        do {
            let changes = try _changes
            return changes.source.sequence(paths.map(changes.text))
        } catch { ModelContext.trap(error) }
    }

    /// Calls a handler on the caller's actor with the rows of a collection, and whenever they or the object change.
    ///
    /// The first call occurs in the actor's next turn. With `once`, the observation ends with the first change. It also
    /// ends when the token is invalidated or released. Throws `invalid_argument` for a store without an actor and for a
    /// literal, `invalid_object` for a deleted object, `already_in_write`, `closed`.
    public func observe(
        _ paths: PartialKeyPath<PathRoot>..., once: Bool = false,
        isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        let changes = try _changes
        return try changes.source.token(
            paths.map(changes.text), once: once, on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ handler: @escaping (Result<Change, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try _changes.source.token([], on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure, for one path.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ path: PartialKeyPath<PathRoot>,
        _ handler: @escaping (Result<Change, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        let changes = try _changes
        return try changes.source.token([changes.text(path)], on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, as ``observe(_:once:isolation:_:)`` does.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: PartialKeyPath<PathRoot>..., once: Bool = false, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        let changes = try _changes
        return try await changes.source.token(
            paths.map(changes.text), once: once, on: actor, handler)
    }
}

// MARK: Collections

extension ChangeSource {
    /// Returns the changes of a collection of the engine; `rows` creates the rows while the versions of the change are
    /// open.
    ///
    /// `keyPaths` converts the texts of the observed paths.
    init<Rows: Sendable>(
        _ collection: some ObservableRows, _ context: ModelContext,
        keyPaths: @escaping ([String]) throws -> [String] = { $0 },
        rows: @escaping (_ isValid: Bool) throws -> Rows
    ) where Change == CollectionChange<Rows> {
        self.init(collection, context, keyPaths: keyPaths) { change in
            let rows = try rows(change.isCollectionValid)
            if case .initial = change.kind { return .initial(rows) }
            return .update(
                rows, deletions: change.deletions, insertions: change.insertions,
                modifications: change.modificationsNew)
        }
    }

    /// Returns the converted changes of a collection of the engine.
    init(
        _ collection: some ObservableRows, _ context: ModelContext,
        keyPaths: @escaping ([String]) throws -> [String] = { $0 },
        converted convert: @escaping (ObjectStore.CollectionChange) throws -> Change
    ) {
        self.init(context: context) { paths, handler in
            try collection.observe(keyPaths: keyPaths(paths)) { change in
                let result = Result<Change, any Error> {
                    if case .error(let error) = change.kind { throw error }
                    return try convert(change)
                }
                handler(result, !change.isCollectionValid)
            }
        }
    }

    /// Returns the changes of a list or a set of the engine, with frozen elements.
    fileprivate init<Element: StoredValue>(
        elementsOf collection: some ObjectStore.LiveCollection, _ context: ModelContext,
        as: Element.Type, _ values: @escaping () throws -> [Value]
    ) where Change == CollectionChange<[Element.FrozenForm]> {
        self.init(collection, context) { isValid in
            guard isValid else { return [] }
            let frozen = StoredContext(context)
            return try values().map { try Element._frozen(StoredElement($0), in: frozen) }
        }
    }
}

extension LiveList: LiveCollection {
    /// The type of the elements.
    public typealias Member = Element

    /// The stored list.
    public var _collection: StoredCollection { get throws { try StoredCollection(content) } }
    /// The source of changes of the list.
    public var _changes: LiveChanges<CollectionChange<[Element.FrozenForm]>, Fields<Element.Target>>
    {
        get throws {
            let (list, context) = try content.stored
            return LiveChanges(
                ChangeSource(elementsOf: list, context, as: Element.self) { try list.values() })
        }
    }
}

extension LiveSet: LiveCollection {
    /// The type of the elements.
    public typealias Member = Element

    /// The stored set.
    public var _collection: StoredCollection { get throws { try StoredCollection(content) } }
    /// The source of changes of the set.
    public var _changes: LiveChanges<CollectionChange<[Element.FrozenForm]>, Fields<Element.Target>>
    {
        get throws {
            let (set, context) = try content.stored
            return LiveChanges(
                ChangeSource(elementsOf: set, context, as: Element.self) { try set.values() })
        }
    }
}

extension LiveMap: LiveCollection {
    /// The type of the values.
    public typealias Member = Element

    /// The stored map.
    public var _collection: StoredCollection { get throws { try StoredCollection(content) } }
    /// The source of changes of the map.
    public var _changes:
        LiveChanges<MapChange<[String: Element.FrozenForm]>, Fields<Element.Target>>
    {
        get throws {
            let (map, context) = try content.stored
            return LiveChanges(
                ChangeSource(map, context) { change in
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
                })
        }
    }
}

// MARK: Results

extension Results: ChangeReporting {
    /// The report to an observer of the results.
    public typealias Change = CollectionChange<FrozenResults<M>>

    /// The source of changes of the results.
    public var _changes: LiveChanges<Change, Fields<M>> {
        let (context, results) = (table.context, engineResults)
        return LiveChanges(
            ChangeSource(results, context) { _ in
                FrozenResults(try FrozenVersion.of(context), results.query)
            })
    }

    /// Returns the changes of the results; the paths are texts such as `owner.name`.
    public func changes(keyPaths: [String]) -> ChangeSequence<Change> {
        _changes.source.sequence(keyPaths)
    }
}

extension BacklinkResults: ChangeReporting where M: Model {
    /// The source of changes of the linking objects.
    public var _changes: LiveChanges<Results<M>.Change, Fields<M>> { results._changes }
}

extension Live: ChangeReporting {
    /// How the object is observed: when it changes, and once when it is deleted.
    public var _changes: LiveChanges<ObjectChange<M>, Fields<M>> {
        let (context, object) = (modelTable.context, modelTable.liveObject(objectKey))
        return LiveChanges(
            ChangeSource(context: context) { keyPaths, handler in
                try object.observe(keyPaths: keyPaths) { change in
                    let isLast = if case .deleted = change.kind { true } else { false }
                    do {
                        handler(
                            try ObjectChange(change, in: context).map { .success($0) }, isLast)
                    } catch {
                        handler(.failure(error), isLast)
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
