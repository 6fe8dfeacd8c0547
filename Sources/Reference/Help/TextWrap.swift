/// Wraps text at word boundaries.
///
///     TextWrap(columns: 60).lines("A long sentence …", indent: "    ")
///
/// A word that is longer than a line gets its own line.
package struct TextWrap: Sendable {
    /// The maximum width of a line.
    package let columns: Int
    let width: @Sendable (String) -> Int

    /// Creates a wrapper for lines of at most `columns` columns.
    ///
    /// `width` returns the columns of a text on the terminal; the default counts characters.
    package init(columns: Int, width: @escaping @Sendable (String) -> Int = { $0.count }) {
        self.columns = max(columns, 20)
        self.width = width
    }

    /// Returns the lines of a text.
    ///
    /// The first line begins with `indent`, the others with `hanging`, which defaults to `indent`. Newlines in the text
    /// are kept.
    package func lines(_ text: String, indent: String = "", hanging: String? = nil) -> [String] {
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line = lines.isEmpty ? indent : hanging ?? indent
            var isEmpty = true
            for word in paragraph.split(separator: " ") {
                if !isEmpty, width(line) + 1 + width(String(word)) > columns {
                    lines.append(line)
                    line = hanging ?? indent
                    isEmpty = true
                }
                line += (isEmpty ? "" : " ") + word
                isEmpty = false
            }
            lines.append(isEmpty ? "" : line)
        }
        return lines
    }

    /// Returns a list of terms with descriptions, in two columns.
    ///
    /// A term that is wider than a third of the line gets its own line above its description. `paint` colors terms.
    package func definitions(
        _ rows: [(term: String, text: String)], indent: String = "",
        paint: (String) -> String = { $0 }
    ) -> [String] {
        let widths = rows.map { width($0.term) }
        let limit = max(columns / 3, 14)
        let column = widths.filter { $0 <= limit }.max() ?? limit
        let margin = indent + String(repeating: " ", count: column + 2)
        return zip(rows, widths).flatMap { row, termWidth -> [String] in
            let first = indent + paint(row.term)
            guard !row.text.isEmpty else { return [first] }
            let body = lines(row.text, indent: margin)
            guard termWidth <= column else { return [first] + body }
            let gap = String(repeating: " ", count: column - termWidth + 2)
            return [first + gap + body[0].dropFirst(margin.count)] + body.dropFirst()
        }
    }
}
