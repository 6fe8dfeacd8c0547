/// Draws a plot as lines of text.
struct PlotText {
    private let plot: Plot
    private let style: ChartStyle

    /// The marks of the series without colors.
    private static let marks: [Character] = ["●", "○", "▲", "△", "■", "□", "◆", "◇"]

    init(_ plot: Plot, _ style: ChartStyle) {
        self.plot = plot
        self.style = style
    }

    var lines: [String] {
        guard let xs = plot.range(\.x), let ys = plot.range(\.y) else {
            return ["\(plot.y.title) by \(plot.x.title): no values"]
        }
        let rows = min(max(style.rows, 5), 60)
        let vertical = Scale(ys, kind: plot.y.kind, count: max(2, rows / 3))
        let labels = vertical.ticks.map { style.truncated($0.label, to: style.columns / 3) }
        let margin = labels.map(style.width).max() ?? 0
        let columns = max(4, style.columns - margin - 3)
        let horizontal = Scale(xs, kind: plot.x.kind, count: max(2, columns / 10))
        let cells = cells(columns: columns, rows: rows, horizontal: horizontal, vertical: vertical)

        var tickRows: [Int: String] = [:]
        for (tick, label) in zip(vertical.ticks, labels) {
            tickRows[row(tick.value, vertical, rows)] = label
        }
        var lines: [String] = []
        let title = plot.title.isEmpty ? plot.y.title : plot.title
        lines.append(style.paint(style.truncated(title, to: style.columns), .title))
        for row in 0..<rows {
            let label = tickRows[row] ?? ""
            let axis = tickRows[row] == nil ? "│" : "┤"
            lines.append(
                style.padding(label, to: margin) + label + " " + style.paint(axis, .axis)
                    + cells[row])
        }
        lines += self.axis(horizontal, columns, margin)
        lines += legend()
        return lines
    }

    private func row(_ value: Double, _ scale: Scale, _ rows: Int) -> Int {
        min(rows - 1, Int((1 - scale.position(value)) * Double(rows - 1) + 0.5))
    }

    /// Returns the area between the axes, with one text for each row.
    private func cells(
        columns: Int, rows: Int, horizontal: Scale, vertical: Scale
    ) -> [String] {
        if plot.series.count > 1, !style.isColored {
            return marked(columns: columns, rows: rows, horizontal: horizontal, vertical: vertical)
        }
        var grid = BrailleGrid(columns: columns, rows: rows)
        for (series, content) in plot.series.enumerated() {
            var last: (x: Int, y: Int)?
            for point in content.points {
                let dot = (
                    x: Int(horizontal.position(point.x) * Double(grid.width - 1) + 0.5),
                    y: Int((1 - vertical.position(point.y)) * Double(grid.height - 1) + 0.5)
                )
                if plot.hasLines, let last {
                    grid.line(from: last, to: dot, series: series)
                } else {
                    grid.set(dot.x, dot.y, series: series)
                }
                last = dot
            }
        }
        return (0..<rows).map { row in
            text((0..<columns).map { grid.cell($0, row) })
        }
    }

    /// Returns cells with one mark for each cell that contains a point; each series has its own mark.
    private func marked(
        columns: Int, rows: Int, horizontal: Scale, vertical: Scale
    ) -> [String] {
        var cells = Array(
            repeating: [(character: Character, series: Int)?](repeating: nil, count: columns),
            count: rows)
        for (series, content) in plot.series.enumerated() {
            for point in content.points {
                let column = Int(horizontal.position(point.x) * Double(columns - 1) + 0.5)
                cells[row(point.y, vertical, rows)][column] = (Self.mark(series), series)
            }
        }
        return cells.map(text)
    }

    private static func mark(_ series: Int) -> Character { marks[series % marks.count] }

    /// Returns cells as text; adjacent cells of one series are colored together.
    private func text(_ cells: [(character: Character, series: Int)?]) -> String {
        var result = ""
        var run = ""
        var series: Int?
        func flush() {
            result += series.map { style.paint(run, .series($0)) } ?? run
            run = ""
        }
        let used = cells.lastIndex { $0 != nil }.map { $0 + 1 } ?? 0
        for cell in cells[..<used] {
            if cell?.series != series {
                flush()
                series = cell?.series
            }
            run.append(cell?.character ?? " ")
        }
        flush()
        return result
    }

    /// Returns the horizontal axis: its line, the labels of its ticks, and its title.
    private func axis(_ scale: Scale, _ columns: Int, _ margin: Int) -> [String] {
        var line = [Character](repeating: "─", count: columns)
        var labels = ""
        var end = 0
        for tick in scale.ticks {
            let column = Int(scale.position(tick.value) * Double(columns - 1) + 0.5)
            let label = style.truncated(tick.label, to: max(4, columns / 2))
            let width = style.width(label)
            var start = max(0, column - width / 2)
            start = min(start, max(0, columns - width))
            guard labels.isEmpty || start > end else { continue }
            line[column] = "┬"
            labels += String(repeating: " ", count: start - end) + label
            end = start + width
        }
        let indent = String(repeating: " ", count: margin + 1)
        let title = style.truncated(plot.x.title, to: columns)
        let last = String(repeating: " ", count: max(0, columns - style.width(title))) + title
        return [
            indent + style.paint("└" + String(line), .axis), indent + " " + labels,
            indent + " " + style.paint(last, .axis),
        ]
    }

    /// Returns the names of the series with their marks, wrapped, and the remark.
    private func legend() -> [String] {
        var lines: [String] = []
        var line = ""
        var width = 0
        let named = plot.series.enumerated().filter { !$0.element.name.isEmpty }
        for (index, series) in named {
            let mark = style.isColored ? "●" : String(Self.mark(index))
            let name = style.truncated(series.name, to: max(8, style.columns - 4))
            let size = style.width(name) + 2
            if width > 0, width + 3 + size > style.columns {
                lines.append(line)
                (line, width) = ("", 0)
            }
            line += (width > 0 ? "   " : "") + style.paint(mark, .series(index)) + " " + name
            width += (width > 0 ? 3 : 0) + size
        }
        if width > 0 { lines.append(line) }
        if let remark = plot.remark {
            lines.append(style.paint(style.truncated(remark, to: style.columns), .axis))
        }
        return lines
    }
}
