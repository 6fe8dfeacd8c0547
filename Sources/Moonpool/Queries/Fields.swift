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

extension Field: QueryCondition where V: TruthValue {
    /// Requires that the field is true.
    public var condition: Condition { Condition(expression + " == true") }
}

private enum Operand {
    static func value<V: StoredValue>(_ value: V) -> QueryExpression {
        QueryExpression(argument: value.stored)
    }
    static func object<M: Model>(_ object: Live<M>) -> QueryExpression {
        QueryExpression(argument: Mixed(object))
    }
}

extension Field {
    func compared(_ operation: String, _ other: QueryExpression) -> Condition {
        Condition(expression + " \(operation) " + other)
    }

    // MARK: Equality

    /// Requires that the field equals a value.
    ///
    /// Nil equals only nil.
    public static func == (field: Field, value: V) -> Condition {
        field.compared("==", Operand.value(value))
    }
    /// Requires that the field differs from a value.
    public static func != (field: Field, value: V) -> Condition {
        field.compared("!=", Operand.value(value))
    }
    /// Requires that the field is nil.
    @_disfavoredOverload
    public static func == (field: Field, value: _OptionalNilComparisonType) -> Condition {
        field.compared("==", QueryExpression("nil"))
    }
    /// Requires that the field is not nil.
    @_disfavoredOverload
    public static func != (field: Field, value: _OptionalNilComparisonType) -> Condition {
        field.compared("!=", QueryExpression("nil"))
    }
    /// Requires that two fields are equal.
    public static func == <W: StoredValue>(field: Field, other: Field<W>) -> Condition {
        field.compared("==", other.expression)
    }
    /// Requires that two fields differ.
    public static func != <W: StoredValue>(field: Field, other: Field<W>) -> Condition {
        field.compared("!=", other.expression)
    }
    /// Requires that a link points to the given object.
    public static func == <M: Model>(field: Field, object: Live<M>) -> Condition
    where V.Target == M {
        field.compared("==", Operand.object(object))
    }
    /// Requires that a link does not point to the given object.
    public static func != <M: Model>(field: Field, object: Live<M>) -> Condition
    where V.Target == M {
        field.compared("!=", Operand.object(object))
    }
    /// Requires that the field equals one of the values.
    public func isIn(_ values: some Sequence<V>) -> Condition {
        compared(
            "in", QueryExpression(argument: .list(values.map { $0.stored })))
    }
}

extension Field where V._Order == _Ordered {
    /// Requires that the field is less than a value.
    ///
    /// Nil is neither less nor greater than any value.
    public static func < (field: Field, value: V) -> Condition {
        field.compared("<", Operand.value(value))
    }
    /// Requires that the field is at most a value.
    public static func <= (field: Field, value: V) -> Condition {
        field.compared("<=", Operand.value(value))
    }
    /// Requires that the field is greater than a value.
    public static func > (field: Field, value: V) -> Condition {
        field.compared(">", Operand.value(value))
    }
    /// Requires that the field is at least a value.
    public static func >= (field: Field, value: V) -> Condition {
        field.compared(">=", Operand.value(value))
    }
    /// Requires that the field is less than another field.
    public static func < <W: StoredValue>(field: Field, other: Field<W>) -> Condition
    where W._Order == _Ordered {
        field.compared("<", other.expression)
    }
    /// Requires that the field is at most another field.
    public static func <= <W: StoredValue>(field: Field, other: Field<W>) -> Condition
    where W._Order == _Ordered {
        field.compared("<=", other.expression)
    }
    /// Requires that the field is greater than another field.
    public static func > <W: StoredValue>(field: Field, other: Field<W>) -> Condition
    where W._Order == _Ordered {
        field.compared(">", other.expression)
    }
    /// Requires that the field is at least another field.
    public static func >= <W: StoredValue>(field: Field, other: Field<W>) -> Condition
    where W._Order == _Ordered {
        field.compared(">=", other.expression)
    }
    /// Requires that the field is between two values, including both.
    public func isBetween(_ lower: V, _ upper: V) -> Condition {
        compared(
            "between",
            QueryExpression(
                argument: .list([lower.stored, upper.stored])))
    }
    /// Requires that the field is in a range, including both bounds.
    public func isIn(_ range: ClosedRange<V>) -> Condition where V: Comparable {
        isBetween(range.lowerBound, range.upperBound)
    }
    /// Requires that the field is in a range, without its upper bound.
    public func isIn(_ range: Range<V>) -> Condition where V: Comparable {
        self >= range.lowerBound && self < range.upperBound
    }
}

/// The options of text comparisons.
public struct TextOptions: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int
    /// Creates options from bits.
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// Ignores the case of letters.
    public static let caseInsensitive = TextOptions(rawValue: 1)
    /// Ignores diacritics.
    public static let diacriticInsensitive = TextOptions(rawValue: 2)

    var suffix: String {
        switch (contains(.caseInsensitive), contains(.diacriticInsensitive)) {
        case (false, false): ""
        case (true, false): "[c]"
        case (false, true): "[d]"
        case (true, true): "[cd]"
        }
    }
}

extension Field where V: TextValue {
    private func tested(_ operation: String, _ text: String, _ options: TextOptions) -> Condition {
        compared(operation + options.suffix, QueryExpression(argument: .string(text)))
    }
    /// Requires that the text begins with another text.
    public func hasPrefix(_ text: String, _ options: TextOptions = []) -> Condition {
        tested("beginswith", text, options)
    }
    /// Requires that the text ends with another text.
    public func hasSuffix(_ text: String, _ options: TextOptions = []) -> Condition {
        tested("endswith", text, options)
    }
    /// Requires that the text contains another text.
    public func contains(_ text: String, _ options: TextOptions = []) -> Condition {
        tested("contains", text, options)
    }
    /// Requires that the text matches a pattern: `?` is one character, `*` any number of characters.
    public func like(_ pattern: String, _ options: TextOptions = []) -> Condition {
        tested("like", pattern, options)
    }
    /// Requires that the text equals another text.
    public func equals(_ text: String, _ options: TextOptions = []) -> Condition {
        tested("==", text, options)
    }
    /// Requires that the text matches a full-text search, such as `red -blue phrase*`.
    ///
    /// The property must have a full-text index.
    public func matches(_ search: String) -> Condition { tested("text", search, []) }
    /// The number of bytes of the text.
    public var count: Field<Int?> { appending(".@count") }
}

extension Field where V: CollectionValue {
    /// One of the elements.
    public var any: Field<V.ElementValue> {
        Field<V.ElementValue>(path: path, quantifier: "any")
    }
    /// Each of the elements.
    public var all: Field<V.ElementValue> {
        Field<V.ElementValue>(path: path, quantifier: "all")
    }
    /// None of the elements.
    public var none: Field<V.ElementValue> {
        Field<V.ElementValue>(path: path, quantifier: "none")
    }
    /// The number of elements.
    public var count: Field<Int> { appending(".@count") }
    /// The first element; nil for an empty collection.
    public var first: Field<V.ElementValue?> { appending("[first]") }
    /// The last element; nil for an empty collection.
    public var last: Field<V.ElementValue?> { appending("[last]") }
    /// The element at an index; nil if there is none.
    public subscript(index: Int) -> Field<V.ElementValue?> { appending("[\(index + 1)]") }

    /// Requires that an element equals a value.
    public func contains(_ value: V.ElementValue) -> Condition { any == value }
    /// Requires that an object is an element.
    public func contains<M: Model>(_ object: Live<M>) -> Condition
    where V.ElementValue.Target == M {
        any == object
    }
    /// Requires that an element matches a condition.
    public func contains<C: QueryCondition>(
        _ body: (Fields<V.Target>) -> C
    ) -> Condition where V.Target: ObjectModel {
        any(satisfying: body)
    }
    private func any<C: QueryCondition>(
        satisfying body: (Fields<V.Target>) -> C
    ) -> Condition where V.Target: ObjectModel {
        let variable = "$element"
        let condition = body(Fields<V.Target>(prefix: variable + "."))
        return Condition(
            QueryExpression("subquery(\(path), \(variable), ") + condition.condition.expression
                + ").@count > 0")
    }

    private func aggregate<W: StoredValue, R: StoredValue>(
        _ name: String, _ next: KeyPath<V.Target, W>
    ) -> Field<R> {
        appending(".@\(name).\(FieldName.of(next))")
    }
    /// Returns the sum of a property of the elements.
    public func sum<W: NumericValue>(_ next: KeyPath<V.Target, W>) -> Field<W> {
        aggregate("sum", next)
    }
    /// Returns the average of a property of the elements; nil if there is none.
    public func average<W: NumericValue>(_ next: KeyPath<V.Target, W>) -> Field<Double?> {
        aggregate("avg", next)
    }
    /// Returns the smallest value of a property of the elements; nil if there is none.
    public func min<W: StoredValue>(_ next: KeyPath<V.Target, W>) -> Field<W.Bare?>
    where W._Order == _Ordered {
        aggregate("min", next)
    }
    /// Returns the largest value of a property of the elements; nil if there is none.
    public func max<W: StoredValue>(_ next: KeyPath<V.Target, W>) -> Field<W.Bare?>
    where W._Order == _Ordered {
        aggregate("max", next)
    }
}

extension Field where V: CollectionValue, V.ElementValue: NumericValue {
    /// The sum of the elements.
    public var sum: Field<V.ElementValue> { appending(".@sum") }
    /// The average of the elements; nil if there is none.
    public var average: Field<Double?> { appending(".@avg") }
    /// The smallest element; nil if there is none.
    public var min: Field<V.ElementValue?> { appending(".@min") }
    /// The largest element; nil if there is none.
    public var max: Field<V.ElementValue?> { appending(".@max") }
}

extension Field where V: MapValue {
    /// The value of a key; nil if there is none.
    public subscript(key: String) -> Field<V.ElementValue?> {
        appending("[\(QueryExpression.quoted(key))]")
    }
    /// The keys.
    public var keys: Field<[String]> { appending(".@keys") }
}

extension Field where V == Mixed {
    /// The value of a key of a map; nil if there is none.
    public subscript(key: String) -> Field<Mixed> {
        appending("[\(QueryExpression.quoted(key))]")
    }
    /// The element of a list at an index; nil if there is none.
    public subscript(index: Int) -> Field<Mixed> { appending("[\(index + 1)]") }
}
