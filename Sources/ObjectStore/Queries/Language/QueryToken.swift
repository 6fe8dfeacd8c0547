/// One word of a predicate's text, with where it stands so that an error can point at it.
struct QueryToken: Equatable {
    /// What the word is.
    enum Kind: Equatable {
        case name(String)
        case integer(Int64)
        case number(Double)
        case text(String)
        /// `$1`: the position, from 1.
        case argument(Int)
        /// `$x`: the variable of a subquery.
        case variable(String)
        /// `@count` and its like, without the sign.
        case aggregate(String)
        /// Microseconds since 1970.
        case date(Int64)
        /// The text between the parentheses of `uuid(…)`, `oid(…)` and `date(…)`.
        case literal(function: String, text: String)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// UTF-8 offsets into the text.
    let range: Range<Int>

    /// Whether this is `word`, in any case: keywords of the language ignore case.
    func isWord(_ word: String) -> Bool {
        guard case .name(let name) = kind, name.utf8.count == word.utf8.count else { return false }
        return name.lowercased() == word
    }

    /// Whether this is one of `symbols`.
    func isSymbol(_ symbols: String...) -> Bool {
        guard case .symbol(let symbol) = kind else { return false }
        return symbols.contains(symbol)
    }

    /// How an error message names it.
    var description: String {
        switch kind {
        case .name(let name): "'\(name)'"
        case .integer(let value): "\(value)"
        case .number(let value): "\(value)"
        case .text: "a string"
        case .argument(let position): "'$\(position)'"
        case .variable(let name): "'$\(name)'"
        case .aggregate(let name): "'@\(name)'"
        case .date: "a date"
        case .literal(let function, _): "'\(function)(…)'"
        case .symbol(let symbol): "'\(symbol)'"
        case .end: "the end"
        }
    }
}
