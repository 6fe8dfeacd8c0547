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
        return QuerySyntax(predicate: predicate, clauses: clauses, clausesStart: start)
    }

    /// The replacements for operators of SQL and of other predicate languages.
    private static let habits = [
        "is": "write '= nil' or '!= nil'",
        "ilike": "write 'like[c]' with the wildcards * and ?",
        "matches": "write 'like' with the wildcards * and ?, 'beginswith' or 'contains'",
        "startswith": "write 'beginswith'",
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
