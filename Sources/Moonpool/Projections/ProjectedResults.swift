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
        let created = ProjectionSource<P>()
        projections[ObjectIdentifier(type)] = created
        return created
    }
}

/// The live projection of one object.
///
/// It reads the values from the store, and can assign properties of the object itself.
///
/// ```swift
/// let card = rex.projected(DogCard.self)
/// print(card.name, card.master ?? "no master")
/// try await store.write { _ in card.name = "Rexie" }
/// for try await change in card.changes(\.name) { print(change) }
/// ```
///
/// It belongs to its store's actor. Members without `try` behave like those of ``Live``.
@dynamicMemberLookup
public struct LiveProjection<P: Projection> {
    /// The projected object.
    public let root: Live<P.Root>
    let source: ProjectionSource<P>

    init(_ root: Live<P.Root>, _ source: ProjectionSource<P>) {
        self.root = root
        self.source = source
    }

    private var context: ModelContext { root.modelTable.context }

    /// Reads a property.
    public subscript<V: StoredValue>(dynamicMember path: KeyPath<P, V>) -> V { read(path) }

    /// Reads a property, or assigns a property of the object itself.
    ///
    /// Any other assignment fails with `invalid_argument`, like a failed assignment of ``Live``.
    public subscript<V: StoredValue>(dynamicMember path: WritableKeyPath<P, V>) -> V {
        get { read(path) }
        nonmutating set {
            context.assign {
                let index = try ProjectionLayout<P>.index(of: path)
                let projected = try source.paths(in: context).paths[index]
                guard let property = projected.ownProperty?.name else {
                    throw StoreError(
                        .invalidArgument,
                        "'\(projected.text)' is not a property of the projected object; assign the property of the linked object"
                    )
                }
                let element = try newValue._element(in: StoredContext(context))
                try root.modelTable.liveObject(root.objectKey).set(property, element.value)
            }
        }
    }

    private func read<V: StoredValue>(_ path: KeyPath<P, V>) -> V {
        do {
            let index = try ProjectionLayout<P>.index(of: path)
            let paths = try source.paths(in: context)
            let value = try paths.paths[index].value(of: root.objectKey, in: context.source)
            return try ProjectedReader([paths.columns[index]], [value], context).next(V.self)
        } catch {
            ModelContext.trap(error)
        }
    }

    /// Whether the object exists and its store is open.
    public var isValid: Bool { root.isValid }

    /// Returns the plain projection.
    ///
    /// Throws `invalid_object` if the object was deleted, `closed`, `type_mismatch`, `invalid_schema` if the map
    /// differs from the struct.
    public func detached() throws -> P { try source.card(of: root.objectKey, in: context) }
}

extension LiveProjection: Hashable {
    /// Returns whether both are projections of the same object.
    public static func == (left: LiveProjection, right: LiveProjection) -> Bool {
        left.root == right.root
    }
    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) { hasher.combine(root) }
}

extension LiveProjection: CustomStringConvertible {
    /// The plain projection.
    public var description: String {
        (try? detached()).map { "\($0)" } ?? "\(P.self) (deleted)"
    }
}

/// Caches the paths of a projection, parsed for a schema.
final class ProjectionSource<P: Projection> {
    private var known: ProjectedPaths<P>?

    func paths(in context: ModelContext) throws -> ProjectedPaths<P> {
        let schema = try context.source.openView().schema
        if let known, known.isOf(schema) { return known }
        let created = try ProjectedPaths<P>(try schema.require(P.Root.className), schema)
        known = created
        return created
    }

    func values(of key: ObjectKey, in context: ModelContext) throws -> [Value] {
        try paths(in: context).values(of: key, in: context.source)
    }

    func card(of key: ObjectKey, in context: ModelContext) throws -> P {
        try paths(in: context).card(try values(of: key, in: context), context)
    }
}

extension Live where M: Model {
    /// Returns the object as a projection.
    ///
    /// A map that does not match the model ends the program with the message of `invalid_schema`.
    public func projected<P: Projection>(_ type: P.Type) -> LiveProjection<P> where P.Root == M {
        let source = ProjectionSource<P>()
        do { _ = try source.paths(in: modelTable.context) } catch { ModelContext.trap(error) }
        return LiveProjection(self, source)
    }
}

/// A report to an observer of a ``LiveProjection``.
///
/// ```swift
/// let token = try card.observe { result in
///     guard case .success(.change(let card, let properties)) = result else { return }
///     for property in properties { print(property.name, property.old, property.new, card) }
/// }
/// ```
public enum ProjectionChange<P: Projection>: Sendable {
    /// Values have changed; the projection contains the values after the change. The properties have their names in the
    /// projection.
    case change(P, [PropertyChange])
    /// The object was deleted; the projection contains the last observed values. This is the last change.
    case deleted(P)
}

extension LiveProjection: ChangeReporting {
    /// How the projected values are observed: when they change, and once when the object is deleted.
    public var _changes: LiveChanges<ProjectionChange<P>, P> {
        LiveChanges(changeSource, text: ProjectionLayout<P>.text(of:))
    }

    /// Observes the object, and compares the projected values before and after each change.
    private var changeSource: ChangeSource<ProjectionChange<P>> {
        let (root, source, context) = (self.root, self.source, self.root.modelTable.context)
        return ChangeSource(context: context) { chosen, handler in
            let paths = try source.paths(in: context)
            let indexes = chosen.isEmpty ? Array(paths.paths.indices) : chosen.compactMap(Int.init)
            var last = try source.values(of: root.objectKey, in: context)
            let names = try ProjectionLayout<P>.names(of: paths.card(last, context))
            return try root.modelTable.liveObject(root.objectKey).observe(
                keyPaths: paths.observed(indexes)
            ) { change in
                let result: Result<ProjectionChange<P>, any Error>?
                var isLast = false
                do {
                    switch change.kind {
                    case .change:
                        let before = last
                        last = try source.values(of: root.objectKey, in: context)
                        let changed = indexes.filter { before[$0] != last[$0] }
                        if changed.isEmpty {
                            result = nil
                        } else {
                            let properties = changed.map {
                                PropertyChange(
                                    name: names[$0], old: context.mixed(before[$0]),
                                    new: context.mixed(last[$0]))
                            }
                            let card = try source.paths(in: context).card(last, context)
                            result = .success(.change(card, properties))
                        }
                    case .deleted:
                        isLast = true
                        result = .success(.deleted(try paths.card(last, context)))
                    case .error(let error): throw error
                    }
                } catch {
                    result = .failure(error)
                }
                handler(result, isLast)
            }
        }
    }

    /// Returns the current plain projection, and then the projection after each change of a value.
    public func values() -> ChangeSequence<P> {
        let (source, root, changes) = (self.source, self.root, changeSource)
        let context = root.modelTable.context
        return ChangeSequence {
            ChangePull(context) { handler in
                handler(.success(try source.card(of: root.objectKey, in: context)), false)
                return try changes.register([]) { change, isLast in
                    switch change {
                    case .success(.change(let card, _)): handler(.success(card), isLast)
                    case .success(.deleted), nil: handler(nil, isLast)
                    case .failure(let error): handler(.failure(error), isLast)
                    }
                }
            }
        }
    }
}
