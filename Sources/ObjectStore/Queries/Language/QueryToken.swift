/// One token of a predicate's text, with its range, so that an error can point to it.
struct QueryToken: Equatable {
    /// The kind of the token.
    enum Kind: Equatable {
        case name(String)
        case integer(Int64)
        /// A number with a point or an exponent, or of more than 64 bits; `written` is its value where the double is written
        /// otherwise.
        case number(Double, written: DecimalValue?)
        /// A whole number of more than 64 bits that no double is.
        case decimal(DecimalValue)
        case text(String)
        /// `$1`: the position, from 1.
        case argument(Int)
        /// `$x`: the variable of a subquery.
        case variable(String)
        /// The name of an operation such as `@count`, without the sign.
        case aggregate(String)
        case date(PreciseTimestamp)
        /// The text between the parentheses of `uuid(…)`, `oid(…)` and `date(…)`.
        case literal(function: String, text: String)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// UTF-8 offsets into the text.
    let range: Range<Int>

    /// Returns whether this is the keyword `word`; keywords ignore case.
    func isWord(_ word: String) -> Bool {
        guard case .name(let name) = kind, name.utf8.count == word.utf8.count else { return false }
        return name.lowercased() == word
    }

    /// Returns whether this is one of `symbols`.
    func isSymbol(_ symbols: String...) -> Bool {
        guard case .symbol(let symbol) = kind else { return false }
        return symbols.contains(symbol)
    }

    /// The token as error messages show it.
    var description: String {
        switch kind {
        case .name(let name): "'\(name)'"
        case .integer(let value): "\(value)"
        case .number(let value, _): "\(value)"
        case .decimal(let value): "\(value)"
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
