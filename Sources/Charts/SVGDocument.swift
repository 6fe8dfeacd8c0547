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
