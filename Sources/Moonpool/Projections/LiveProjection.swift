import ColumnStorage
import ObjectStore

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
        let made = try ProjectedPaths<P>(try schema.require(P.Root.className), schema)
        known = made
        return made
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
