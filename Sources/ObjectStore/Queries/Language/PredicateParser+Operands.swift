import Decimals

extension PredicateParser {
    mutating func parseSum() throws(QueryFault) -> PredicateSyntax {
        try parseChain([.plus, .minus]) { (parser) throws(QueryFault) in
            try parser.parseProduct()
        }
    }

    private mutating func parseProduct() throws(QueryFault) -> PredicateSyntax {
        try parseChain([.times, .divided]) { (parser) throws(QueryFault) in
            try parser.parseUnary()
        }
    }

    private mutating func parseChain(
        _ operators: [ArithmeticOperator],
        _ operand: (inout PredicateParser) throws(QueryFault) -> PredicateSyntax
    ) throws(QueryFault) -> PredicateSyntax {
        let start = current
        var result = try operand(&self)
        var length = 0
        while let sign = operators.first(where: { current.isSymbol($0.rawValue) }) {
            // A chain nests to the left, so its length is a recursion depth for code that walks the tree.
            length += 1
            guard length <= PredicateParser.mostNested else {
                throw QueryFault("too many operations in one expression", at: current.range)
            }
            advance()
            let right = try operand(&self)
            result = PredicateSyntax(
                form: .arithmetic(sign, result, right), range: range(from: start))
        }
        return result
    }

    private mutating func parseUnary() throws(QueryFault) -> PredicateSyntax {
        let start = current
        var isNegative = false
        var isSigned = false
        while current.isSymbol("-", "+") {
            isSigned = true
            if current.isSymbol("-") { isNegative.toggle() }
            advance()
        }
        let inner = try parsePrimary()
        guard isSigned else { return inner }
        let whole = range(from: start)
        switch inner.form {
        case .value(.int(let value)):
            return PredicateSyntax(form: .value(.int(isNegative ? -value : value)), range: whole)
        case .number(let value, let written):
            let form = PredicateSyntax.Form.number(
                isNegative ? -value : value, written: isNegative ? written.map { -$0 } : written)
            return PredicateSyntax(form: form, range: whole)
        case .value(.decimal(let value)):
            return PredicateSyntax(
                form: .value(.decimal(isNegative ? -value : value)), range: whole)
        default:
            return isNegative ? PredicateSyntax(form: .negated(inner), range: whole) : inner
        }
    }

    private mutating func parsePrimary() throws(QueryFault) -> PredicateSyntax {
        let token = current
        switch token.kind {
        case .value(let value): return constant(.value(value))
        case .number(let value, let written): return constant(.number(value, written: written))
        case .date(let value): return constant(.date(value))
        case .argument(let position): return constant(.argument(position))
        case .variable, .aggregate, .quoted:
            let path = try parsePath(quantifier: nil)
            return PredicateSyntax(form: .path(path), range: range(from: token))
        case .symbol("("):
            advance()
            let inner = try parseCondition()
            try expect(")", "to close the parenthesis")
            return PredicateSyntax(form: inner.form, range: range(from: token))
        case .symbol("{"):
            return try parseList()
        case .name:
            return try parseNamed()
        case .end:
            throw QueryFault(
                position == 0
                    ? "expected a condition; 'truepredicate' matches everything"
                    : "expected a value or a property, got the end", at: token.range)
        default:
            throw QueryFault(
                "expected a value or a property, got \(token.description)", at: token.range)
        }
    }

    private mutating func constant(_ form: PredicateSyntax.Form) -> PredicateSyntax {
        let range = current.range
        advance()
        return PredicateSyntax(form: form, range: range)
    }

    private mutating func parseList() throws(QueryFault) -> PredicateSyntax {
        let start = current
        advance()
        try descend()
        defer { depth -= 1 }
        var elements: [PredicateSyntax] = []
        if !current.isSymbol("}") {
            repeat { elements.append(try parseSum()) } while takeSymbol(",")
        }
        try expect("}", "to close the list")
        return PredicateSyntax(form: .list(elements), range: range(from: start))
    }

    private mutating func parseNamed() throws(QueryFault) -> PredicateSyntax {
        let token = current
        guard case .name(let name) = token.kind else { return constant(.value(.null)) }
        let continuesPath = next.isSymbol(".")
        switch name.lowercased() {
        case "true" where !continuesPath: return constant(.value(.bool(true)))
        case "false" where !continuesPath: return constant(.value(.bool(false)))
        case "nil" where !continuesPath, "null" where !continuesPath:
            return constant(.value(.null))
        case "truepredicate" where !continuesPath: return constant(.always(true))
        case "falsepredicate" where !continuesPath: return constant(.always(false))
        case "subquery" where next.isSymbol("("): return try parseSubquery()
        case "any" where startsPath(next), "some" where startsPath(next):
            return try parseQuantified(.any)
        case "all" where startsPath(next): return try parseQuantified(.all)
        case "none" where startsPath(next): return try parseQuantified(.none)
        default:
            if next.isSymbol("(") { throw PredicateParser.notAFunction(name, token.range) }
            let path = try parsePath(quantifier: nil)
            return PredicateSyntax(form: .path(path), range: range(from: token))
        }
    }

    private static func notAFunction(_ name: String, _ range: Range<Int>) -> QueryFault {
        if ["sort", "distinct", "limit", "where"].contains(name.lowercased()) {
            return QueryFault(
                "'\(name)(…)' must follow a condition; use 'truepredicate' to match all objects",
                at: range)
        }
        if geoShapes.contains(where: { $0.lowercased() == name.lowercased() }) {
            return QueryFault("'\(name)(…)' must follow 'geoWithin'", at: range)
        }
        let known = ["subquery", "date"] + FixedType.all.flatMap(\.traits.functions)
        return QueryFault(
            "there is no function '\(name)'" + NearestName.hint(for: name, among: known),
            at: range)
    }

    /// Returns whether a word after `any` begins a path: a property may have the name `all` or `none`.
    private func startsPath(_ token: QueryToken) -> Bool {
        switch token.kind {
        case .variable, .aggregate, .quoted: return true
        case .name(let name):
            return ![
                "and", "or", "in", "between", "beginswith", "endswith", "contains", "like",
                "geowithin",
            ].contains(name.lowercased())
        default: return token.isSymbol("{")
        }
    }

    private mutating func parseQuantified(
        _ quantifier: Quantifier
    ) throws(QueryFault) -> PredicateSyntax {
        let start = current
        advance()
        if current.isSymbol("{") {
            throw QueryFault(
                "'any', 'all' and 'none' need a list property, not a list of values",
                at: current.range)
        }
        let path = try parsePath(quantifier: quantifier)
        return PredicateSyntax(form: .path(path), range: range(from: start))
    }

    mutating func parsePath(quantifier: Quantifier?) throws(QueryFault) -> PathSyntax {
        var path = PathSyntax(quantifier: quantifier, variable: nil, components: [])
        if case .variable(let name) = current.kind {
            path.variable = name
            advance()
            if !takeSymbol(".") { return path }
        }
        repeat {
            switch current.kind {
            case .name(let name), .quoted(let name):
                path.components.append(.init(name: name, isAggregate: false, range: current.range))
            case .aggregate(let name):
                path.components.append(.init(name: name, isAggregate: true, range: current.range))
            default:
                throw QueryFault(
                    "expected a property name, got \(current.description)", at: current.range)
            }
            advance()
            guard path.components.count <= PropertyPath.mostComponents else {
                // A path is followed recursively, so its length is limited too.
                throw QueryFault(
                    "the path is too long; at most \(PropertyPath.mostComponents) steps are allowed",
                    at: path.components[path.components.count - 1].range)
            }
            while current.isSymbol("[") {
                path.components[path.components.count - 1].brackets.append(try parseBracket())
            }
        } while takeSymbol(".")
        return path
    }

    /// Parses the contents of brackets after a name.
    private mutating func parseBracket() throws(QueryFault) -> PathSyntax.Bracket {
        advance()
        let token = current
        let form: PathSyntax.Bracket.Form
        switch token.kind {
        case .value(.int(let index)): form = .index(index)
        case .value(.string(let key)): form = .key(key)
        case .argument(let position): form = .argument(position)
        case .name where token.isWord("first"): form = .first
        case .name where token.isWord("last"): form = .last
        case .name where token.isWord("size"): form = .size
        case .symbol("*"): form = .every
        default:
            throw QueryFault(
                "expected an index from 1, 'first', 'last', 'size', * or a quoted key in brackets, got "
                    + token.description, at: token.range)
        }
        advance()
        try expect("]", "after the index")
        return PathSyntax.Bracket(form: form, range: token.range)
    }

    private mutating func parseSubquery() throws(QueryFault) -> PredicateSyntax {
        let start = current
        advance()
        try expect("(", "after 'subquery'")
        let collectionStart = current
        let collection = try parsePath(quantifier: nil)
        let collectionRange = range(from: collectionStart)
        try expect(",", "after the collection of the subquery")
        guard case .variable(let variable) = current.kind else {
            throw QueryFault(
                "expected a variable such as $x, got \(current.description)", at: current.range)
        }
        advance()
        try expect(",", "after the variable of the subquery")
        let condition = try parseCondition()
        try expect(")", "to close the subquery")
        guard takeSymbol("."), case .aggregate(let name) = current.kind,
            ["count", "size"].contains(name.lowercased())
        else { throw QueryFault("a subquery must be followed by .@count", at: range(from: start)) }
        advance()
        return PredicateSyntax(
            form: .subquery(
                SubquerySyntax(
                    collection: collection, collectionRange: collectionRange, variable: variable,
                    condition: condition)),
            range: range(from: start))
    }
}
