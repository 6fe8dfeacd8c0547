import ColumnStorage
import ObjectStore
import Synchronization

/// The projections of the objects of a query: lazy and live, like ``Results``.
///
/// ```swift
/// let cards = store.all(Dog.self).sorted(by: \.name).projected(DogCard.self)
/// for card in cards { print(card.name) }
/// for try await change in cards.changes() { print(change.rows.map(\.name)) }
/// ```
public struct ProjectedResults<P: Projection>: Sequence {
    /// The projected objects.
    public let results: Results<P.Root>
    private let source: ProjectionSource<P>

    init(_ results: Results<P.Root>) {
        self.results = results
        source = ProjectionSource<P>()
        do { _ = try source.paths(in: results.table.context) } catch { ModelContext.trap(error) }
    }

    /// The number of objects.
    public var count: Int { results.count }
    /// Whether there are no objects.
    public var isEmpty: Bool { results.isEmpty }
    /// The projection of the first object; nil if there is none.
    public var first: LiveProjection<P>? { results.first.map { LiveProjection($0, source) } }
    /// The projection of the last object; nil if there is none.
    public var last: LiveProjection<P>? { results.last.map { LiveProjection($0, source) } }
    /// The projection of the object at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> LiveProjection<P> { LiveProjection(results[index], source) }

    /// Returns the plain projections.
    ///
    /// Throws `closed`, `type_mismatch`.
    public func detached() throws -> [P] {
        let context = results.table.context
        return try results.fetch().map { try source.card(of: $0.objectKey, in: context) }
    }

    /// Returns a copy of the current projections.
    public func makeIterator() -> AnyIterator<LiveProjection<P>> {
        var objects = results.makeIterator()
        let source = self.source
        return AnyIterator { objects.next().map { LiveProjection($0, source) } }
    }
    /// The number of objects.
    public var underestimatedCount: Int { count }

    /// The report to an observer of the results.
    public typealias Change = CollectionChange<ProjectedRows<P>>

    private var changeSource: ChangeSource<Change> {
        let (table, engineResults, source) = (
            results.table, results.engineResults, self.source
        )
        return ChangeSource(context: table.context) { chosen, handler in
            let paths = try source.paths(in: table.context)
            let keyPaths = paths.observed(chosen.isEmpty ? nil : chosen.compactMap(Int.init))
            return try engineResults.observe(keyPaths: keyPaths) { change in
                handler(
                    ChangeConversion.collection(change) {
                        ProjectedRows(
                            FrozenResults(
                                try FrozenVersion.of(table.context), engineResults.query))
                    }, !change.isCollectionValid)
            }
        }
    }

    private func chosen(_ paths: [PartialKeyPath<P>]) -> [String] {
        do { return try paths.map { String(try ProjectionLayout<P>.index(of: $0)) } } catch {
            ModelContext.trap(error)
        }
    }

    /// Returns the changes of the results; the first one contains all rows.
    ///
    /// `paths` are the properties whose changes count as modifications; without any, all properties of the projection.
    public func changes(_ paths: PartialKeyPath<P>...) -> ChangeSequence<Change> {
        changeSource.sequence(chosen(paths))
    }

    /// Calls a handler on the caller's actor with the rows, and whenever they change.
    ///
    /// Throws the errors of ``Results/observe(_:once:isolation:_:)``.
    public func observe(
        _ paths: PartialKeyPath<P>..., once: Bool = false,
        isolation: isolated (any Actor)? = #isolation,
        _ handler: @escaping (Result<Change, any Error>) -> Void
    ) throws -> NotificationToken {
        try changeSource.token(chosen(paths), once: once, on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ handler: @escaping (Result<Change, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try changeSource.token([], on: isolation, handler)
    }

    /// Calls a handler that is a value, such as a stored closure, for one path.
    ///
    /// It otherwise equals ``observe(_:once:isolation:_:)``.
    @_disfavoredOverload
    public func observe(
        _ path: PartialKeyPath<P>, _ handler: @escaping (Result<Change, any Error>) -> Void,
        isolation: isolated (any Actor)? = #isolation
    ) throws -> NotificationToken {
        try changeSource.token(chosen([path]), on: isolation, handler)
    }

    /// Calls a handler on an actor, which is held weakly, with the rows, and whenever they change.
    nonisolated(nonsending) public func observe<A: Actor>(
        _ paths: PartialKeyPath<P>..., once: Bool = false, on actor: A,
        _ handler: @escaping @Sendable (isolated A, Result<Change, any Error>) -> Void
    ) async throws -> NotificationToken {
        try await changeSource.token(chosen(paths), once: once, on: actor, handler)
    }
}

extension Results {
    /// Returns the objects as projections.
    ///
    /// A map that does not match the model ends the program with the message of `invalid_schema`.
    public func projected<P: Projection>(_ type: P.Type) -> ProjectedResults<P> where P.Root == M {
        ProjectedResults(self)
    }
}

/// The projections of a query's objects in one version: a collection for any thread.
///
/// A row is computed when it is read. The rows keep their version readable. Release them soon.
///
/// ```swift
/// guard case .update(let cards, _, let insertions, _) = change else { return }
/// for index in insertions { print(cards[index].name) }
/// ```
public struct ProjectedRows<P: Projection>: RandomAccessCollection, Sendable {
    private let objects: FrozenResults<P.Root>

    init(_ objects: FrozenResults<P.Root>) { self.objects = objects }

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of objects.
    public var endIndex: Int { objects.endIndex }
    /// The projection of the object at an index.
    ///
    /// An index out of range ends the program.
    public subscript(index: Int) -> P {
        let object = objects[index]
        do {
            return try object.frozenVersion.read { context in
                try context.projection(P.self).card(of: object.objectKey, in: context)
            }
        } catch {
            ModelContext.trap(error)
        }
    }
}

extension ModelContext {
    /// Returns the paths of a projection in a frozen version, which are parsed once.
    fileprivate func projection<P: Projection>(_ type: P.Type) throws -> ProjectionSource<P> {
        if let known = projections[ObjectIdentifier(type)] as? ProjectionSource<P> { return known }
        let made = ProjectionSource<P>()
        projections[ObjectIdentifier(type)] = made
        return made
    }
}
