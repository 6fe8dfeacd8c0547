/// The size and the colors of charts drawn as text.
package struct ChartStyle {
    /// The role of a piece of text in a chart.
    package enum Ink: Equatable, Sendable {
        /// Axes and ticks.
        case axis
        /// Titles.
        case title
        /// A data series, or a link of a diagram, by its index, starting at 0.
        case series(Int)
        /// The names and the details in a box of a diagram.
        case name, detail
    }

    /// The width in columns of a terminal.
    package var columns: Int
    /// The height in rows; bar charts ignore it and use one row for each bar.
    package var rows: Int
    /// Whether colors distinguish the series; otherwise the series have different marks.
    package var isColored: Bool
    /// Returns the number of columns that a text takes.
    package var width: (String) -> Int
    /// Colors a piece of text.
    package var paint: (String, Ink) -> String

    /// Creates a style; by default, for plain text in 80 columns.
    package init(
        columns: Int = 80, rows: Int = 20, isColored: Bool = false,
        width: @escaping (String) -> Int = { $0.count },
        paint: @escaping (String, Ink) -> String = { text, _ in text }
    ) {
        self.columns = columns
        self.rows = rows
        self.isColored = isColored
        self.width = width
        self.paint = paint
    }

    /// Returns the text, truncated with an ellipsis to at most `columns` columns.
    func truncated(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        var result = text
        while !result.isEmpty, width(result) > columns - 1 { result.removeLast() }
        return columns > 0 ? result + "…" : ""
    }

    /// Returns the spaces that pad a text to a width.
    func padding(_ text: String, to columns: Int) -> String {
        String(repeating: " ", count: max(0, columns - width(text)))
    }
}
