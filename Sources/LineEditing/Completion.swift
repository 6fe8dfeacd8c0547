/// The possible completions at the cursor.
package struct Completion: Equatable, Sendable {
    /// The number of characters before the cursor that a candidate replaces.
    package var replacing: Int
    /// The complete replacements, in display order.
    package var candidates: [String]
    /// The text that is inserted after a single candidate.
    package var suffix: String
    /// The text next to a candidate in the listing, such as a type.
    package var details: [String: String]

    /// Creates a completion from candidates.
    package init(
        replacing: Int, candidates: [String], suffix: String = "", details: [String: String] = [:]
    ) {
        self.details = details
        self.replacing = replacing
        self.candidates = candidates
        self.suffix = suffix
    }

    /// The longest prefix that all candidates share.
    var commonPrefix: String {
        guard var prefix = candidates.first else { return "" }
        for candidate in candidates.dropFirst() {
            while !candidate.hasPrefix(prefix) { prefix.removeLast() }
        }
        return prefix
    }

    /// Returns a listing of the candidates in as many columns as fit in the window.
    package func listing(columns: Int, limit: Int = 120) -> String {
        let shown = candidates.prefix(limit)
        let longest = shown.map(\.count).max() ?? 0
        let cells = shown.map { candidate in
            guard let detail = details[candidate] else { return candidate }
            let padding = String(repeating: " ", count: longest - candidate.count + 2)
            return TerminalText.truncate(
                candidate + padding + detail, to: max(columns - 1, longest))
        }
        let width = (cells.map(TerminalText.width).max() ?? 0) + 3
        let perRow = max(1, columns / max(width, 1))
        let rows = (shown.count + perRow - 1) / perRow
        var text = ""
        for row in 0..<rows {
            var line = ""
            for index in stride(from: row, to: shown.count, by: rows) {
                let cell = cells[index]
                line += cell
                if index + rows < shown.count {
                    line += String(repeating: " ", count: width - TerminalText.width(cell))
                }
            }
            text += line + "\n"
        }
        if candidates.count > limit { text += "… \(candidates.count - limit) more\n" }
        return text
    }
}
