import ColumnStorage

/// A compiled test of one property's value against constants.
///
/// Whether nil passes is stored separately from the test of other values: `== nil` is "no value, and nil", `!= 5` is
/// "all values but 5, and nil".
struct ValueTest: Sendable {
    /// The condition for values other than nil.
    enum Form: Sendable {
        case never
        case always
        case bool(Bool)
        case int(Comparison, Int64)
        case intBetween(Int64, Int64)
        case intIn(IntSet)
        case double(Comparison, Double)
        case doubleBetween(Double, Double)
        case doubleIn(RealSet)
        case bytes(TextTest)
        /// A comparison of decimals, the only type without a column kernel.
        case compare(Comparison, Scalar)
        case between(Scalar, Scalar)
        case oneOf([Scalar])
        /// A link to an object with one of these keys.
        case links(IntSet)
        case notLink(ObjectKey)
    }

    let form: Form
    let matchesNull: Bool

    static let isNull = ValueTest(form: .never, matchesNull: true)
    static let isNotNull = ValueTest(form: .always, matchesNull: false)

    /// Whether every value other than nil passes.
    var isAlways: Bool {
        if case .always = form { true } else { false }
    }

    /// Returns whether a value passes.
    func matches(_ value: Scalar) throws -> Bool {
        switch (form, value) {
        case (_, .null): return matchesNull
        case (_, .nothing), (.never, _): return false
        case (.always, _): return true
        case (.bool(let wanted), .bool(let flag)): return wanted == flag
        case (.int(let comparison, let bound), .int):
            return Scalar.holds(value, comparison, .int(bound))
        case (.intBetween(let low, let high), .int(let number)):
            return low <= number && number <= high
        case (.intIn(let set), .int(let number)): return set.contains(number)
        case (.double(let comparison, let bound), .double):
            return Scalar.holds(value, comparison, .double(bound))
        case (.doubleBetween(let low, let high), .double(let number)):
            return RealOrder.compare(low, number) <= 0 && RealOrder.compare(number, high) <= 0
        case (.doubleIn(let set), .double(let number)): return set.contains(number)
        case (.compare(let comparison, let bound), _):
            return Scalar.holds(value, comparison, bound)
        case (.between(let low, let high), _):
            return Scalar.holds(value, .greaterOrEqual, low)
                && Scalar.holds(value, .lessOrEqual, high)
        case (.oneOf(let set), _): return set.contains { Scalar.holds(value, .equal, $0) }
        case (.bytes(.folded(_, .compare(.notEqual, _))), .bool),
            (.bytes(.folded(_, .compare(.notEqual, _))), .int),
            (.bytes(.folded(_, .compare(.notEqual, _))), .double),
            (.bytes(.folded(_, .compare(.notEqual, _))), .decimal),
            (.bytes(.folded(_, .compare(.notEqual, _))), .mixed):
            return true  // a mixed value other than a text differs from any
        case (.bytes(let test), .bytes(let bytes)): return try test.matches(bytes.span)
        case (.links(let keys), .link(let key)): return keys.contains(key.rawValue)
        case (.notLink(let other), .link(let key)): return key != other
        default: return false
        }
    }

    /// A description of how a list of constants is stored, or of a pattern with the wildcard of SQL; nil for other
    /// tests.
    var note: String? {
        switch form {
        case .bytes(.like(let pattern)), .bytes(.folded(_, .like(let pattern))):
            pattern.contains(.one("%")) ? "the wildcards are * and ?; % matches only itself" : nil
        case .intIn(let set), .links(let set): "\(set.form) of \(set.count.grouped) values"
        case .doubleIn(let set): "hash of \(set.count.grouped) values"
        case .bytes(.oneOf(let set)): "hash of \(set.count.grouped) values"
        default: nil
        }
    }

    /// The cost of one row, as a number of integer comparisons.
    var cost: Int {
        switch form {
        case .never, .always, .bool, .int, .intBetween: 1
        case .double, .doubleBetween, .links, .notLink: 2
        case .intIn, .doubleIn: 6
        case .bytes(.search): 100
        case .compare, .between: 40
        case .bytes(.folded), .bytes(.like), .oneOf: 60
        case .bytes(.contains): 15
        case .bytes: 8
        }
    }
}

/// A condition on the plain values of a list, a set or a map; in its text, `SELF` is the value.
///
/// The condition is immutable.
package struct ElementPredicate: Hashable, Sendable {
    /// The text of the condition.
    package let text: String
    /// The arguments `$1`, `$2`, ….
    package let arguments: [Value]
    private let isMixed: Bool
    private let nodes: [any PredicateNode]

    private static let names = ["SELF", "self"]

    /// Compiles a condition on the values of a collection's property.
    ///
    /// Throws `invalid_query` for a condition that reads anything but the value, or that compares the value with
    /// anything but constants.
    init(_ text: String, _ arguments: [Value], of property: Property, schema: Schema) throws {
        self.text = text
        self.arguments = arguments
        isMixed = property.type == .mixed
        // This class has one property for each of the two names of the value.
        let values = ClassSchema(
            "\(property.typeName)", Self.names.map { Property($0, property.type, isOptional: true) }
        )
        let steps = try QueryText.compile(text, arguments: arguments, class: values, schema: schema)
        guard case .filter(let predicate)? = steps.first, steps.count == 1 else {
            throw StoreError(
                .invalidQuery,
                "a condition on values cannot sort or limit them; sort or limit the result instead"
            )
        }
        nodes = predicate.parts.map(\.node)
        guard nodes.allSatisfy(Self.isAboutValue) else {
            throw StoreError(
                .invalidQuery,
                "'\(text)' is not supported in a condition on values; compare SELF with "
                    + "constants, combined by and, or, not")
        }
    }

    /// Returns whether a value satisfies the condition.
    func matches(_ value: Value) throws -> Bool {
        let scalar =
            isMixed
            ? Scalar(mixed: value) : PredicateCompiler.constant(value)?.value ?? .null
        return try nodes.allSatisfy { try Self.holds($0, scalar) }
    }

    private static func isAboutValue(_ node: any PredicateNode) -> Bool {
        switch node {
        case is ConstantNode, is ColumnNode: true
        case let node as ConjunctionNode: node.parts.allSatisfy(isAboutValue)
        case let node as DisjunctionNode: node.parts.allSatisfy(isAboutValue)
        case let node as NegationNode: isAboutValue(node.part)
        default: false
        }
    }

    private static func holds(_ node: any PredicateNode, _ value: Scalar) throws -> Bool {
        switch node {
        case let node as ColumnNode: try node.test.matches(value)
        case let node as ConstantNode: node.value
        case let node as ConjunctionNode: try node.parts.allSatisfy { try holds($0, value) }
        case let node as DisjunctionNode: try node.parts.contains { try holds($0, value) }
        case let node as NegationNode: try !holds(node.part, value)
        default: false
        }
    }

    /// Returns whether both have the same text and arguments.
    package static func == (left: ElementPredicate, right: ElementPredicate) -> Bool {
        left.text == right.text && left.arguments == right.arguments
    }

    /// Hashes the text.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension CollectionValues {
    /// Returns the values that satisfy a condition on `SELF`, such as `SELF > 3 and SELF != 7`.
    ///
    /// Throws `invalid_query` with the text and a caret under the error.
    package func filtered(_ text: String, _ arguments: [Value] = []) throws -> CollectionValues {
        adding(
            .filter(
                try ElementPredicate(
                    text, arguments, of: property, schema: try source.openView().schema)))
    }
}
