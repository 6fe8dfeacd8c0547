/// Parses the predicate language, which `Query` describes, by recursive descent.
///
/// Conditions and operands share one grammar, from `or` down to a literal, because a parenthesis may open either. The
/// compiler, which knows the types, rejects misplaced expressions. Nesting is limited, so no text can exhaust the
/// stack.
struct PredicateParser {
    /// The maximum nesting of parentheses, `not`s and operands: more than users write, and few enough for any stack.
    static let mostNested = 100

    private let tokens: [QueryToken]
    private(set) var position = 0
    var depth = 0

    /// Parses `text`; the error has a message and a location.
    static func parse(_ text: String) throws(QueryFault) -> QuerySyntax {
        var parser = PredicateParser(tokens: try QueryLexer.tokens(of: text))
        return try parser.parseQuery()
    }

    /// Throws if a valid text is given more values than it uses.
    static func requireUse(ofValues count: Int, in text: String) throws(QueryFault) {
        var most = 0
        for token in try QueryLexer.tokens(of: text) {
            if case .argument(let position) = token.kind { most = max(most, position) }
        }
        guard count <= most else {
            let values = count == 1 ? "1 value is" : "\(count) values are"
            let used = most == 0 ? "no $1" : "only $1\(most > 1 ? " to $\(most)" : "")"
            let end = text.utf8.count
            throw QueryFault(
                "\(values) given, and the text has \(used)", at: max(0, end - 1)..<end)
        }
    }

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
        guard depth <= PredicateParser.mostNested else {
            throw QueryFault(
                "nested too deeply; at most \(PredicateParser.mostNested) levels are allowed",
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
