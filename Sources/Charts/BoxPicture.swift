/// Draws a box layout as an SVG document.
struct BoxPicture {
    private let layout: BoxLayout

    private static let cell = (width: 8.0, height: 18.0)

    init(_ layout: BoxLayout) { self.layout = layout }

    private func x(_ column: Int) -> Double { Double(column) * Self.cell.width }
    private func y(_ row: Int) -> Double { Double(row) * Self.cell.height + 8 }

    var svg: String {
        var document = SVGDocument(
            width: x(layout.columns), height: y(layout.rows) + 8)
        for placed in layout.boxes { draw(placed, &document) }
        for link in layout.links { draw(link, &document) }
        return document.text
    }

    private func draw(_ placed: BoxLayout.Placed, _ document: inout SVGDocument) {
        let (left, top) = (x(placed.x), y(placed.y))
        let width = x(placed.width)
        document.rectangle(
            x: left, y: top, width: width, height: Double(placed.height) * Self.cell.height - 4,
            fill: "#ffffff", stroke: "#9ca3af", radius: 6)
        document.text(placed.box.title, x: left + 10, y: top + 16, weight: "600")
        document.text(
            placed.box.remark, x: left + width - 10, y: top + 16, anchor: "end",
            fill: SVGDocument.muted)
        document.line(
            [(left, top + 22), (left + width, top + 22)], stroke: "#e5e7eb", width: 1)
        for (index, row) in placed.box.rows.enumerated() {
            let baseline = top + 36 + Double(index) * Self.cell.height
            document.text(row.name, x: left + 10, y: baseline)
            document.text(
                row.detail, x: left + 10 + x(placed.nameWidth + 2), y: baseline,
                fill: row.link == nil ? SVGDocument.muted : color(row.link ?? 0))
        }
    }

    private func color(_ target: Int) -> String {
        SVGDocument.palette[target % SVGDocument.palette.count]
    }

    private func draw(_ link: BoxLayout.Link, _ document: inout SVGDocument) {
        guard let first = link.path.first, let last = link.path.last else { return }
        let box = layout.boxes[link.from]
        let target = layout.boxes[link.target]
        let isRight = first.x == box.x + box.width
        func center(_ step: LinkRouter.Step) -> (x: Double, y: Double) {
            (x(step.x) + Self.cell.width / 2, y(step.y) + Self.cell.height * 0.75)
        }
        var points = [(x: isRight ? x(first.x) : x(first.x + 1), y: center(first).y)]
        var previous: LinkRouter.Direction?
        for step in link.path {
            if previous != step.direction { points.append(center(step)) }
            previous = step.direction
        }
        switch last.direction {
        case .east: points.append((x(target.x), center(last).y))
        case .west: points.append((x(target.x + target.width), center(last).y))
        case .south: points.append((center(last).x, y(target.y)))
        case .north:
            points.append(
                (center(last).x, y(target.y) + Double(target.height) * Self.cell.height - 4))
        }
        document.line(points, stroke: color(link.target), width: 1.3, hasArrow: true)
    }
}
