import ObjectStore

/// A piece of a predicate: text in the predicate language with its arguments.
///
/// A typed condition is equivalent to its text.
struct QueryExpression: Sendable {
    enum Part: Sendable {
        case text(String)
        case argument(Mixed)
    }

    var parts: [Part]

    init(_ text: String) { parts = [.text(text)] }
    init(argument: Mixed) { parts = [.argument(argument)] }

    static func + (left: QueryExpression, right: QueryExpression) -> QueryExpression {
        var sum = left
        sum.parts += right.parts
        return sum
    }
    static func + (left: QueryExpression, right: String) -> QueryExpression {
        left + QueryExpression(right)
    }

    /// Returns the text with `$1`, `$2` … and the arguments.
    func numbered(in context: ModelContext) throws -> (text: String, arguments: [Value]) {
        var text = ""
        var arguments: [Value] = []
        for part in parts {
            switch part {
            case .text(let fragment): text += fragment
            case .argument(let value):
                arguments.append(try context.resolved(value))
                text += "$\(arguments.count)"
            }
        }
        return (text, arguments)
    }

    /// The text with the arguments as literals.
    ///
    /// Objects and data, which have no literal, are shown as `$1`, `$2` ….
    var complete: String {
        var text = ""
        var count = 0
        for part in parts {
            switch part {
            case .text(let fragment): text += fragment
            case .argument(let value):
                if let literal = Self.literal(value) {
                    text += literal
                } else {
                    count += 1
                    text += "$\(count)"
                }
            }
        }
        return text
    }

    static func quoted(_ text: String) -> String {
        var quoted = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'": quoted += "\\'"
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "'"
    }

    private static func literal(_ value: Mixed) -> String? {
        switch value {
        case .null, .bool, .int: value.engineValue.summary
        case .float(let number): number.isFinite ? String(number) : nil
        case .double(let number): number.isFinite ? String(number) : nil
        case .string(let text): quoted(text)
        case .date(let moment): "date('\(moment)')"
        case .uuid(let identifier): "uuid(\(identifier))"
        case .objectID(let identifier): "oid(\(identifier))"
        case .decimal(let number): number.isFinite ? number.description : nil
        case .list(let values):
            values.allSatisfy { literal($0) != nil }
                ? "{" + values.compactMap(literal).joined(separator: ", ") + "}" : nil
        case .data, .object, .map: nil
        }
    }
}

/// A filter of a query: a ``Condition`` or a Boolean field.
public protocol QueryCondition: Sendable {
    /// The condition.
    var condition: Condition { get }
}

/// A condition on the objects of a query, built from fields and operators.
///
/// ```swift
/// let isOld: (Fields<Dog>) -> Condition = { $0.age > 10 || $0.tags.contains("old") }
/// print(store.all(Dog.self).where(isOld).count)
/// ```
public struct Condition: QueryCondition {
    let expression: QueryExpression

    init(_ expression: QueryExpression) { self.expression = expression }

    /// The condition itself.
    public var condition: Condition { self }
}

extension Condition: CustomStringConvertible {
    /// The text of the condition.
    public var description: String { expression.complete }
}

extension Condition {
    init(joining left: some QueryCondition, _ word: String, _ right: some QueryCondition) {
        expression =
            QueryExpression("(") + left.condition.expression + ") \(word) ("
            + right.condition.expression + ")"
    }
}

/// Requires both conditions.
public func && <Left: QueryCondition, Right: QueryCondition>(
    left: Left, right: Right
) -> Condition {
    Condition(joining: left, "and", right)
}

/// Requires one of the conditions.
public func || <Left: QueryCondition, Right: QueryCondition>(
    left: Left, right: Right
) -> Condition {
    Condition(joining: left, "or", right)
}

/// Requires that a condition is false.
public prefix func ! <C: QueryCondition>(condition: C) -> Condition {
    Condition(QueryExpression("not (") + condition.condition.expression + ")")
}

/// The direction of a sort order.
public enum SortOrder: Sendable, Hashable {
    /// Small values first, and nil before all others.
    case ascending
    /// Large values first, and nil after all others.
    case descending
}

/// A property to sort by.
///
/// ```swift
/// store.all(Dog.self).sorted(by: .ascending(\.owner.name), .descending(\.age))
/// ```
public struct SortKey<M: ObjectModel>: Sendable {
    let path: String
    let order: SortOrder

    /// Sorts by a property, with small values first.
    public static func ascending<V: StoredValue>(
        _ path: KeyPath<Fields<M>, Field<V>>
    ) -> SortKey where V._Order == _Ordered {
        SortKey(path: Fields<M>()[keyPath: path].path, order: .ascending)
    }
    /// Sorts by a property, with large values first.
    public static func descending<V: StoredValue>(
        _ path: KeyPath<Fields<M>, Field<V>>
    ) -> SortKey where V._Order == _Ordered {
        SortKey(path: Fields<M>()[keyPath: path].path, order: .descending)
    }
}
