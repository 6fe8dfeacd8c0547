/// Points between two axes, in one or more series.
///
///     let series = Plot.Series(name: "", points: [(0, 1), (1, 4), (2, 9)])
///     let plot = Plot(x: .init(title: "n"), y: .init(title: "square"), series: [series])
///     print(Chart.plot(plot).lines(ChartStyle(columns: 60)).joined(separator: "\n"))
package struct Plot: Sendable {
    /// The kind of values on an axis.
    package enum Kind: Sendable, Equatable {
        case number
        case integer
        /// Seconds since 1970, in UTC.
        case date
        /// Indexes into these names.
        case names([String])
    }

    /// An axis.
    package struct Axis: Sendable {
        /// The title, usually the name of a property.
        package var title: String
        package var kind: Kind

        package init(title: String, kind: Kind = .number) {
            self.title = title
            self.kind = kind
        }
    }

    /// A set of points with its own color.
    package struct Series: Sendable {
        /// The name in the legend; empty for the only series.
        package var name: String
        package var points: [(x: Double, y: Double)]

        package init(name: String, points: [(x: Double, y: Double)]) {
            self.name = name
            self.points = points
        }
    }

    /// The horizontal axis.
    package var x: Axis
    /// The vertical axis.
    package var y: Axis
    /// The series in the order of the legend.
    package var series: [Series]
    /// Whether lines connect the points of a series, in the order of x.
    package var hasLines: Bool
    /// The number of objects without a point.
    package var missing: Int
    /// The title above the plot; empty for none.
    package var title: String

    /// Creates a plot; all coordinates must be finite.
    package init(
        x: Axis, y: Axis, series: [Series], hasLines: Bool = false, missing: Int = 0,
        title: String = ""
    ) {
        self.x = x
        self.y = y
        self.series = series
        self.hasLines = hasLines
        self.missing = missing
        self.title = title
        guard hasLines else { return }
        for index in self.series.indices { self.series[index].points.sort { $0.x < $1.x } }
    }

    /// The range of the x or y coordinates; nil without points.
    func range(_ coordinate: ((x: Double, y: Double)) -> Double) -> ClosedRange<Double>? {
        var lower = Double.infinity
        var upper = -Double.infinity
        for series in series {
            for point in series.points {
                lower = min(lower, coordinate(point))
                upper = max(upper, coordinate(point))
            }
        }
        return lower <= upper ? lower...upper : nil
    }

    /// The line of remarks below the plot; nil for none.
    var remark: String? {
        guard missing > 0 else { return nil }
        return missing == 1 ? "1 object has no value" : "\(missing) objects have no value"
    }
}

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
        assert(cells.count == rows, "each row of the plot is drawn")

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

/// Draws a plot as an SVG document.
struct PlotPicture {
    private let plot: Plot

    private static let size = (width: 760.0, height: 440.0)
    private static let area = (left: 76.0, top: 60.0, right: 736.0, bottom: 376.0)

    init(_ plot: Plot) { self.plot = plot }

    var svg: String {
        var document = SVGDocument(width: Self.size.width, height: Self.size.height)
        let title =
            plot.title.isEmpty ? "\(plot.y.title) by \(plot.x.title)" : plot.title
        document.text(title, x: 16, y: 24, weight: "600")
        guard let xs = plot.range(\.x), let ys = plot.range(\.y) else {
            document.text("no values", x: Self.area.left, y: 80, fill: SVGDocument.muted)
            return document.text
        }
        let horizontal = Scale(xs, kind: plot.x.kind, count: 7)
        let vertical = Scale(ys, kind: plot.y.kind, count: 7)
        drawAxes(&document, horizontal, vertical)
        for (index, series) in plot.series.enumerated() {
            draw(
                series, color: SVGDocument.palette[index % SVGDocument.palette.count],
                into: &document
            ) {
                (
                    x: Self.area.left + horizontal.position($0.x)
                        * (Self.area.right - Self.area.left),
                    y: Self.area.bottom - vertical.position($0.y)
                        * (Self.area.bottom - Self.area.top)
                )
            }
        }
        drawLegend(&document)
        return document.text
    }

    private func drawAxes(_ document: inout SVGDocument, _ horizontal: Scale, _ vertical: Scale) {
        let area = Self.area
        for tick in vertical.ticks {
            let y = area.bottom - vertical.position(tick.value) * (area.bottom - area.top)
            document.line([(area.left, y), (area.right, y)], stroke: "#e5e7eb", width: 1)
            document.text(
                tick.label, x: area.left - 8, y: y + 4, anchor: "end", fill: SVGDocument.muted)
        }
        for tick in horizontal.ticks {
            let x = area.left + horizontal.position(tick.value) * (area.right - area.left)
            document.line(
                [(x, area.bottom), (x, area.bottom + 5)], stroke: SVGDocument.muted, width: 1)
            document.text(
                tick.label, x: x, y: area.bottom + 20, anchor: "middle", fill: SVGDocument.muted)
        }
        document.line(
            [(area.left, area.top), (area.left, area.bottom), (area.right, area.bottom)],
            stroke: SVGDocument.muted, width: 1)
        document.text(
            plot.x.title, x: area.right, y: area.bottom + 38, anchor: "end", fill: SVGDocument.muted
        )
        if !plot.title.isEmpty {
            document.text(plot.y.title, x: 16, y: area.top - 16, fill: SVGDocument.muted)
        }
    }

    private func draw(
        _ series: Plot.Series, color: String, into document: inout SVGDocument,
        project: ((x: Double, y: Double)) -> (x: Double, y: Double)
    ) {
        // Points at the same half pixel are drawn once, which keeps the document small.
        var seen: Set<Int64> = []
        let points = series.points.map(project).filter {
            seen.insert(Int64($0.x * 2) << 32 | Int64($0.y * 2)).inserted
        }
        if plot.hasLines {
            document.line(points, stroke: color, width: 1.5)
            if points.count > 60 { return }
        }
        for point in points {
            document.circle(x: point.x, y: point.y, radius: plot.hasLines ? 2 : 3, fill: color)
        }
    }

    private func drawLegend(_ document: inout SVGDocument) {
        var x = Self.area.left
        let y = Self.size.height - 14
        for (index, series) in plot.series.enumerated() where !series.name.isEmpty {
            let color = SVGDocument.palette[index % SVGDocument.palette.count]
            document.circle(x: x + 4, y: y - 4, radius: 4, fill: color)
            document.text(series.name, x: x + 14, y: y)
            x += 30 + Double(series.name.count) * SVGDocument.charWidth
        }
        if let remark = plot.remark {
            document.text(
                remark, x: Self.area.right, y: 24, anchor: "end", fill: SVGDocument.muted)
        }
    }
}

/// An axis with a range and labeled ticks at round values.
struct Scale {
    struct Tick {
        var value: Double
        var label: String
    }

    let lower: Double
    let upper: Double
    private(set) var ticks: [Tick] = []

    /// Creates a scale for a range of values with at most about `count` ticks.
    ///
    /// An axis of numbers extends to the next tick on both sides; other axes end at the values.
    init(_ range: ClosedRange<Double>, kind: Plot.Kind, count: Int) {
        let count = max(2, count)
        switch kind {
        case .names(let names):
            (lower, upper) = (-0.5, Double(max(1, names.count)) - 0.5)
            let step = max(1, (names.count + count - 1) / count)
            ticks = stride(from: 0, to: names.count, by: step).map {
                Tick(value: Double($0), label: names[$0])
            }
        case .date:
            let isSingle = range.lowerBound == range.upperBound
            lower = isSingle ? range.lowerBound - 43_200 : range.lowerBound
            upper = isSingle ? range.upperBound + 43_200 : range.upperBound
            ticks = CivilTime.ticks(lower...upper, count: count)
        case .number, .integer:
            var (low, high) = (range.lowerBound, range.upperBound)
            if low == high { (low, high) = low == 0 ? (0, 1) : (min(0, low), max(0, high)) }
            var step = Self.step(low, high, count)
            if kind == .integer { step = max(1, step) }
            guard step > 0, step.isFinite, abs(low / step) < 1e15, abs(high / step) < 1e15 else {
                // There are no round values between numbers that are so close together or so large.
                (lower, upper) = (low, high)
                ticks = [low, high].map { Tick(value: $0, label: "\($0)") }
                return
            }
            let first = (low / step).rounded(.down)
            let last = (high / step).rounded(.up)
            // Rounding can exceed the range of floating-point numbers.
            lower = max(first * step, -.greatestFiniteMagnitude)
            upper = min(last * step, .greatestFiniteMagnitude)
            ticks = (0...Int(last - first)).map { index in
                let value = (first + Double(index)) * step
                return Tick(value: value, label: Self.label(value, step: step))
            }
        }
    }

    /// Returns the position of a value on the axis, between 0 and 1.
    func position(_ value: Double) -> Double {
        // The values are halved first, because the difference of two large numbers can be infinite.
        let span = upper / 2 - lower / 2
        return span > 0 ? min(max((value / 2 - lower / 2) / span, 0), 1) : 0.5
    }

    /// Returns a round distance between ticks: 1, 2 or 5 times a power of ten.
    private static func step(_ low: Double, _ high: Double, _ count: Int) -> Double {
        let raw = high / Double(count) - low / Double(count)
        guard raw > 0, raw.isFinite else { return 0 }
        var power = 1.0
        while power * 10 <= raw { power *= 10 }
        while power > raw, power > 1e-300 { power /= 10 }
        return [1, 2, 5, 10].map { $0 * power }.first { $0 >= raw } ?? power * 10
    }

    /// Returns a value with the decimal places that the step needs, and with thousands separators.
    static func label(_ value: Double, step: Double) -> String {
        if value == 0 { return "0" }
        if abs(value) >= 1e12 || step < 1e-6 { return "\(value)" }
        var decimals = 0
        var unit = step
        while decimals < 6, abs(unit - unit.rounded()) > unit * 1e-6 {
            unit *= 10
            decimals += 1
        }
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let scaled = Int64((abs(value) * scale).rounded())
        let divisor = Int64(scale)
        var digits = Array(String(scaled / divisor))
        var position = digits.count - 3
        while position > 0 {
            digits.insert(",", at: position)
            position -= 3
        }
        var text = (value < 0 ? "-" : "") + String(digits)
        if decimals > 0 {
            let fraction = String(scaled % divisor)
            text += "." + String(repeating: "0", count: decimals - fraction.count) + fraction
        }
        return text
    }
}
