import ColumnStorage
import Decimals

/// The compiled sides of a comparison, its operator and its options.
struct ComparedOperands {
    var left: PredicateOperand
    var operation: PredicateOperator
    var right: PredicateOperand
    let folding: TextFolding
    let operatorRange: Range<Int>
    let range: Range<Int>

    /// The same comparison with the constant on the right side, if one side is a constant and the operator has a
    /// mirrored form.
    var withConstantOnRight: ComparedOperands {
        guard left.isConstant, !right.isConstant, let mirrored = operation.mirrored else {
            return self
        }
        var result = self
        (result.left, result.operation, result.right) = (right, mirrored, left)
        return result
    }
}

extension PredicateCompiler {
    mutating func compile(
        _ syntax: ComparisonSyntax, _ range: Range<Int>, _ scope: Scope
    ) throws(QueryFault) -> any PredicateNode {
        let folding = TextFolding(
            ignoresCase: syntax.ignoresCase, ignoresDiacritics: syntax.ignoresDiacritics)
        let left = try operand(syntax.left, scope)
        let right: PredicateOperand
        do {
            right = try operand(syntax.right, scope)
        } catch {
            throw unquoted(syntax.right, scope) ?? error
        }
        if left.quantifier != nil, right.quantifier != nil {
            throw QueryFault("only one side can have 'any', 'all' or 'none'", at: right.range)
        }
        if left.isTypeName || right.isTypeName { return try typeTest(left, right, syntax) }
        let compared = ComparedOperands(
            left: left, operation: syntax.comparison, right: right, folding: folding,
            operatorRange: syntax.operatorRange, range: range)
        switch syntax.comparison {
        case .between: return try between(compared)
        case .memberOf: return try member(compared)
        case .text: return try search(compared)
        default:
            if let sequence = try sequence(compared) { return sequence }
            return try compare(compared.withConstantOnRight)
        }
    }

    /// Returns the error for text without quotes, such as `name = Rex`; nil if the operand is not an unknown name.
    private func unquoted(_ syntax: PredicateSyntax, _ scope: Scope) -> QueryFault? {
        guard case .path(let path) = syntax.form, path.components.count == 1,
            let name = path.components.first?.name,
            NearestName.find(name, among: scope.classSchema.properties.map(\.name)) == nil
        else { return nil }
        return QueryFault(
            "'\(scope.classSchema.name)' has no property '\(name)'; write text in quotes: '\(name)'",
            at: syntax.range, isUnknownName: true)
    }

    private func compare(_ compared: ComparedOperands) throws(QueryFault) -> any PredicateNode {
        let (left, right) = (compared.left, compared.right)
        let (operation, folding) = (compared.operation, compared.folding)
        for (side, other) in [(left, right), (right, left)]
        where side.isBacklinks && other.type == .null {
            throw QueryFault(
                "\(side.description) is never nil; compare its '@count' with 0", at: side.range)
        }
        try check(operation, folding, on: left, compared.operatorRange)
        try check(operation, folding, on: right, compared.operatorRange)
        if case .constant(let constant) = right.form, case .path = left.form {
            return node(left, try test(left, operation, constant, of: right, folding: folding))
        }
        if let count = countNode(left, operation, right) { return count }
        guard isComparable(left, right) else { throw mismatch(left, right, compared.range) }
        guard let first = left.expression(comparedWith: right),
            let second = right.expression(comparedWith: left)
        else { throw mismatch(left, right, compared.range) }
        let result = ComparisonNode(
            left: first, right: second, operation: operation, folding: folding,
            quantifier: left.quantifier ?? right.quantifier ?? .any,
            quantifiesRight: right.quantifier != nil)
        return left.isConstant && right.isConstant ? result.folded : result
    }

    /// Compares the list at a path with a list of constants: equal elements in the same order.
    private func sequence(
        _ compared: ComparedOperands
    ) throws(QueryFault) -> (any PredicateNode)? {
        var operands = (list: compared.right, path: compared.left)
        if case .list = compared.left.form { operands = (compared.left, compared.right) }
        guard case .list(let members) = operands.list.form else { return nil }
        if let equal = wholeList(operands.path, members, compared.operation) { return equal }
        guard compared.operation == .equal, operands.path.isToMany,
            case .path(let path) = operands.path.form
        else {
            let reason =
                operands.path.isToMany || operands.path.type.isMixed
                ? "a list is compared with '==' only; write 'not (… == {…})' for the opposite"
                : "a list cannot be compared with \(operands.path.description); use 'in'"
            throw QueryFault(reason, at: operands.list.range)
        }
        guard operands.path.quantifier == nil else {
            throw QueryFault(
                "'==' compares complete lists; remove the quantifier, or use 'in'",
                at: operands.path.range)
        }
        var tests: [ValueTest] = []
        for member in members {
            let constant = PredicateOperand(
                form: .constant(member.value), type: member.type, description: "that element",
                range: operands.list.range)
            try check(.equal, compared.folding, on: operands.path, compared.operatorRange)
            if member.type.isMixed, !operands.path.type.isMixed {
                throw mismatch(operands.path, operands.list, operands.list.range)
            }
            tests.append(
                try test(
                    operands.path, .equal, member.value, of: constant, folding: compared.folding))
        }
        var whole: ValueTest?
        if case .mixed(let inside) = path.terminal, inside.isMixed, inside.base != .elements {
            whole = Self.equal(to: members)
        }
        return SequenceNode(
            path: path, tests: tests,
            isSet: operands.path.components.last?.property.collection == .set, whole: whole)
    }

    /// Compares the number of elements of a list of the class itself with a number; lists store their counts.
    private func countNode(
        _ left: PredicateOperand, _ operation: PredicateOperator, _ right: PredicateOperand
    ) -> (any PredicateNode)? {
        guard case .expression(let expression) = left.form,
            let paths = (expression as? CountExpression)?.paths, paths.count == 1,
            case .constant(let number) = right.form, number.number != nil,
            let comparison = operation.comparison
        else { return nil }
        let form = PredicateCompiler.whole(comparison, number)
        switch (paths[0].hops.first, paths[0].hops.count, paths[0].terminal) {
        case (.list(let slot, let column)?, 1, .object),
            (.entries(let slot, let column)?, 1, .object):
            return ElementCountNode(slot: slot, column: column, form: form)
        case (nil, _, .elements(let slot, let source)):
            return ElementCountNode(slot: slot, column: source.column, form: form)
        default:
            return nil
        }
    }

    func isComparable(_ left: PredicateOperand, _ right: PredicateOperand) -> Bool {
        if left.type.isComparable(with: right.type) { return true }
        // A script may write a Boolean value as the number 0 or 1, but not as another number.
        for (side, other) in [(left, right), (right, left)] where side.type == .value(.bool) {
            if case .constant(.int(0...1)) = other.form { return true }
        }
        return false
    }

    func mismatch(
        _ left: PredicateOperand, _ right: PredicateOperand, _ range: Range<Int>
    ) -> QueryFault {
        QueryFault(
            "\(left.description) cannot be compared with \(right.description)",
            at: right.isConstant ? right.range : range)
    }

    /// Throws for operators that are not defined for the operand's type.
    func check(
        _ operation: PredicateOperator, _ folding: TextFolding, on operand: PredicateOperand,
        _ range: Range<Int>
    ) throws(QueryFault) {
        let name = operation.rawValue
        if folding.isNeeded {
            guard operation == .equal || operation == .notEqual || operation.searchesText else {
                throw QueryFault("'\(name)' has no options such as [c]", at: range)
            }
            guard [.value(.string), .value(.mixed), .null].contains(operand.type) else {
                throw QueryFault(
                    "options such as [c] are for strings, not for \(operand.description)", at: range
                )
            }
        }
        switch operand.type {
        case .value(.string), .value(.mixed), .null: return
        case .value(.data) where operation != .like: return
        case .value(.bool), .object:
            guard operation == .equal || operation == .notEqual else {
                throw QueryFault("'\(name)' cannot be used with \(operand.description)", at: range)
            }
        default:
            guard !operation.searchesText else {
                throw QueryFault(
                    "'\(name)' searches strings, not \(operand.description)", at: range)
            }
        }
    }

    /// Converts a comparison of a path with a constant to a test of the path's values.
    func test(
        _ path: PredicateOperand, _ operation: PredicateOperator, _ constant: Scalar,
        of right: PredicateOperand, folding: TextFolding
    ) throws(QueryFault) -> ValueTest {
        if constant == .null {
            switch operation {
            case .equal: return .isNull
            case .notEqual: return .isNotNull
            default: return ValueTest(form: .never, matchesNull: false)
            }
        }
        guard isComparable(path, right) else { throw mismatch(path, right, right.range) }
        let matchesNull = operation == .notEqual
        // Other operators have been rejected for types that are not text.
        let comparison = operation.comparison ?? .equal
        let form: ValueTest.Form
        switch (path.type, constant) {
        case (.value(.mixed), .bytes(let bytes))
        where right.type == .value(.string)
            && (operation.searchesText || folding.isNeeded):
            form = .bytes(TextTest(operation, bytes, folding))
        case (.value(.mixed), _):
            guard let comparison = operation.comparison else {
                throw mismatch(path, right, right.range)
            }
            form = PredicateCompiler.mixed(comparison, constant, right.type)
        case (.object, .link(let key)):
            form = matchesNull ? .notLink(key) : .links(IntSet([key.rawValue]))
        case (.value(.bool), .bool(let flag)):
            form = .bool(flag != matchesNull)
        case (.value(.bool), .int(let number)):
            form = .bool((number == 1) != matchesNull)
        case (.value(.int), _), (.value(.date), _):
            form = PredicateCompiler.whole(comparison, constant)
        case (.value(.float), _), (.value(.double), _):
            form = PredicateCompiler.real(
                comparison, PredicateCompiler.constant(constant, right.type, beside: path.type))
        case (.value(.decimal), _):
            form = .compare(
                comparison, PredicateCompiler.constant(constant, right.type, beside: path.type))
        case (_, .bytes(let bytes)):
            form = .bytes(TextTest(operation, bytes, folding))
        default:
            throw mismatch(path, right, right.range)
        }
        return ValueTest(form: form, matchesNull: matchesNull)
    }

    private func between(_ compared: ComparedOperands) throws(QueryFault) -> any PredicateNode {
        let (left, right) = (compared.left, compared.right)
        guard !compared.folding.isNeeded else {
            throw QueryFault("'between' has no options such as [c]", at: compared.operatorRange)
        }
        guard case .list(let bounds) = right.form, bounds.count == 2 else {
            throw QueryFault("'between' needs two constants: between {1, 10}", at: right.range)
        }
        guard left.type.isNumeric || left.type == .value(.date) || left.type.isMixed else {
            throw QueryFault(
                "'between' is for numbers and dates, not for \(left.description)", at: left.range)
        }
        for bound in bounds
        where bound.type.isMixed || !left.type.isComparable(with: bound.type) {
            throw QueryFault(
                "\(left.description) cannot be between values of another type", at: right.range)
        }
        if bounds.contains(where: { $0.value == .null }) { return ConstantNode(value: false) }
        let meant = bounds.map {
            PredicateCompiler.constant($0.value, $0.type, beside: left.type)
        }
        let form: ValueTest.Form
        switch (left.form, left.type) {
        case (.path, .value(.mixed)): form = PredicateCompiler.mixedRange(bounds[0], bounds[1])
        case (.path, .value(.int)), (.path, .value(.date)):
            form = PredicateCompiler.wholeRange(meant[0], meant[1])
        case (.path, .value(.float)), (.path, .value(.double)):
            form = PredicateCompiler.realRange(meant[0], meant[1])
        default: form = .between(meant[0], meant[1])
        }
        return node(left, ValueTest(form: form, matchesNull: false))
    }
}

// Constants in comparisons with values of a type. No constant is rounded to the type of a column: `age > 2.5` means
// `age >= 3`, and `age == 2.5` matches nothing.
extension PredicateCompiler {
    /// Converts a constant for a comparison with values of a type (``Number/constant(beside:)``).
    static func constant(
        _ value: Scalar, _ type: OperandType, beside other: OperandType
    ) -> Scalar {
        guard case .value(let property) = other, property.isNumeric, let number = value.number
        else { return value }
        switch (property, type) {
        case (.decimal, .literal(let written)): return .decimal(written)
        case (.decimal, .value(.float)) where number.hasFraction:
            return .decimal(DecimalValue(Float(value.double ?? 0)))
        default: return Scalar(number.constant(beside: property))
        }
    }

    /// Converts a comparison of ints, or of dates in microseconds, with a number to a test of ints.
    static func whole(_ comparison: Comparison, _ constant: Scalar) -> ValueTest.Form {
        guard let number = constant.number else { return .never }
        switch number.wholeBound {
        case .at(let floor, let isExact):
            return compared(comparison, isExact: isExact) { .int($0, floor) }
        case .below:
            return switch comparison {
            case .equal, .less, .lessOrEqual: .never
            case .notEqual, .greater, .greaterOrEqual: .always
            }
        case .above:
            return switch comparison {
            case .equal, .greater, .greaterOrEqual: .never
            case .notEqual, .less, .lessOrEqual: .always
            }
        }
    }

    /// Converts a comparison of floats or doubles with a number to a test of doubles.
    static func real(_ comparison: Comparison, _ constant: Scalar) -> ValueTest.Form {
        guard let (floor, isExact) = constant.number?.floor else { return .never }
        return compared(comparison, isExact: isExact) { .double($0, floor) }
    }

    /// Returns a comparison with a constant; `test` compares with the greatest value that is not greater.
    ///
    /// `isExact` shows whether this value is the constant itself.
    private static func compared(
        _ comparison: Comparison, isExact: Bool, _ test: (Comparison) -> ValueTest.Form
    ) -> ValueTest.Form {
        if isExact { return test(comparison) }
        return switch comparison {
        case .equal: .never
        case .notEqual: .always
        case .less, .lessOrEqual: test(.lessOrEqual)
        case .greater, .greaterOrEqual: test(.greater)
        }
    }

    /// Returns the range of ints, or of dates in microseconds, between two numbers.
    static func wholeRange(_ low: Scalar, _ high: Scalar) -> ValueTest.Form {
        let minimum: Int64
        switch whole(.greaterOrEqual, low) {
        // The floor of a fraction is less than the largest int.
        case .int(.greater, let bound): minimum = bound + 1
        case .int(_, let bound): minimum = bound
        case .always: minimum = .min
        default: return .never
        }
        switch whole(.lessOrEqual, high) {
        case .int(_, let bound): return minimum <= bound ? .intBetween(minimum, bound) : .never
        case .always: return .intBetween(minimum, .max)
        default: return .never
        }
    }

    /// Returns the range of floats or doubles between two numbers.
    static func realRange(_ low: Scalar, _ high: Scalar) -> ValueTest.Form {
        guard let low = low.number?.floor, let high = high.number?.floor else { return .never }
        return .doubleBetween(low.isExact ? low.value : low.value.nextUp, high.value)
    }

    /// Returns a comparison of mixed values with a constant.
    static func mixed(
        _ comparison: Comparison, _ constant: Scalar, _ type: OperandType
    ) -> ValueTest.Form {
        compared(comparison, isExact: !isBetweenMicroseconds(constant, type)) {
            .compare($0, Scalar(mixed: constant, type))
        }
    }

    /// Returns whether a constant is a point in time between two microseconds, which no date equals.
    static func isBetweenMicroseconds(_ constant: Scalar, _ type: OperandType) -> Bool {
        if type == .value(.date), case .decimal = constant { true } else { false }
    }

    /// Returns the range of mixed values between two constants.
    static func mixedRange(
        _ low: (value: Scalar, type: OperandType), _ high: (value: Scalar, type: OperandType)
    ) -> ValueTest.Form {
        var minimum = Scalar(mixed: low.value, low.type)
        if case .decimal = low.value, case .mixed(.date(let floor)) = minimum {
            minimum = .mixed(.date(Timestamp(microseconds: floor.microseconds &+ 1)))
        }
        return .between(minimum, Scalar(mixed: high.value, high.type))
    }
}

extension PredicateOperand {
    /// Returns the operand as an expression that is computed for each row and compared with another one.
    func expression(comparedWith other: PredicateOperand) -> (any PredicateExpression)? {
        if case .constant(let value) = form {
            let meant = PredicateCompiler.constant(value, type, beside: other.type)
            return ConstantExpression(
                constant: other.type.isMixed ? Scalar(mixed: meant, type) : meant)
        }
        guard other.type.isMixed, !type.isMixed, type != .null else { return expression }
        return expression.map { MixedExpression(operand: $0, type: type) }
    }
}

extension Scalar {
    /// Creates the number of microseconds of a point in time: a decimal if it is between two microseconds.
    ///
    /// Digits after the 21st decimal place only indicate that the value is greater than its first 21 digits.
    init(_ moment: PreciseTimestamp) {
        let whole = moment.floor.microseconds
        var digits = moment.digitsBelow
        if digits.utf8.count > 15 { digits = "\(digits.prefix(15))1" }
        guard !digits.isEmpty, let rest = DecimalValue("0.\(digits)") else {
            self = .int(whole)
            return
        }
        self = .decimal(DecimalValue(whole) + rest)
    }
}

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
        if case .path = right.form, case .constant(let value) = left.form {
            return node(right, try test(right, .equal, value, of: left, folding: folding))
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
        if folding.isNeeded {
            return node(left, PredicateCompiler.foldedMembershipTest(folding, members))
        }
        if case .path = left.form {
            return node(left, PredicateCompiler.membershipTest(left.type, members))
        }
        let comparable = members.filter { left.type.isComparable(with: $0.type) }.map {
            PredicateCompiler.constant($0.value, $0.type, beside: left.type)
        }
        return node(
            left,
            ValueTest(
                form: .oneOf(comparable.filter { $0 != .null }),
                matchesNull: comparable.contains(.null)))
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

extension PredicateCompiler {
    /// Compiles a full-text search: `path text 'red -blue phrase*'`.
    mutating func search(_ compared: ComparedOperands) throws(QueryFault) -> any PredicateNode {
        let (left, right) = (compared.left, compared.right)
        guard !compared.folding.isNeeded else {
            throw QueryFault(
                "'text' has no options; it always ignores case and diacritics",
                at: compared.operatorRange)
        }
        guard case .path(let path) = left.form, left.type == .value(.string),
            let property = left.components.last?.property, property.isFullText
        else {
            let advice =
                left.type == .value(.string) ? "; declare it \"string fulltext\"" : ""
            throw QueryFault(
                "'text' needs a full-text property; \(left.description) is not one" + advice,
                at: left.range)
        }
        guard case .constant(.bytes(let bytes)) = right.form, right.type == .value(.string) else {
            throw QueryFault(
                "'text' needs a string to search for, got \(right.description)", at: right.range)
        }
        guard let query = TextQuery(String(decoding: bytes, as: UTF8.self)) else {
            throw QueryFault(
                "a search has at most \(TextQuery.maxTerms) words", at: right.range)
        }
        if !path.isToMany, !left.components.contains(where: \.isToMany) {
            searches.append(TextSearch(path: PropertyPath(left.components), query: query))
        }
        return node(left, ValueTest(form: .bytes(.search(query)), matchesNull: false))
    }
}
