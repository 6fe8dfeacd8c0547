import Decimals
import Synchronization

/// Parses the predicate language, which `Query` describes, by recursive descent.
///
/// Conditions and operands share one grammar, from `or` down to a literal, because a parenthesis may open either. The
/// compiler, which knows the types, rejects misplaced expressions. Nesting is limited, so no text can exhaust the
/// stack.
struct PredicateParser {
    /// The maximum nesting of parentheses, `not`s and operands: more than users write, and few enough for any stack.
    static let maxNesting = 100

    private let tokens: [QueryToken]
    private(set) var position = 0
    var depth = 0

    /// Parses `text`; the error has a message and a location.
    ///
    /// The last texts are remembered, because programs repeat a few texts with other arguments.
    static func parse(_ text: String) throws(QueryFault) -> QuerySyntax {
        if let known = parsed.withLock({ $0[text] }) { return known }
        var parser = PredicateParser(tokens: try QueryLexer.tokens(of: text))
        let syntax = try parser.parseQuery()
        assert(parser.depth == 0, "each level of the nesting has ended")
        guard text.utf8.count <= longestRemembered else { return syntax }
        parsed.withLock {
            if $0.count >= maxRemembered { $0 = [:] }
            $0[text] = syntax
        }
        return syntax
    }

    private static let parsed = Mutex<[String: QuerySyntax]>([:])
    private static let maxRemembered = 256
    private static let longestRemembered = 512

    /// Parses a text that is only a path, such as a sort key.
    static func parsePath(_ text: String) throws(QueryFault) -> PathSyntax {
        var parser = PredicateParser(tokens: try QueryLexer.tokens(of: text))
        let path = try parser.parsePath(quantifier: nil)
        guard case .end = parser.current.kind else {
            throw QueryFault(
                "expected the end of the path, got \(parser.current.description)",
                at: parser.current.range)
        }
        return path
    }

    private init(tokens: [QueryToken]) {
        self.tokens = tokens
    }

    var current: QueryToken { tokens[position] }

    /// The token before the current one.
    var previous: QueryToken? { position > 0 ? tokens[position - 1] : nil }

    var next: QueryToken { tokens[min(position + 1, tokens.count - 1)] }

    mutating func advance() {
        if position < tokens.count - 1 { position += 1 }
    }

    mutating func takeSymbol(_ symbol: String) -> Bool {
        guard current.isSymbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func takeWord(_ word: String) -> Bool {
        guard current.isWord(word) else { return false }
        advance()
        return true
    }

    mutating func expect(_ symbol: String, _ purpose: String) throws(QueryFault) {
        guard takeSymbol(symbol) else {
            throw QueryFault(
                "expected '\(symbol)' \(purpose), got \(current.description)", at: current.range)
        }
    }

    /// Returns the text range from `start` to the end of the token before the current one.
    func range(from start: QueryToken) -> Range<Int> {
        let end = position > 0 ? tokens[position - 1].range.upperBound : start.range.upperBound
        return start.range.lowerBound..<max(end, start.range.lowerBound)
    }

    mutating func descend() throws(QueryFault) {
        depth += 1
        guard depth <= PredicateParser.maxNesting else {
            throw QueryFault(
                "nested too deeply; at most \(PredicateParser.maxNesting) levels are allowed",
                at: current.range)
        }
    }

    mutating func parseCondition() throws(QueryFault) -> PredicateSyntax {
        try descend()
        defer { depth -= 1 }
        let start = current
        var parts = [try parseConjunction()]
        while current.isWord("or") || current.isSymbol("||") {
            advance()
            parts.append(try parseConjunction())
        }
        return parts.count == 1
            ? parts[0] : PredicateSyntax(form: .or(parts), range: range(from: start))
    }

    private mutating func parseConjunction() throws(QueryFault) -> PredicateSyntax {
        let start = current
        var parts = [try parseNegation()]
        while current.isWord("and") || current.isSymbol("&&") {
            advance()
            parts.append(try parseNegation())
        }
        return parts.count == 1
            ? parts[0] : PredicateSyntax(form: .and(parts), range: range(from: start))
    }

    private mutating func parseNegation() throws(QueryFault) -> PredicateSyntax {
        let start = current
        var isNegated = false
        var count = 0
        while current.isWord("not") || current.isSymbol("!") {
            advance()
            isNegated.toggle()
            count += 1
        }
        let inner = try parseComparison()
        guard count > 0 else { return inner }
        let once = PredicateSyntax(form: .not(inner), range: range(from: start))
        return isNegated ? once : PredicateSyntax(form: .not(once), range: once.range)
    }

    private mutating func parseComparison() throws(QueryFault) -> PredicateSyntax {
        try QueryFault.step()
        let start = current
        let left = try parseSum()
        if current.isWord("geowithin") { return try parseGeoWithin(left, from: start) }
        guard let (comparison, operatorRange) = takeOperator() else {
            return left
        }
        let options = try parseOptions()
        let right = try parseSum()
        let syntax = ComparisonSyntax(
            comparison: comparison, operatorRange: operatorRange, ignoresCase: options.case,
            ignoresDiacritics: options.diacritics, left: left, right: right)
        let whole = range(from: start)
        if let (_, range) = takeOperator() {
            throw QueryFault("comparisons cannot be chained; join two with 'and'", at: range)
        }
        return PredicateSyntax(form: .comparison(syntax), range: whole)
    }

    private mutating func takeOperator() -> (PredicateOperator, Range<Int>)? {
        let found: PredicateOperator?
        switch current.kind {
        case .symbol("=="), .symbol("="): found = .equal
        case .symbol("!="), .symbol("<>"): found = .notEqual
        case .symbol("<"): found = .less
        case .symbol("<="), .symbol("=<"): found = .lessOrEqual
        case .symbol(">"): found = .greater
        case .symbol(">="), .symbol("=>"): found = .greaterOrEqual
        case .name(let name):
            found =
                [
                    "between": .between, "in": .memberOf, "beginswith": .beginsWith,
                    "endswith": .endsWith, "contains": .contains, "like": .like, "text": .text,
                ][name.lowercased()]
        default: found = nil
        }
        guard let found else { return nil }
        let range = current.range
        advance()
        return (found, range)
    }

    private mutating func parseOptions() throws(QueryFault) -> (case: Bool, diacritics: Bool) {
        guard takeSymbol("[") else { return (false, false) }
        let word = current
        guard case .name(let letters) = word.kind,
            letters.lowercased().allSatisfy({ $0 == "c" || $0 == "d" })
        else { throw QueryFault("known options are [c], [d] and [cd]", at: word.range) }
        advance()
        try expect("]", "after the options")
        let lower = letters.lowercased()
        return (lower.contains("c"), lower.contains("d"))
    }
}

extension PredicateParser {
    mutating func parseQuery() throws(QueryFault) -> QuerySyntax {
        let predicate = try parseCondition()
        let start = current.range.lowerBound
        var clauses: [QuerySyntax.Clause] = []
        while case .name = current.kind {
            if current.isWord("sort") {
                clauses.append(try parseSort())
            } else if current.isWord("distinct") {
                clauses.append(try parseDistinct())
            } else if current.isWord("limit") {
                clauses.append(try parseLimit())
            } else if current.isWord("where") {
                clauses.append(try parseFilter())
            } else {
                break
            }
        }
        guard case .end = current.kind else { throw unexpected(current) }
        return QuerySyntax(
            predicate: predicate, clauses: clauses, clausesStart: start,
            arguments: tokens.compactMap {
                if case .argument(let number) = $0.kind {
                    (number, $0.range.lowerBound)
                } else {
                    nil
                }
            })
    }

    /// The replacements for operators of SQL and of other predicate languages.
    private static let habits = [
        "is": "write '= nil' or '!= nil'",
        "ilike": "write 'like[c]' with the wildcards * and ?",
        "matches": "write 'like' with the wildcards * and ?, 'beginswith' or 'contains'",
        "startswith": "write 'beginswith'",
        "order": "write 'sort(name asc)' after the condition",
    ]

    private func unexpected(_ token: QueryToken) -> QueryFault {
        let known = [
            "and", "or", "between", "in", "beginswith", "endswith", "contains", "like", "text",
            "sort", "distinct", "limit", "where",
        ]
        if case .name(let name) = token.kind {
            if let advice = Self.habits[name.lowercased()] {
                return QueryFault("'\(name)' is not an operator; \(advice)", at: token.range)
            }
            if let nearest = NearestName.find(name, among: known) {
                return QueryFault(
                    "unknown operator '\(name)'; did you mean '\(nearest)'?", at: token.range)
            }
            if case .name(let word)? = previous?.kind,
                let nearest = NearestName.find(word, among: ["any", "all", "none", "some", "not"]),
                let range = previous?.range
            {
                return QueryFault("unknown word '\(word)'; did you mean '\(nearest)'?", at: range)
            }
            return QueryFault(
                "expected an operator, 'and', 'or' or the end, got '\(name)'", at: token.range)
        }
        if token.isSymbol("&", "|") {
            return QueryFault(
                "write '\(token.isSymbol("&") ? "&&" : "||")'", at: token.range)
        }
        return QueryFault(
            "expected 'and', 'or' or the end, got \(token.description)", at: token.range)
    }

    private mutating func parseSort() throws(QueryFault) -> QuerySyntax.Clause {
        advance()
        try expect("(", "after 'sort'")
        var keys: [(path: PathSyntax, ascending: Bool, range: Range<Int>)] = []
        repeat {
            let start = current
            let path = try parsePath(quantifier: nil)
            let range = range(from: start)
            var ascending = true
            if takeWord("desc") || takeWord("descending") {
                ascending = false
            } else {
                _ = takeWord("asc") || takeWord("ascending")
            }
            keys.append((path, ascending, range))
        } while takeSymbol(",")
        try expect(")", "to close 'sort('")
        return .sort(keys)
    }

    private mutating func parseDistinct() throws(QueryFault) -> QuerySyntax.Clause {
        advance()
        try expect("(", "after 'distinct'")
        var paths: [(path: PathSyntax, range: Range<Int>)] = []
        repeat {
            let start = current
            let path = try parsePath(quantifier: nil)
            paths.append((path, range(from: start)))
        } while takeSymbol(",")
        try expect(")", "to close 'distinct('")
        return .distinct(paths)
    }

    private mutating func parseLimit() throws(QueryFault) -> QuerySyntax.Clause {
        advance()
        try expect("(", "after 'limit'")
        guard case .value(.int(let count)) = current.kind, count >= 0 else {
            throw QueryFault(
                "limit: expected an integer of at least 0, got \(current.description)",
                at: current.range)
        }
        advance()
        try expect(")", "to close 'limit('")
        return .limit(Int(count))
    }

    private mutating func parseFilter() throws(QueryFault) -> QuerySyntax.Clause {
        advance()
        try expect("(", "after 'where'")
        let condition = try parseCondition()
        try expect(")", "to close 'where('")
        return .filter(condition)
    }
}

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
            guard length <= PredicateParser.maxNesting else {
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
            if current.isSymbol(",") {
                throw QueryFault("a list of values has braces; write {1, 2}", at: current.range)
            }
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
            guard path.components.count <= PropertyPath.maxComponents else {
                // A path is followed recursively, so its length is limited too.
                throw QueryFault(
                    "the path is too long; at most \(PropertyPath.maxComponents) steps are allowed",
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
