/// A chart: a plot of points, or bars.
///
///     let chart = Chart.bars(BarChart(title: "age", bars: [.init(label: "1 – 5", count: 12)]))
///     print(chart.lines(ChartStyle(columns: 60)).joined(separator: "\n"))
///     let document = chart.svg
package enum Chart: Sendable {
    /// Points or lines between two axes.
    case plot(Plot)
    /// Horizontal bars with labels.
    case bars(BarChart)

    /// Returns the chart as lines of text, which are at most as wide as the style's columns.
    package func lines(_ style: ChartStyle) -> [String] {
        switch self {
        case .plot(let plot): PlotText(plot, style).lines
        case .bars(let bars): bars.lines(style)
        }
    }

    /// The chart as an SVG document.
    package var svg: String {
        switch self {
        case .plot(let plot): PlotPicture(plot).svg
        case .bars(let bars): bars.svg
        }
    }
}

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

/// Escapes text for XML, SVG and HTML.
package enum MarkupText {
    /// Returns text in which markup is escaped, and characters that XML forbids are replaced.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t", "\n", "\r": result.unicodeScalars.append(scalar)
            case "\u{0}"..<" ", "\u{FFFE}"..."\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// Builds an SVG document from rectangles, lines, circles and text.
///
///     var document = SVGDocument(width: 200, height: 100)
///     document.text("a < b", x: 10, y: 20)
///     document.text  // the document; text and attributes are escaped
package struct SVGDocument {
    /// The colors of data series, which are distinguishable with common forms of color blindness (Okabe and Ito).
    package static let palette = [
        "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#b8a800",
    ]
    /// The color of axes and remarks.
    package static let muted = "#6b7280"
    /// The color of text.
    package static let ink = "#1f2937"
    /// The approximate width of a character in pixels.
    package static let charWidth = 7.2

    private let width: Double
    private let height: Double
    private var elements = ""

    /// Creates an empty document with a white background; sizes are in pixels.
    package init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }

    /// The complete document.
    package var text: String {
        let size = "width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
        let box = "viewBox=\"0 0 \(Self.number(width)) \(Self.number(height))\""
        return """
            <svg xmlns="http://www.w3.org/2000/svg" \(size) \(box) font-family="ui-monospace, \
            'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="12">
            <rect width="100%" height="100%" fill="#ffffff"/>
            \(elements)</svg>

            """
    }

    /// Adds text whose baseline starts or ends at a point.
    package mutating func text(
        _ text: String, x: Double, y: Double, anchor: String = "start", fill: String = Self.ink,
        weight: String = "400"
    ) {
        elements += "<text x=\"\(Self.number(x))\" y=\"\(Self.number(y))\" fill=\"\(fill)\""
        if anchor != "start" { elements += " text-anchor=\"\(anchor)\"" }
        if weight != "400" { elements += " font-weight=\"\(weight)\"" }
        elements += " xml:space=\"preserve\">\(MarkupText.escaped(text))</text>\n"
    }

    /// Adds a rectangle.
    package mutating func rectangle(
        x: Double, y: Double, width: Double, height: Double, fill: String, stroke: String = "",
        radius: Double = 0
    ) {
        elements += "<rect x=\"\(Self.number(x))\" y=\"\(Self.number(y))\""
        elements += " width=\"\(Self.number(width))\" height=\"\(Self.number(height))\""
        if radius > 0 { elements += " rx=\"\(Self.number(radius))\"" }
        if !stroke.isEmpty { elements += " stroke=\"\(stroke)\"" }
        elements += " fill=\"\(fill)\"/>\n"
    }

    /// Adds a line that connects points.
    package mutating func line(
        _ points: [(x: Double, y: Double)], stroke: String, width: Double
    ) {
        guard points.count > 1 else { return }
        let path = points.map { "\(Self.number($0.x)),\(Self.number($0.y))" }.joined(separator: " ")
        elements += "<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(stroke)\""
        elements += " stroke-width=\"\(Self.number(width))\" stroke-linejoin=\"round\"/>\n"
    }

    /// Adds a circle.
    package mutating func circle(x: Double, y: Double, radius: Double, fill: String) {
        elements += "<circle cx=\"\(Self.number(x))\" cy=\"\(Self.number(y))\""
        elements += " r=\"\(Self.number(radius))\" fill=\"\(fill)\" fill-opacity=\"0.8\"/>\n"
    }

    /// Returns a number with at most two decimal places.
    package static func number(_ value: Double) -> String {
        let hundredths = (value * 100).rounded()
        guard hundredths.isFinite, abs(hundredths) < 1e15 else { return "0" }
        return hundredths.truncatingRemainder(dividingBy: 100) == 0
            ? String(Int64(hundredths / 100)) : String(hundredths / 100)
    }
}

/// A grid of dots that is drawn with Braille characters: each cell of text has two columns and four rows of dots.
struct BrailleGrid {
    let columns: Int
    let rows: Int
    private var cells: [(dots: UInt8, series: Int)]

    private static let bits: [[UInt8]] = [
        [0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80],
    ]

    /// Creates an empty grid for a size in cells of text.
    init(columns: Int, rows: Int) {
        self.columns = max(1, columns)
        self.rows = max(1, rows)
        cells = Array(repeating: (0, 0), count: self.columns * self.rows)
    }

    /// The width and the height in dots.
    var width: Int { columns * 2 }
    var height: Int { rows * 4 }

    /// Sets a dot, counted from the top left; the cell takes the color of the series.
    mutating func set(_ x: Int, _ y: Int, series: Int) {
        guard (0..<width).contains(x), (0..<height).contains(y) else { return }
        let index = y / 4 * columns + x / 2
        cells[index] = (cells[index].dots | Self.bits[x % 2][y % 4], series)
    }

    /// Draws a line of dots between two points.
    mutating func line(
        from start: (x: Int, y: Int), to end: (x: Int, y: Int), series: Int
    ) {
        let steps = max(abs(end.x - start.x), abs(end.y - start.y))
        for step in 0...max(1, steps) {
            let part = Double(step) / Double(max(1, steps))
            set(
                start.x + Int((Double(end.x - start.x) * part).rounded()),
                start.y + Int((Double(end.y - start.y) * part).rounded()), series: series)
        }
    }

    /// Returns the character and the series of a cell; nil if the cell is empty.
    func cell(_ column: Int, _ row: Int) -> (character: Character, series: Int)? {
        let cell = cells[row * columns + column]
        guard cell.dots != 0 else { return nil }
        return (Character(Unicode.Scalar(0x2800 + UInt32(cell.dots)) ?? " "), cell.series)
    }
}
