import ObjectStore

/// The properties of a model, for building conditions and paths.
///
/// ```swift
/// store.all(Dog.self).where { $0.age > 2 && $0.owner.name.hasPrefix("A", .caseInsensitive) }
/// store.all(Dog.self).sorted(by: \.owner.name)
/// ```
@dynamicMemberLookup
public struct Fields<M>: Sendable {
    /// The variable of a subquery with its dot; empty for the objects of the query.
    let prefix: String

    init(prefix: String = "") { self.prefix = prefix }

    /// A property.
    ///
    /// A key path that is not a stored property ends the program.
    public subscript<V: StoredValue>(dynamicMember path: KeyPath<M, V>) -> Field<V> {
        Field(path: prefix + FieldName.of(path))
    }
}

extension Fields where M: Model {
    private func compared(_ operation: String, _ argument: Mixed) -> Condition {
        Condition(
            QueryExpression(prefix + "SELF \(operation) ") + QueryExpression(argument: argument))
    }

    /// Requires that the object is the given one.
    public static func == (fields: Fields, object: Live<M>) -> Condition {
        fields.compared("==", Mixed(object))
    }
    /// Requires that the object is not the given one.
    public static func != (fields: Fields, object: Live<M>) -> Condition {
        fields.compared("!=", Mixed(object))
    }
    /// Requires that the object is one of the given ones.
    public func isIn(_ objects: some Sequence<Live<M>>) -> Condition {
        compared("in", .list(objects.map { Mixed($0) }))
    }
}

/// Returns the name of the property at a key path.
enum FieldName {
    static func of<M, V>(_ path: KeyPath<M, V>) -> String {
        func open<Known: ObjectModel>(_ type: Known.Type) throws -> String {
            guard let path = path as? PartialKeyPath<Known> else {
                throw StoreError(
                    .invalidArgument,
                    "the key path is not a stored property of '\(Known.className)'")
            }
            return try ModelRegistry.description(of: type).field(of: path).name
        }
        do {
            guard let model = M.self as? any ObjectModel.Type else {
                throw StoreError(.invalidArgument, "'\(M.self)' is not a model")
            }
            return try open(model)
        } catch {
            ModelContext.trap(error)
        }
    }
}

/// A property in a query, or a value computed from one: an operand of conditions, and a path for sorting and observing.
///
/// Every field of an optional link is optional. Dynamic members follow links and embedded objects.
@dynamicMemberLookup
public struct Field<V: StoredValue>: Sendable {
    let path: String
    /// `any`, `all` or `none`.
    var quantifier: String?

    init(path: String, quantifier: String? = nil) {
        self.path = path
        self.quantifier = quantifier
    }

    var expression: QueryExpression {
        QueryExpression((quantifier.map { $0 + " " } ?? "") + path)
    }

    private func following<M, W, Result>(_ next: KeyPath<M, W>) -> Field<Result> {
        Field<Result>(path: path + "." + FieldName.of(next), quantifier: quantifier)
    }

    func appending<Result>(_ text: String) -> Field<Result> {
        Field<Result>(path: path + text, quantifier: quantifier)
    }

    /// A property of a linked or embedded object.
    public subscript<W: StoredValue>(dynamicMember next: KeyPath<V.Target, W>) -> Field<W> {
        following(next)
    }

    /// A property of an optional linked or embedded object.
    public subscript<W: StoredValue>(dynamicMember next: KeyPath<V.Target, W>) -> Field<W?>
    where V: OptionalValue { following(next) }

    /// An optional property of an optional linked or embedded object.
    public subscript<W: StoredValue>(dynamicMember next: KeyPath<V.Target, W?>) -> Field<W?>
    where V: OptionalValue { following(next) }
}

/// A field of any type, for type-erased paths.
protocol AnyField {
    var path: String { get }
}
extension Field: AnyField {}

/// A path from a model to a property, for observers and distinct: `\.name`, `\.owner.name`, `\.siblings.any.name`.
public typealias FieldPath<M> = PartialKeyPath<Fields<M>>

enum FieldPaths {
    /// Returns the text of a path.
    static func text<M>(_ path: FieldPath<M>) -> String {
        guard let field = Fields<M>()[keyPath: path] as? any AnyField else {
            ModelContext.trap(
                StoreError(.invalidArgument, "the key path is not a property of '\(M.self)'"))
        }
        return field.path
    }
}
