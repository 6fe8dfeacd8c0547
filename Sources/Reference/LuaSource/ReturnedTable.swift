/// The table that a Lua source returns, as far as its text shows.
package enum ReturnedTable {
    /// Returns the names of the fields of a table constructor in the last statement, without running the source.
    ///
    /// Returns an empty array for every other source.
    package static func keys(of source: String) -> [String] {
        guard case .results(let results)? = SourceParser.parse(source).last,
            case .table(let fields, _)? = results.first
        else { return [] }
        return fields.compactMap {
            $0.name?.text ?? $0.key.flatMap(SourceText.content)?.text
        }
    }
}
