/// Counts as horizontal bars, each with a label.
package struct BarChart: Sendable {
    /// A bar with its label.
    package struct Bar: Sendable {
        /// The text in front of the bar.
        package var label: String
        /// The count that the bar represents.
        package var count: Int

        /// Creates a bar.
        package init(label: String, count: Int) {
            self.label = label
            self.count = count
        }
    }

    /// The title of the counts.
    package var title: String
    /// The bars from top to bottom.
    package var bars: [Bar]

    /// Creates a chart.
    package init(title: String, bars: [Bar]) {
        self.title = title
        self.bars = bars
    }

    /// The maximum length of a bar in columns, independent of the width of the window.
    private static let longest = 40
    /// The maximum length of a label in an SVG document, in characters.
    private static let widestLabel = 44
    private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]

    /// Returns a bar whose length is proportional to `count`; `greatest` has the full width.
    ///
    /// Every count above 0 is visible.
    package static func text(_ count: Int, of greatest: Int, width: Int) -> String {
        guard count > 0, greatest > 0, width > 0 else { return "" }
        let length = max(1, Int(Double(count) / Double(greatest) * Double(width * 8)))
        return String(repeating: "█", count: length / 8) + eighths[length % 8]
    }

    /// Draws the title and one line for each bar.
    package func lines(_ style: ChartStyle) -> [String] {
        guard !bars.isEmpty else { return ["\(title): no values"] }
        let numbers = bars.map { String($0.count) }
        let widest = numbers.map(\.count).max() ?? 0
        let labels = bars.map {
            style.truncated($0.label, to: max(4, style.columns - widest - 12))
        }
        let margin = labels.map(style.width).max() ?? 0
        let space = min(Self.longest, max(1, style.columns - margin - widest - 4))
        let greatest = bars.map(\.count).max() ?? 0
        var lines = [style.paint(style.truncated(title, to: style.columns), .title)]
        for (index, label) in labels.enumerated() {
            let bar = Self.text(bars[index].count, of: greatest, width: space)
            lines.append(
                style.padding(label, to: margin) + label + " " + style.paint("│", .axis)
                    + style.paint(bar, .series(0)) + " " + numbers[index])
        }
        return lines
    }

    /// The chart as an SVG document.
    package var svg: String {
        let row = 26.0
        let style = ChartStyle()
        let labels = bars.map { style.truncated($0.label, to: Self.widestLabel) }
        let margin = Double(labels.map(\.count).max() ?? 0) * SVGDocument.charWidth + 24
        let length = 720 - margin - 90
        let greatest = Double(max(1, bars.map(\.count).max() ?? 1))
        var document = SVGDocument(width: 720, height: 48 + row * Double(max(1, bars.count)))
        document.text(title, x: 16, y: 26, weight: "600")
        if bars.isEmpty { document.text("no values", x: 16, y: 54, fill: SVGDocument.muted) }
        for (index, bar) in bars.enumerated() {
            let y = 40 + row * Double(index)
            document.text(labels[index], x: margin - 8, y: y + 16, anchor: "end")
            document.rectangle(
                x: margin, y: y + 2, width: Double(bar.count) / greatest * length, height: row - 6,
                fill: SVGDocument.palette[0])
            document.text(
                String(bar.count), x: margin + Double(bar.count) / greatest * length + 8,
                y: y + 16, fill: SVGDocument.muted)
        }
        document.line(
            [(margin, 40), (margin, 40 + row * Double(max(1, bars.count)))],
            stroke: SVGDocument.muted, width: 1)
        return document.text
    }
}
