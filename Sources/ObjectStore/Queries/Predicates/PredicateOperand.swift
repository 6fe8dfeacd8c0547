import ColumnStorage

/// The type of an operand's values, as far as comparing needs it.
enum OperandType: Hashable, Sendable {
    case null
    case value(PropertyType)
    /// An object of a table.
    case object(TableID)
    /// A double with more digits than it holds: a constant of this value, as it is written in the text.
    case literal(DecimalValue)

    var isNumeric: Bool {
        switch self {
        case .value(let type): type.isNumeric
        case .literal: true
        case .null, .object: false
        }
    }

    /// Whether values of both can be equal.
    func isComparable(with other: OperandType) -> Bool {
        self == other || self == .null || other == .null || (isNumeric && other.isNumeric)
            || isMixed || other.isMixed
    }

    var isMixed: Bool { self == .value(.mixed) }
}

/// One side of a comparison, looked up and typed.
struct PredicateOperand {
    enum Form {
        case constant(Scalar)
        case list([(value: Scalar, type: OperandType)])
        case path(CompiledPath)
        case expression(any PredicateExpression)
    }

    private(set) var form: Form
    let type: OperandType
    /// How messages call it: `'Dog.age' (int)`, `a string`.
    let description: String
    let range: Range<Int>
    var quantifier: Quantifier?
    /// Whether it is a backlinks property itself, which cannot be compared with nil.
    var isBacklinks = false
    /// The properties on the way of a path, from the queried class on.
    var components: [PropertyPath.Component] = []
    /// Whether it is the `@type` of a mixed value, which is compared with names of types only.
    var isTypeName = false

    /// The operand as something to compute for each row; nil for a list of constants.
    var expression: (any PredicateExpression)? {
        switch form {
        case .constant(let value): ConstantExpression(constant: value)
        case .list: nil
        case .path(let path): PathExpression(path: path)
        case .expression(let expression): expression
        }
    }

    /// The operand with another path.
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
