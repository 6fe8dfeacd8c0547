import ColumnStorage

// `in`: lists of constants, lists of values, and collections.
extension PredicateCompiler {
    func member(
        _ left: PredicateOperand, _ right: PredicateOperand, _ folding: TextFolding,
        _ syntax: ComparisonSyntax
    ) throws(QueryFault) -> any PredicateNode {
        guard !folding.isNeeded else {
            throw QueryFault("'in' has no options such as [c]", at: syntax.operatorRange)
        }
        if case .list(let members) = right.form {
            if left.isBacklinks, members.contains(where: { $0.value == .null }) {
                throw QueryFault(
                    "\(left.description) is never nil; compare its '@count' with 0", at: left.range)
            }
            if case .path(let path) = left.form {
                return node(path, left, PredicateCompiler.membershipTest(left.type, members))
            }
            let comparable = members.filter { left.type.isComparable(with: $0.type) }
            return membership(left, comparable.map(\.value), isRange: false)
        }
        var right = right
        if !right.isToMany, case .path(let path) = right.form, let elements = path.elementsOfMixed {
            right = right.with(elements)
        }
        guard right.isToMany else {
            throw QueryFault(
                "'in': expected a list such as {1, 2} or a list property, got \(right.description)",
                at: right.range)
        }
        if case .path(let path) = right.form, case .constant(let value) = left.form {
            return node(path, right, try test(.equal, right, value, left, folding))
        }
        guard isComparable(left, right),
            let first = left.expression(comparedWith: right),
            let second = right.expression(comparedWith: left)
        else { throw mismatch(left, right, syntax.operatorRange) }
        return ComparisonNode(
            left: first, right: second, operation: .memberOf, folding: folding,
            quantifier: right.quantifier ?? left.quantifier ?? .any,
            quantifiesRight: right.quantifier != nil)
    }

    func membership(
        _ operand: PredicateOperand, _ members: [Scalar], isRange: Bool
    ) -> any PredicateNode {
        guard let expression = operand.expression else { return ConstantNode(value: false) }
        let node = MembershipNode(
            operand: expression, quantifier: operand.quantifier ?? .any, members: members,
            isRange: isRange)
        guard operand.isConstant else { return node }
        return ConstantNode(value: node.matches(BoundTables(), ObjectKey(rawValue: 0)))
    }

    /// A list of constants as a test; members of another type match nothing.
    private static func membershipTest(
        _ type: OperandType, _ members: [(value: Scalar, type: OperandType)]
    ) -> ValueTest {
        let matchesNull = members.contains { $0.value == .null }
        if type.isMixed {
            let values = members.filter { $0.value != .null }.map {
                Scalar(mixed: $0.value, $0.type)
            }
            return ValueTest(form: .oneOf(values), matchesNull: matchesNull)
        }
        let values = members.filter { $0.type.isComparable(with: type) }.map(\.value)
        let form: ValueTest.Form
        switch type {
        case .value(.int), .value(.date):
            let numbers = values.compactMap { value -> Int64? in
                if case .int(.equal, let number) = whole(.equal, value) { number } else { nil }
            }
            form = .intIn(IntSet(numbers))
        case .value(.decimal):
            form = .oneOf(values.filter { $0 != .null }.map(decimal))
        case .value(.double) where values.contains { if case .decimal = $0 { true } else { false } }:
            form = .oneOf(values.filter { $0 != .null })
        case .value(.float), .value(.double):
            form = .doubleIn(RealSet(values.filter { $0 != .null }.map { real($0, type) }))
        case .value(.bool):
            let flags = Set(values.filter { $0 != .null })
            form =
                flags.count == 2
                ? .always : flags.isEmpty ? .never : .bool(flags.contains(.bool(true)))
        case .object:
            form = .links(
                IntSet(
                    values.compactMap {
                        if case .link(let key) = $0 { key.rawValue } else { nil }
                    }))
        default:
            form = .bytes(
                .oneOf(
                    BytesSet(
                        values.compactMap { if case .bytes(let bytes) = $0 { bytes } else { nil } })
                ))
        }
        return ValueTest(form: form, matchesNull: matchesNull)
    }
}
