import ColumnStorage
import ObjectStore

/// A plain struct of values that are reachable from a root model.
///
/// Its observers are notified only when one of these values changes.
///
/// Each property has a path from the root model: a property of the object or of a linked object, an element of a list,
/// or an aggregate.
///
/// ```swift
/// struct DogCard: Projection {
///     var name: String
///     var master: String?
///     var siblings: Int
///     static let projection = ProjectionMap(
///         of: Dog.self, DogCard.init, \.name, \.owner.name, \.siblings.count)
/// }
/// let card = rex.projected(DogCard.self)
/// print(card.name, card.master ?? "no master")
/// for try await value in card.values() { print(value.name) }
/// ```
public protocol Projection: Sendable {
    /// The model at the start of the paths.
    associatedtype Root: Model
    /// The path of each property, in the order of their declaration.
    static var projection: ProjectionMap<Root, Self> { get }
}

/// The paths from a root model to the properties of a ``Projection``.
///
/// The parameters of the initializer determine the types of the paths. A property of an optional link is optional; a
/// count or sum is 0 if the link is nil.
///
/// ```swift
/// static let projection = ProjectionMap(of: Dog.self, DogCard.init, \.name, \.owner.name)
/// ```
public struct ProjectionMap<Root: Model, Card: Sendable>: Sendable {
    let columns: [ProjectedColumn]
    private let make: @Sendable (ProjectedReader) throws -> Card

    /// Creates a map from the memberwise initializer of the projection and one path for each of its parameters.
    public init<each V: StoredValue>(
        of root: Root.Type, _ make: @escaping @Sendable (repeat each V) -> Card,
        _ path: repeat KeyPath<Fields<Root>, Field<each V>> & Sendable
    ) {
        var columns: [ProjectedColumn] = []
        func add<W: StoredValue>(_ path: KeyPath<Fields<Root>, Field<W>>) {
            let field = Fields<Root>()[keyPath: path]
            columns.append(ProjectedColumn(field.path, field.quantifier, W.self))
        }
        repeat add(each path)
        self.columns = columns
        self.make = { reader in make(repeat try reader.next((each V).self)) }
    }

    func card(_ reader: ProjectedReader) throws -> Card { try make(reader) }
}

/// The path of one property of a projection.
struct ProjectedColumn: Sendable {
    /// The path in the predicate language.
    let text: String
    let quantifier: String?
    let type: any StoredValue.Type

    init(_ text: String, _ quantifier: String?, _ type: any StoredValue.Type) {
        self.text = text
        self.quantifier = quantifier
        self.type = type
    }
}

/// Passes the values of one object to a projection's initializer, in order.
final class ProjectedReader {
    private let columns: [ProjectedColumn]
    private let values: [Value]
    private let context: StoredContext
    private var index = 0

    init(_ columns: [ProjectedColumn], _ values: [Value], _ context: ModelContext) {
        self.columns = columns
        self.values = values
        self.context = StoredContext(context)
    }

    func next<V: StoredValue>(_ type: V.Type) throws -> V {
        defer { index += 1 }
        do {
            if case .null = values[index], V.self != Mixed.self {
                guard let placeholder = V._placeholder else {
                    throw StoreError(
                        .typeMismatch, "the path is nil for this object; make its property optional"
                    )
                }
                return placeholder
            }
            return try V._plain(StoredElement(values[index]), in: context)
        } catch let error as StoreError {
            throw StoreError(error.code, "'\(columns[index].text)': \(error.message)")
        }
    }
}

/// The paths of a projection in one schema.
final class ProjectedPaths<P: Projection> {
    let columns: [ProjectedColumn]
    let paths: [ProjectedPath]
    private let schema: Schema

    /// Parses the paths.
    ///
    /// Throws `invalid_schema` for a path with several values, and for a path that can be null if the property is not
    /// optional.
    init(_ classSchema: ClassSchema, _ schema: Schema) throws {
        self.schema = schema
        columns = P.projection.columns
        paths = try columns.map { column in
            if column.quantifier != nil {
                throw StoreError(
                    .invalidSchema,
                    "the path '\(column.text)' of '\(P.self)' has several values; use first, last, an index or an "
                        + "aggregate")
            }
            let path: ProjectedPath
            do {
                path = try ProjectedPath(column.text, class: classSchema, schema: schema)
                if !(column.type is any CollectionValue.Type) {
                    try path.requireOne(for: "a property of one value")
                }
            } catch let error as StoreError {
                throw StoreError(.invalidSchema, "'\(P.self)': \(error.message)")
            }
            guard path.isOptional, !(column.type is any OptionalValue.Type),
                !(column.type is Mixed.Type), !(column.type is any CollectionValue.Type)
            else { return path }
            throw StoreError(
                .invalidSchema,
                "the path '\(column.text)' of '\(P.self)' can be nil; make its property optional"
            )
        }
    }

    /// Returns the values of one object, in the order of the properties.
    func values(of key: ObjectKey, in source: ObjectSource) throws -> [Value] {
        try paths.map { try $0.value(of: key, in: source) }
    }

    func card(_ values: [Value], _ context: ModelContext) throws -> P {
        try P.projection.card(ProjectedReader(columns, values, context))
    }

    func isOf(_ schema: Schema) -> Bool { self.schema === schema }

    /// Returns the key paths that the chosen properties depend on; all key paths without a choice.
    func observed(_ chosen: [Int]?) -> [String] {
        var known: Set<String> = []
        return (chosen ?? Array(paths.indices)).flatMap { paths[$0].observed }
            .filter { known.insert($0).inserted }
    }
}

/// The properties of a projection by name and offset.
enum ProjectionLayout<P: Projection> {
    /// Returns the index of the property at a key path.
    ///
    /// Throws `invalid_argument` for a path of several steps and for a computed property, `invalid_schema` if the types
    /// of the map's paths differ from the struct.
    static func index(of path: PartialKeyPath<P>) throws -> Int {
        let offsets = try offsets()
        if let wanted = MemoryLayout<P>.offset(of: path) {
            for (index, column) in P.projection.columns.enumerated()
            where offsets[index] == wanted && type(of: path).valueType == column.type {
                return index
            }
        }
        throw StoreError(
            .invalidArgument,
            "the key path to \(type(of: path).valueType) is not a property of '\(P.self)'")
    }

    /// Returns the index of the property at an observed path, as text.
    static func text(of path: PartialKeyPath<P>) -> String {
        do { return String(try index(of: path)) } catch { ModelContext.trap(error) }
    }

    /// Returns the names of the properties, which reflection of a value provides.
    ///
    /// Throws `invalid_schema` if the map differs from the struct.
    static func names(of value: P) throws -> [String] {
        _ = try offsets()
        let children = Array(Mirror(reflecting: value).children)
        let columns = P.projection.columns
        guard children.count == columns.count else {
            throw StoreError(
                .invalidSchema,
                "'\(P.self)' has \(children.count) properties, but its map has \(columns.count) paths"
            )
        }
        for (child, column) in zip(children, columns) where type(of: child.value) != column.type {
            throw StoreError(
                .invalidSchema,
                "'\(P.self).\(child.label ?? "")' has the type \(type(of: child.value)), but its path '\(column.text)' has the type "
                    + "\(column.type)")
        }
        return children.map { $0.label ?? "" }
    }

    /// Returns the offset of each property in bytes: the properties of a struct are in order, each at the next multiple
    /// of its alignment.
    private static func offsets() throws -> [Int] {
        func layout<T>(_ type: T.Type) -> (size: Int, alignment: Int) {
            (MemoryLayout<T>.size, MemoryLayout<T>.alignment)
        }
        var end = 0
        let offsets = P.projection.columns.map { column in
            let (size, alignment) = layout(column.type)
            let offset = (end + alignment - 1) / alignment * alignment
            end = offset + size
            return offset
        }
        guard end == MemoryLayout<P>.size else {
            throw StoreError(
                .invalidSchema,
                "the paths of '\(P.self)' do not match the types of its properties; list one path for each property, in order"
            )
        }
        return offsets
    }
}
