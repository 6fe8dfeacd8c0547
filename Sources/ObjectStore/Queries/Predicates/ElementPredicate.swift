import ColumnStorage

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
