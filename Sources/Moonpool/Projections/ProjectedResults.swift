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
}

extension ProjectedResults: ChangeReporting {
    /// The source of changes of the results.
    public var _changes: LiveChanges<CollectionChange<ProjectedRows<P>>, P> {
        let (context, content) = (results.table.context, results.engineResults)
        let source = self.source
        return LiveChanges(
            ChangeSource(
                content, context,
                keyPaths: { chosen in
                    let indexes = chosen.isEmpty ? nil : chosen.compactMap(Int.init)
                    return try source.paths(in: context).observed(indexes)
                }
            ) { _ in
                ProjectedRows(FrozenResults(try FrozenVersion.of(context), content.query))
            }, text: ProjectionLayout<P>.text(of:))
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
