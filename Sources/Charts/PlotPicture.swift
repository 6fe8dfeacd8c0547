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
