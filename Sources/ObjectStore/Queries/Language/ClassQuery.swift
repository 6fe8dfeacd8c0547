/// A query in the short form that is used outside of code: `Dog`, or `Dog where age > 3`.
package struct ClassQuery: Sendable {
    /// The first word of the text, which names the class.
    package let className: String
    /// The text after `where`, or after the class itself; nil for all objects, empty if it is missing after `where`.
    package let predicate: String?
    /// Whether the text contains `where`, with or without a predicate after it.
    package let hasWhere: Bool

    /// Parses a text; nil if it contains no word.
    package init?(_ text: some StringProtocol) {
        let words = text.drop { $0.isWhitespace }
        let name = words.prefix { !$0.isWhitespace }
        guard !name.isEmpty else { return nil }
        className = String(name)
        var rest = words.dropFirst(name.count).drop { $0.isWhitespace }
        hasWhere = rest.prefix { !$0.isWhitespace }.lowercased() == "where"
        if hasWhere { rest = rest.dropFirst(5).drop { $0.isWhitespace } }
        predicate = rest.isEmpty && !hasWhere ? nil : String(rest)
    }

    /// Returns the objects that match the query.
    ///
    /// Throws `unknown_class`, and `invalid_query` for a predicate that is wrong or missing.
    package func results(in store: Store) throws -> Results {
        let all = try store.objects(className)
        guard let predicate else { return all }
        guard !predicate.isEmpty else {
            throw StoreError(.invalidQuery, "a predicate is missing after 'where'")
        }
        return try all.filtered(predicate)
    }
}
