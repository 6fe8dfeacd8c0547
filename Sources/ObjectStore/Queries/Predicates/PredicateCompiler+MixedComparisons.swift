import ColumnStorage

extension PredicateCompiler {
    /// Compiles a comparison of types: `extra.@type == 'int'`, `extra.@type in {'string', 'Dog'}`.
    func typeTest(
        _ left: PredicateOperand, _ right: PredicateOperand, _ syntax: ComparisonSyntax
    ) throws(QueryFault) -> any PredicateNode {
        let operands = left.isTypeName ? (left, right) : (right, left)
        let (path, names) = operands
        guard case .path(let compiled) = path.form, !syntax.ignoresCase, !syntax.ignoresDiacritics
        else { throw typeFault(syntax) }
        var members: [Scalar]
        switch (names.form, syntax.comparison) {
        case (.constant(let name), .equal), (.constant(let name), .notEqual): members = [name]
        case (.list(let list), .memberOf) where left.isTypeName: members = list.map(\.value)
        default: throw typeFault(syntax)
        }
        var codes: Set<Int64> = []
        for member in members {
            switch member {
            case .null: codes.insert(MixedType.null)
            case .bytes(let bytes):
                let name = String(decoding: bytes, as: UTF8.self)
                guard let found = MixedType.codes(named: name, in: schema) else {
                    throw QueryFault(
                        "'\(name)' is neither a type nor a class"
                            + NearestName.hint(for: name, among: MixedType.known(in: schema)),
                        at: names.range)
                }
                codes.formUnion(found)
            default: throw typeFault(syntax)
            }
        }
        if syntax.comparison == .notEqual {
            codes = Set(MixedType.all(in: schema)).subtracting(codes)
        }
        return node(
            compiled, path,
            ValueTest(
                form: .intIn(IntSet(Array(codes))), matchesNull: codes.contains(MixedType.null)))
    }

    private func typeFault(_ syntax: ComparisonSyntax) -> QueryFault {
        QueryFault(
            "'@type' is compared with names of types: @type == 'int', @type != 'string', @type in {'list', 'map'}",
            at: syntax.operatorRange)
    }

    /// Compares a mixed value that is a list with a list of constants; nil for other operands.
    func wholeList(
        _ path: PredicateOperand, _ members: [(value: Scalar, type: OperandType)],
        _ operation: PredicateOperator
    ) -> (any PredicateNode)? {
        guard path.type.isMixed, path.quantifier == nil, !path.isToMany, operation == .equal,
            case .path(let compiled) = path.form
        else { return nil }
        return node(compiled, path, Self.equal(to: members))
    }

    /// Returns the test for a mixed value that is a list of the given values.
    static func equal(to members: [(value: Scalar, type: OperandType)]) -> ValueTest {
        if members.contains(where: { isBetweenMicroseconds($0.value, $0.type) }) {
            return ValueTest(form: .never, matchesNull: false)
        }
        let values = members.map { Scalar(mixed: $0.value, $0.type).value }
        return ValueTest(form: .compare(.equal, .mixed(.list(values))), matchesNull: false)
    }
}

extension CompiledPath {
    /// The path to every element of the lists and maps in the mixed values; nil for other paths.
    var elementsOfMixed: CompiledPath? {
        switch terminal {
        case .mixed(var inside) where inside.isMixed:
            inside.steps.append(.elements)
            return CompiledPath(hops: hops, terminal: .mixed(inside))
        case .value(let slot, let source) where source.type == .mixed:
            let inside = MixedPath(
                slot: slot, column: source.column, base: .value, steps: [.elements])
            return CompiledPath(hops: hops, terminal: .mixed(inside))
        case .element(let slot, let source, let position) where source.type == .mixed:
            let inside = MixedPath(
                slot: slot, column: source.column, base: .element(position), steps: [.elements])
            return CompiledPath(hops: hops, terminal: .mixed(inside))
        default: return nil
        }
    }
}
