import ColumnStorage

/// A full-text search of the texts at the end of a path without lists.
struct TextSearch: Hashable, Sendable {
    let path: PropertyPath
    let query: TextQuery
}

/// One text whose score is part of `@rank`.
struct RankedText: Hashable, Sendable {
    let hops: [CompiledPath.Hop]
    let slot: Int
    let column: ColumnID
    let query: TextQuery

    /// Returns the score of an object's text; 0 for nil.
    func score(_ tables: BoundTables, _ key: ObjectKey) throws -> Double {
        var score = 0.0
        _ = try CompiledPath(hops: hops, terminal: .object).forEachObject(tables, key) { object in
            guard let object else { return false }
            score =
                try tables[slot].withBytes(column, object) { query.score(Span(_bytes: $0)) } ?? 0
            return false
        }
        return score
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
                "a search has at most \(TextQuery.mostTerms) words", at: right.range)
        }
        if !path.isToMany, !left.components.contains(where: \.isToMany) {
            searches.append(TextSearch(path: PropertyPath(left.components), query: query))
        }
        return node(path, left, ValueTest(form: .bytes(.search(query)), matchesNull: false))
    }
}

extension SortKey {
    /// The name of the order by relevance in `sorted` and `sort()`.
    static let rankName = "@rank"

    /// Creates a sort key by relevance; ascending order begins with the best match.
    ///
    /// Throws `invalid_query` if there are no searches.
    init(rank searches: [TextSearch], ascending: Bool) throws {
        guard let first = searches.first else {
            throw StoreError(
                .invalidQuery,
                "'@rank' requires a full-text search; filter with 'text' first, on a "
                    + "property that is reached without a list")
        }
        path = first.path
        self.searches = searches
        self.ascending = ascending
        dependencies = searches.map(\.path)
        description = SortKey.rankName
        type = .double
        value = nil
        reading = PathReading(rank: searches)
    }
}

extension PathReading {
    /// Creates a form that adds the scores of searches.
    fileprivate convenience init(rank searches: [TextSearch]) {
        var tables: [TableID] = []
        var texts: [RankedText] = []
        for search in searches {
            let path = search.path.compiled(&tables)
            guard case .value(let slot, let source) = path.terminal else { continue }
            texts.append(
                RankedText(
                    hops: path.hops, slot: slot, column: source.column, query: search.query))
        }
        self.init(CompiledPath(hops: [], terminal: .rank(texts)), isMixed: false, tables)
    }
}

extension PathSyntax {
    /// Whether the path is `@rank`.
    var isRank: Bool {
        variable == nil && components.count == 1 && components[0].isAggregate
            && components[0].name.lowercased() == "rank"
    }
}
