/// One token of a predicate's text, with its range, so that an error can point to it.
struct QueryToken: Equatable {
    /// The kind of the token.
    enum Kind: Equatable {
        case name(String)
        /// A name in backquotes, which is never a keyword.
        case quoted(String)
        /// A constant: an integer, an integer of more than 64 bits that no double equals as a decimal, a string, or a
        /// value written as `uuid(…)` or `oid(…)`.
        case value(Value)
        /// A number with a decimal point or an exponent, or with more than 64 bits; `written` is its exact value if the
        /// double differs.
        case number(Double, written: DecimalValue?)
        /// An argument such as `$1`: its number, counted from 1.
        case argument(Int)
        /// The variable of a subquery, such as `$x`.
        case variable(String)
        /// The name of an operation such as `@count`, without the `@`.
        case aggregate(String)
        case date(PreciseTimestamp)
        case symbol(String)
        case end
    }

    let kind: Kind
    /// The range of the token, as UTF-8 offsets into the text.
    let range: Range<Int>

    /// Returns whether the token is the keyword `word`; case does not matter.
    func isWord(_ word: String) -> Bool {
        guard case .name(let name) = kind, name.utf8.count == word.utf8.count else { return false }
        return name.lowercased() == word
    }

    /// Returns whether the token is one of `symbols`.
    func isSymbol(_ symbols: String...) -> Bool {
        guard case .symbol(let symbol) = kind else { return false }
        return symbols.contains(symbol)
    }

    /// The token in error messages.
    var description: String {
        switch kind {
        case .name(let name), .quoted(let name): "'\(name)'"
        case .value(.string): "a string"
        case .value(.fixed(let value)): "'\(value.type.traits.functions[0])(…)'"
        case .value(let value): value.summary
        case .number(let value, _): "\(value)"
        case .argument(let position): "'$\(position)'"
        case .variable(let name): "'$\(name)'"
        case .aggregate(let name): "'@\(name)'"
        case .date: "a date"
        case .symbol(let symbol): "'\(symbol)'"
        case .end: "the end"
        }
    }
}
