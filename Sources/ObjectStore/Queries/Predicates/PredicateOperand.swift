import ColumnStorage

/// The type of an operand's values, as far as comparisons need it.
enum OperandType: Hashable, Sendable {
    case null
    case value(PropertyType)
    /// An object of a table.
    case object(TableID)
    /// A decimal number in the text with more digits than a double, and its exact value.
    case literal(DecimalValue)

    var isNumeric: Bool {
        switch self {
        case .value(let type): type.isNumeric
        case .literal: true
        case .null, .object: false
        }
    }

    /// Returns whether values of both types can be equal.
    func isComparable(with other: OperandType) -> Bool {
        self == other || self == .null || other == .null || (isNumeric && other.isNumeric)
            || isMixed || other.isMixed
    }

    var isMixed: Bool { self == .value(.mixed) }
}

/// One side of a comparison, with names looked up and types known.
struct PredicateOperand {
    enum Form {
        case constant(Scalar)
        case list([(value: Scalar, type: OperandType)])
        case path(CompiledPath)
        case expression(any PredicateExpression)
    }

    private(set) var form: Form
    let type: OperandType
    /// The description in messages, such as `'Dog.age' (int)` or `a string`.
    let description: String
    let range: Range<Int>
    var quantifier: Quantifier?
    /// Whether the operand is a backlinks property itself, which cannot be compared with nil.
    var isBacklinks = false
    /// The properties of a path, from the queried class on.
    var components: [PropertyPath.Component] = []
    /// Whether the operand is the `@type` of a mixed value, which is compared with names of types only.
    var isTypeName = false

    /// The operand as an expression that is computed for each row; nil for a list of constants.
    var expression: (any PredicateExpression)? {
        switch form {
        case .constant(let value): ConstantExpression(constant: value)
        case .list: nil
        case .path(let path): PathExpression(path: path)
        case .expression(let expression): expression
        }
    }

    /// Returns the operand with another path.
    func with(_ path: CompiledPath) -> PredicateOperand {
        var copy = self
        copy.form = .path(path)
        return copy
    }

    var isConstant: Bool {
        if case .constant = form { true } else { false }
    }

    var isToMany: Bool { expression?.isToMany ?? false }
}
