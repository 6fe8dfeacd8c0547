import ColumnStorage

// The operator `in` for lists of constants, lists of values, and collections.
extension PredicateCompiler {
    func member(_ compared: ComparedOperands) throws(QueryFault) -> any PredicateNode {
        if case .list(let members) = compared.right.form {
            return try member(compared, of: members)
        }
        let (left, folding) = (compared.left, compared.folding)
        var right = compared.right
        if !right.isToMany, case .path(let path) = right.form, let elements = path.elementsOfMixed {
            right = right.with(elements)
        }
        guard right.isToMany else {
            throw QueryFault(
                "'in': expected a list such as {1, 2} or a list property, got \(right.description)",
                at: right.range)
        }
        if case .path(let path) = right.form, case .constant(let value) = left.form {
            return node(path, right, try test(right, .equal, value, of: left, folding: folding))
        }
        try check(.equal, folding, on: left, compared.operatorRange)
        try check(.equal, folding, on: right, compared.operatorRange)
        guard isComparable(left, right),
            let first = left.expression(comparedWith: right),
            let second = right.expression(comparedWith: left)
        else { throw mismatch(left, right, compared.operatorRange) }
        return ComparisonNode(
            left: first, right: second, operation: .memberOf, folding: folding,
            quantifier: right.quantifier ?? left.quantifier ?? .any,
            quantifiesRight: right.quantifier != nil)
    }

    private func member(
        _ compared: ComparedOperands, of members: [(value: Scalar, type: OperandType)]
    ) throws(QueryFault) -> any PredicateNode {
        let (left, folding) = (compared.left, compared.folding)
        let members = left.type.isMixed ? members : members.filter { !$0.type.isMixed }
        if left.isBacklinks, members.contains(where: { $0.value == .null }) {
            throw QueryFault(
                "\(left.description) is never nil; compare its '@count' with 0", at: left.range)
        }
        try check(.equal, folding, on: left, compared.operatorRange)
        if case .path(let path) = left.form {
            let test =
                folding.isNeeded
                ? PredicateCompiler.foldedMembershipTest(folding, members)
                : PredicateCompiler.membershipTest(left.type, members)
            return node(path, left, test)
        }
        if folding.isNeeded {
            // No calculation yields text, so this is a constant.
            guard let expression = left.expression else { return ConstantNode(value: false) }
            let test = PredicateCompiler.foldedMembershipTest(folding, members)
            return ExpressionTestNode(expression: expression, test: test).folded
        }
        let comparable = members.filter { left.type.isComparable(with: $0.type) }.map {
            PredicateCompiler.constant($0.value, $0.type, beside: left.type)
        }
        return membership(left, comparable, isRange: false)
    }

    func membership(
        _ operand: PredicateOperand, _ members: [Scalar], isRange: Bool
    ) -> any PredicateNode {
        guard let expression = operand.expression else { return ConstantNode(value: false) }
        let node = MembershipNode(
            operand: expression, quantifier: operand.quantifier ?? .any, members: members,
            isRange: isRange)
        return operand.isConstant ? node.folded : node
    }

    /// Converts a list of constants to a test; members of another type match no value.
    private static func membershipTest(
        _ type: OperandType, _ members: [(value: Scalar, type: OperandType)]
    ) -> ValueTest {
        let matchesNull = members.contains { $0.value == .null }
        if type.isMixed {
            let values = members.filter {
                $0.value != .null && !isBetweenMicroseconds($0.value, $0.type)
            }.map { Scalar(mixed: $0.value, $0.type) }
            return ValueTest(form: .oneOf(values), matchesNull: matchesNull)
        }
        let values = members.filter { $0.type.isComparable(with: type) && $0.value != .null }
            .map { constant($0.value, $0.type, beside: type) }
        let form: ValueTest.Form
        switch type {
        case .value(.int), .value(.date):
            let numbers = values.compactMap { value -> Int64? in
                if case .int(.equal, let number) = whole(.equal, value) { number } else { nil }
            }
            form = .intIn(IntSet(numbers))
        case .value(.decimal):
            form = .oneOf(values)
        case .value(.float), .value(.double):
            let numbers = values.compactMap { value -> Double? in
                if case .double(.equal, let number) = real(.equal, value) { number } else { nil }
            }
            form = .doubleIn(RealSet(numbers))
        case .value(.bool):
            let flags = Set(values)
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

    /// Returns a test of whether text equals one of several constants after folding; constants of other types match no
    /// value.
    private static func foldedMembershipTest(
        _ folding: TextFolding, _ members: [(value: Scalar, type: OperandType)]
    ) -> ValueTest {
        var texts: Set<[Unicode.Scalar]> = []
        for member in members where member.type == .value(.string) {
            if case .bytes(let bytes) = member.value {
                texts.insert(folding.scalars(bytes.span))
            }
        }
        return ValueTest(
            form: .bytes(.folded(folding, .oneOf(texts))),
            matchesNull: members.contains { $0.value == .null })
    }
}
